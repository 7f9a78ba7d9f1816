"""Guardrails: each judges the output; a refusal sends the agent back, with everything it had and the reason."""

from collections.abc import Callable
from typing import Any

import pytest
from compiler.body_runner import BodyRun, agent, bound, run_body, run_task, task
from modes import Mode
from pydantic import BaseModel

from crewgraph import Crew, Task, TaskOutput
from crewgraph.compiler.task.body import task_body
from crewgraph.errors import GuardrailFailed
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.people import LLMGuardrailCompletedEvent, LLMGuardrailStartedEvent
from crewgraph.prompts.i18n import default_book

BOOK = default_book()


class Point(BaseModel):
    x: int


Judge = Callable[[TaskOutput], Any]


def accepts(*texts: str) -> Judge:
    """Accepts the outputs with these texts."""

    def judge(output: TaskOutput) -> tuple[bool, Any]:
        return (True, output) if output.raw in texts else (False, f"`{output.raw}` is wrong")

    return judge


def guarded(*script: Any, **fields: Any) -> Task:
    return task(agent(*script), **fields)


def answered(run: BodyRun) -> str:
    return run.result["raw"]


def test_an_accepted_output_is_the_result_at_once():
    run = run_task(guarded("good", guardrail=accepts("good")))
    assert answered(run) == "good"
    assert run.effects == ["scope", "model", "guardrail"]


def test_a_retry_gets_the_task_the_refused_answer_and_the_reason():
    earlier = task(agent("the files lie in /a"), description="Find the files", name="find")
    worked_on = guarded("bad", "good", guardrail=accepts("good"), context=[earlier], description="Count in {place}")

    _, assignment = bound(earlier, worked_on)
    found = TaskOutput(description="Find the files", agent="Clerk", raw="the files lie in /a").to_plain()
    run = run_body(task_body(assignment, {"inputs": {"place": "town"}, "find": found}))
    first, second = (run.messages(request)[-1][1] for request in (0, 1))
    feedback = BOOK.error("validation_error", task_output="bad", guardrail_result_error="`bad` is wrong")
    assert second == f"{first}\n\n{feedback}"
    assert "Count in town" in first
    assert "the files lie in /a" in first
    assert worked_on.retry_count == 1


def test_after_guardrail_max_retries_refusals_the_task_fails():
    worked_on = guarded("a", "b", "c", guardrail=accepts("good"), guardrail_max_retries=2)
    with pytest.raises(GuardrailFailed) as caught:
        run_task(worked_on)
    assert str(caught.value) == (
        "Task failed guardrail validation after 2 retries. Last error: `c` is wrong. In task `Count the files`, the guardrail "
        "(`judge`) refused every attempt: check what it requires, or raise `guardrail_max_retries`."
    )
    assert isinstance(caught.value, ValueError)


def test_guardrails_judge_in_order_each_what_the_one_before_let_through():
    seen: list[str] = []

    def louder(output: TaskOutput) -> tuple[bool, Any]:
        seen.append(output.raw)
        return True, output.raw + "!"

    assert answered(run_task(guarded("a", guardrails=[louder, louder, louder]))) == "a!!!"
    assert seen == ["a", "a!", "a!!"]


def test_each_guardrail_has_retries_of_its_own():
    run = run_task(guarded("a", "b", "c", "d", guardrails=[accepts("b"), accepts("d")], guardrail_max_retries=2))
    assert answered(run) == "d"
    assert run.effects.count("model") == 4


def test_the_one_that_refused_is_named_among_several():
    with pytest.raises(
        GuardrailFailed, match=r"^Task failed guardrail 1 validation after .* the guardrail 1 \(`judge`\) refused every"
    ):
        run_task(guarded("a", "b", guardrails=[accepts("a"), accepts("c")], guardrail_max_retries=1))


def test_a_text_replaces_the_output_and_is_given_its_structure_again():
    replaced: Judge = lambda output: (True, '{"x": 2}')  # noqa: E731
    run = run_task(guarded('{"x": 1}', guardrail=replaced, output_pydantic=Point))
    assert (run.result["raw"], run.result["pydantic"]) == ('{"x": 2}', {"x": 2})
    assert run.effects.count("model") == 1


def test_an_output_replaces_the_output_as_it_is():
    def better(output: TaskOutput) -> tuple[bool, TaskOutput]:
        return True, output.model_copy(update={"raw": "better", "pydantic": Point(x=9)})

    run = run_task(guarded('{"x": 1}', guardrail=better, output_pydantic=Point))
    assert (run.result["raw"], run.result["pydantic"]) == ("better", {"x": 9})


@pytest.mark.parametrize("stored", [None, 5, {"x": 1}, "good"])
def test_other_results_leave_the_output_unchanged(stored: Any):
    judge: Judge = lambda output: (True, stored)  # noqa: E731
    assert answered(run_task(guarded("good", guardrail=judge))) == "good"


def test_a_guardrail_sees_the_structure():
    seen: list[Any] = []

    def judge(output: TaskOutput) -> tuple[bool, Any]:
        seen.append((output.pydantic, output.name, output.agent))
        return True, output

    run_task(guarded('{"x": 1}', guardrail=judge, output_pydantic=Point, name="point"))
    assert seen == [(Point(x=1), "point", "Clerk")]


@pytest.mark.parametrize("returned", [None, True, "yes", (True,), ([1], "x"), (True, 1, 2)])
def test_an_invalid_result_is_an_error_that_names_the_guardrail_and_the_result(returned: Any):
    judge: Judge = lambda output: returned  # noqa: E731
    judge.__name__ = "careless"
    with pytest.raises(TypeError) as caught:
        run_task(guarded("good", guardrail=judge))
    assert str(caught.value).startswith(
        "guardrail `careless` of task `Count the files`: a guardrail returns `(True, result)`"
    )
    assert repr(returned) in str(caught.value)


def test_a_guardrail_that_raises_fails_the_task():
    def judge(output: TaskOutput) -> tuple[bool, Any]:
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom") as caught:
        run_task(guarded("good", guardrail=judge))
    assert caught.value.__notes__ == ["in task `Count the files` of agent `Clerk`"]


def test_an_answer_without_its_structure_is_a_refused_attempt():
    calls: list[str] = []

    def judge(output: TaskOutput) -> tuple[bool, Any]:
        calls.append(output.raw)
        return True, output

    unreadable = ["no json"] * 4  # the answer, and three attempts to convert it
    run = run_task(guarded(*unreadable, '{"x": 1}', guardrail=judge, output_pydantic=Point))
    assert run.result["pydantic"] == {"x": 1}
    assert calls == ["no json", '{"x": 1}']
    assert "it does not fit the structure asked for: it holds no JSON" in run.messages()[-1][1]


def test_a_replacement_without_structure_keeps_its_text_with_a_warning(caplog: pytest.LogCaptureFixture):
    replaced: Judge = lambda output: (True, "no json")  # noqa: E731
    run = run_task(guarded('{"x": 1}', *["no json"] * 3, guardrail=replaced, output_pydantic=Point))
    assert (run.result["raw"], run.result["pydantic"]) == ("no json", None)
    assert "no structured output, the text is kept: it holds no JSON" in caplog.text


def test_every_verdict_emits_events(mode: Mode):
    messages: list[tuple[Any, ...]] = []
    worked_on = guarded("bad", "good", guardrail=accepts("good"))
    assert worked_on.agent is not None
    crew = Crew(agents=[worked_on.agent], tasks=[worked_on], checkpointer=False)
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(LLMGuardrailStartedEvent)
        def _(_: Any, event: LLMGuardrailStartedEvent) -> None:
            messages.append(("started", event.retry_count))

        @crewai_event_bus.on(LLMGuardrailCompletedEvent)
        def _(_: Any, event: LLMGuardrailCompletedEvent) -> None:
            messages.append(("completed", event.success, event.error, event.retry_count))

        mode.kickoff(crew)
    assert messages == [
        ("started", 0), ("completed", False, "`bad` is wrong", 0), ("started", 1), ("completed", True, None, 1),
    ]  # fmt: skip


def test_a_refusal_is_shown_on_the_console_where_the_crew_is_verbose(mode: Mode, capsys: pytest.CaptureFixture[str]):
    worked_on = guarded("bad", "good", guardrail=accepts("good"))
    assert worked_on.agent is not None
    mode.kickoff(Crew(agents=[worked_on.agent], tasks=[worked_on], checkpointer=False, verbose=True))
    assert "blocked (attempt 1/4)" in capsys.readouterr().out
