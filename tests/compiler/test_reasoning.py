"""Plans before the work, and the date."""

from datetime import date
from typing import Any

import pytest
from compiler.body_runner import BodyRun, agent, run_task, task

from crewgraph import Task, ToolUse
from crewgraph.prompts.i18n import default_book

BOOK = default_book()
READY = "First count, then answer.\n\nREADY"
UNREADY = "Count somehow.\nNOT READY: which folder?"


def planning(*script: Any, native: bool = False, **fields: Any) -> Task:
    worker = agent(*script, native=native, reasoning=True, **fields)
    return task(worker)


def user_prompt(run: BodyRun, request: int) -> str:
    return run.messages(request)[-1][1]


def note(plan: str) -> str:
    return BOOK.slice("plan", plan=plan)


def test_a_plan_is_made_before_the_work_and_added_to_the_task():
    run = run_task(planning(READY, "7"))
    assert run.result["raw"] == "7"
    assert run.effects == ["scope", "model", "model"]
    assert "Count the files" in user_prompt(run, 0)
    assert "A number" in user_prompt(run, 0)
    assert f"Count the files\n\n{note('First count, then answer.')}\n\n" in user_prompt(run, 1)


def test_the_tasks_description_is_unchanged():
    worked_on = planning(READY, "7")
    run_task(worked_on)
    assert worked_on.description == "Count the files"


def test_a_plan_that_is_not_ready_is_improved_with_its_reasons_in_view():
    run = run_task(planning(UNREADY, READY, "7"))
    assert run.effects.count("model") == 3
    assert "which folder?" in user_prompt(run, 1)
    assert "Count the files" in user_prompt(run, 1)
    assert note("First count, then answer.") in user_prompt(run, 2)


@pytest.mark.parametrize(("attempts", "plans"), [(1, 1), (2, 2), (0, 1), (-3, 1), (None, 10)])
def test_attempts_are_counted_and_the_last_plan_is_used_ready_or_not(
    attempts: int | None, plans: int, caplog: pytest.LogCaptureFixture
):
    run = run_task(planning(*[UNREADY] * plans, "7", max_reasoning_attempts=attempts))
    assert run.result["raw"] == "7"
    assert run.effects.count("model") == plans + 1
    assert note(UNREADY) in user_prompt(run, plans)
    assert "its plan is not ready, and no attempts are left" in caplog.text


@pytest.mark.parametrize(
    ("reply", "plan"),
    [
        ("Do it.\nREADY: I am ready to execute the task.", "Do it."),
        ("Do it.\n**READY**", "Do it."),
        ("Do it, when all is READY or NOT READY.\n`READY`", "Do it, when all is READY or NOT READY."),
        ('{"plan": "Do it.", "ready": true}', "Do it."),
        ('```json\n{"plan": "Do it.", "ready": "True"}\n```', "Do it."),
        ("READY", "READY"),
    ],
)
def test_forms_of_a_plan_that_is_ready(reply: str, plan: str):
    run = run_task(planning(reply, "7"))
    assert run.effects.count("model") == 2
    assert note(plan) in user_prompt(run, 1)


@pytest.mark.parametrize(
    "reply",
    [
        "Do it.", "It is ready when it is ready.", "NOT READY", "NOT-READY", '{"plan": "x", "ready": false}',
        '{"plan": 1}', "[]",
    ],
)  # fmt: skip
def test_forms_of_a_plan_that_is_not(reply: str):
    assert run_task(planning(reply, READY, "7")).effects.count("model") == 3


def test_models_with_native_calls_hand_the_plan_in():
    use = ToolUse("create_reasoning_plan", {"plan": "Do it.", "ready": True})
    run = run_task(planning([use], "7", native=True))
    assert [one["name"] for one in run.offered_tools[0]] == ["create_reasoning_plan"]
    assert (run.offered_tools[1], run.effects.count("model")) == ((), 2)
    assert note("Do it.") in user_prompt(run, 1)


def test_a_failing_request_is_logged_and_the_work_starts_without_a_plan(caplog: pytest.LogCaptureFixture):
    run = run_task(planning(ConnectionError("no line"), "7"))
    assert run.result["raw"] == "7"
    assert "Your task:\nCount the files\n\nExpected result" in user_prompt(run, 1)
    assert "planning failed, the agent starts without a new plan: ConnectionError: no line" in caplog.text


def test_tools_are_known_to_the_plan():
    def count(folder: str) -> str:
        """Count the files."""
        return "7"

    run = run_task(planning(READY, "Final Answer: 7", tools=[count]))
    assert "Your tools: count" in user_prompt(run, 0)
    assert "Your tools: none" in user_prompt(run_task(planning(READY, "7")), 0)


def test_the_date_is_added_to_the_task():
    run = run_task(task(agent("42", inject_date=True)))
    today = BOOK.slice("current_date", date=date.today().isoformat())
    assert f"Count the files\n\n{today}\n\n" in user_prompt(run, 0)
    assert run.effects == ["scope", "call", "model"]
