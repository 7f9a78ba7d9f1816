"""Databases that were written by earlier code are read, and their runs resume: nothing that was recorded runs again.

A request is known by its text, so the prompts are those of the earlier code.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from modes import Mode

from crewgraph import PendingCrew, UsageMetrics
from crewgraph.contrib.evaluation.experiment import ExperimentRunner
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.errors import BudgetExceeded, ToolFailed
from crewgraph.events import crewai_event_bus
from crewgraph.flow import SQLiteFlowPersistence
from golden import program
from golden.make import DATA, FOLDER

USAGE = {"prompt_tokens": 353, "completion_tokens": 15, "total_tokens": 368, "successful_requests": 3}
"""What the crew used, over both processes."""

Unpack = Callable[[str], None]


@pytest.fixture
def unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Unpack:
    """Copies a case to the working directory, whose folder `storage` is the storage folder; nothing in it is too old."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path / "storage"))
    monkeypatch.setenv("CREWGRAPH_RETENTION_DAYS", "0")
    monkeypatch.setenv("CREWGRAPH_PROMPTS", str(DATA / "prompts.json"))
    (tmp_path / "storage").mkdir()

    def copied(case: str) -> None:
        files = [file for file in (DATA / case).rglob("*") if file.is_file()]
        # Which snapshot is the latest is told by the times of the files: in the order in which they were written.
        files.sort(key=lambda file: (file.suffix != ".begun", "p-none" not in file.name, file.name))
        for place, file in enumerate(files):
            target = tmp_path / file.relative_to(DATA / case)
            target.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".sql":
                target = target.with_suffix("")
                with closing(sqlite3.connect(target)) as database:
                    database.executescript(file.read_text(encoding="utf-8").replace(FOLDER, str(tmp_path)))
            else:
                target.write_bytes(file.read_bytes().replace(FOLDER.encode(), str(tmp_path).encode()))
            os.utime(target, (1_700_000_000 + place, 1_700_000_000 + place))

    return copied


def ledger() -> list[str]:
    file = Path("ledger")
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def resume(mode: Mode, runner: Any, *args: Any) -> Any:
    return mode.run(runner.resume, runner.aresume, *args)


def plain(usage: Mapping[str, UsageMetrics]) -> dict[str, tuple[int, int, int]]:
    """Tokens read, tokens written and requests."""
    return {
        name: (used.prompt_tokens, used.completion_tokens, used.successful_requests) for name, used in usage.items()
    }


def kickoff(mode: Mode, runner: Any, inputs: dict[str, Any] | None = None) -> Any:
    return mode.run(runner.kickoff, runner.akickoff, inputs)


def in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have stores see the working directory that the entries were kept in."""
    monkeypatch.setattr(os, "getcwd", lambda: program.PROJECT)


@pytest.mark.parametrize("case", ["crew_at_task", "crew_at_step"])
def test_a_killed_crew_resumes_within_its_second_task(case: str, mode: Mode, unpack: Unpack):
    unpack(case)
    assert [(run.status, run.last) for run in program.desk().runs()] == [("abandoned", "first")]
    output = resume(mode, program.desk(), "golden")
    assert [task.raw for task in output.tasks_output] == ["high", "low"]
    assert ledger() == ["model SECOND it is deep"]
    assert output.token_usage.model_dump(exclude_defaults=True) == USAGE
    assert program.desk().resume("golden").raw == "low"
    assert len(ledger()) == 1


def test_a_killed_crew_resumes_in_a_saver_of_langgraph(unpack: Unpack):
    unpack("crew_upstream")
    with SqliteSaver.from_conn_string("upstream.db") as saver:
        output = program.desk().resume("golden", checkpointer=saver)
    assert [task.raw for task in output.tasks_output] == ["high", "low"]
    assert ledger() == ["model SECOND it is deep"]


def test_a_waiting_crew_takes_its_answer_in_a_saver_of_langgraph(unpack: Unpack):
    unpack("waiting_upstream")
    with SqliteSaver.from_conn_string("upstream.db") as saver:
        waiting = program.office().resume("golden", True, checkpointer=saver)
        assert isinstance(waiting, PendingCrew)
        assert program.office().resume("golden", True, checkpointer=saver).raw == "paid"
    assert ledger() == ["tool transfer Anna 900", "model PAY transferred"]


def test_a_waiting_crew_takes_its_answers(mode: Mode, unpack: Unpack):
    unpack("waiting")
    office = program.office()
    kinds = {pending.thread_id: pending.questions[0].kind for pending in office.pending()}
    assert kinds == {"approval": "approval", "feedback": "feedback"}
    waiting = resume(mode, office, "approval", {"args": {"to": "Anna", "euros": 80}})
    assert (waiting.questions[0].kind, waiting.questions[0].answer) == ("feedback", "paid")
    assert resume(mode, office, "approval", "").raw == "paid"
    assert resume(mode, office, "feedback", True).raw == "paid"
    assert ledger() == ["tool transfer Anna 80", "model PAY transferred"]


def test_a_finished_run_is_read_forked_and_replayed(mode: Mode, unpack: Unpack):
    unpack("finished")
    desk = program.desk()
    steps = desk.history("golden")
    assert [(step.completed, step.output and step.output.raw) for step in steps] == [
        (None, None),
        ("first", "high"),
        ("second", "low"),
    ]
    assert (steps[0].inputs, ledger()) == ({"what": "tide"}, [])
    replayed = mode.run(desk.replay, desk.areplay, "second")
    assert [task.raw for task in replayed.tasks_output] == ["high", "low"]
    work = ["model SECOND", "tool look sea", "model SECOND it is deep"]
    assert ledger() == work
    desk = program.desk()  # whose cache knows nothing of the replay
    assert mode.run(desk.fork, desk.afork, steps[1], {"first": "none"}).tasks_output[0].raw == "none"
    assert ledger() == work * 2
    assert desk.diff("golden", replayed).same
    assert desk.resume("golden").token_usage.model_dump(exclude_defaults=True) == USAGE


SECOND = ["model SECOND", "tool look sea", "model SECOND it is deep"]
"""What the second task of a crew leaves in the ledger."""


def test_the_plan_of_a_crew_is_not_made_again(mode: Mode, unpack: Unpack):
    unpack("crew_plan")
    output = resume(mode, program.planned_by_the_crew(), "golden")
    assert ledger() == ["model FIRST", *SECOND]
    assert output.plan.pydantic.by_number(2) == {1: "1. Look up.", 2: "1. Look down."}
    assert plain(output.usage_by_model) == {"gpt-4o": (261, 11, 1), "gpt-4o-mini": (377, 15, 3)}


def test_the_plan_of_an_agent_is_not_made_again(mode: Mode, unpack: Unpack):
    unpack("agent_plan")
    output = resume(mode, program.planned_by_the_agent(reasoning=True), "golden")
    assert ledger() == ["model works on", *SECOND]
    assert plain(output.usage_by_model) == {"gpt-4o": (240, 44, 3), "gpt-4o-mini": (255, 12, 2)}


def test_steps_of_a_plan_are_not_done_again(mode: Mode, unpack: Unpack):
    unpack("agent_plan_in_steps")
    output = resume(mode, program.planned_by_the_agent(planning_config=PlanningConfig()), "golden")
    assert ledger() == ["model observes", "model observes", "model works on", *SECOND]
    assert plain(output.usage_by_model) == {"gpt-4o": (964, 62, 7), "gpt-4o-mini": (255, 12, 2)}


def test_work_that_was_delegated_is_not_done_again(mode: Mode, unpack: Unpack):
    unpack("delegation")
    output = resume(mode, program.delegating(), "golden")
    assert ledger() == ["model leads on", *SECOND]
    assert plain(output.usage_by_agent) == {"Leader": (489, 24, 2), "Clerk": (306, 17, 3)}


def test_what_coworkers_used_is_known_of_a_task_that_was_done(mode: Mode, unpack: Unpack):
    unpack("delegation_done")
    crew = program.delegating()
    crew.max_tokens = 706
    with pytest.raises(BudgetExceeded) as stopped:
        resume(mode, crew, "golden")
    assert (stopped.value.spent, ledger()) == (707, [])
    assert {who: plain(used) for who, used in stopped.value.used.items()} == {
        "Leader": {"gpt-4o-mini": (489, 24, 2)},
        "Clerk": {"gpt-4o": (67, 5, 1), "gpt-4o-mini": (113, 9, 1)},
    }
    output = resume(mode, program.delegating(), "golden")
    assert ledger() == SECOND[-1:]
    assert plain(output.usage_by_agent) == {"Leader": (489, 24, 2), "Clerk": (306, 17, 3)}


def test_a_tool_that_must_not_be_called_twice_is_not_called_again(unpack: Unpack):
    unpack("once")
    with pytest.raises(ToolFailed, match="`send_mail` was started before a crash"):
        program.mailing().resume("golden")
    assert ledger() == []


def test_a_flow_resumes_within_a_crew_of_its_method(mode: Mode, unpack: Unpack):
    unpack("flow_in_a_crew")
    journey = program.Journey()
    assert resume(mode, journey, "golden") == "port low Brest 3"
    assert ledger() == ["sail", "model SECOND it is deep", "arrive"]
    assert journey.state.legs == [program.Leg(miles=12, port="Brest")]


def test_a_flow_resumes_between_its_methods(mode: Mode, unpack: Unpack):
    unpack("flow_between")
    assert [(run.status, run.last) for run in program.Journey.runs()] == [("abandoned", "sail")]
    assert kickoff(mode, program.Journey(), {"id": "golden"}) == "port low Brest 3"
    assert ledger() == ["arrive"]
    assert [step.completed for step in program.Journey().history("golden")] == [None, "leave", "sail", "arrive"]


def test_a_flow_goes_back_to_the_method_that_is_persisted(mode: Mode, unpack: Unpack):
    unpack("flow_method")
    assert kickoff(mode, program.Voyage(), {"id": "golden"}) == 6
    assert ledger() == ["drift", "land"]


def test_a_flow_resumes_behind_its_last_method(unpack: Unpack):
    unpack("flow_method")
    assert program.Voyage().resume("golden") == 6
    assert ledger() == ["land"]


def test_a_flow_takes_feedback_and_answers(mode: Mode, unpack: Unpack):
    unpack("flow_feedback")
    (pending,) = program.Draft.pending()
    assert (pending.flow_id, pending.questions[0].message) == ("golden", "Good enough?")
    assert isinstance(program.Draft().resume("golden"), PendingFlow)
    assert resume(mode, program.Draft(), "golden", "yes") == "sent a draft"
    assert ledger() == ["send"]


def test_a_flow_takes_the_answer_to_its_question(mode: Mode, unpack: Unpack):
    unpack("flow_question")
    assert resume(mode, program.Inquiry(), "golden", "Brest") == "to Brest"
    assert ledger() == ["inquire"]


def test_a_backend_of_flows_has_the_state(unpack: Unpack):
    unpack("flow_states")
    assert SQLiteFlowPersistence("states.db").load_state("golden") == {
        "id": "golden",
        "legs": [{"miles": 3, "port": "Split"}],
        "count": 1,
    }
    counter = program.Counter()
    assert counter.kickoff(id="golden") == 2
    assert [leg.port for leg in counter.state.legs] == ["Split", "Split"]


def test_snapshots_of_a_flow_are_taken_up(mode: Mode, unpack: Unpack):
    unpack("snapshots_flow")
    assert kickoff(mode, program.Walk.from_checkpoint(program.snapshot_config("flow"))) == 3
    assert ledger() == ["home"]


def test_memories_of_a_crew_are_found(monkeypatch: pytest.MonkeyPatch, unpack: Unpack):
    unpack("memories")
    in_project(monkeypatch)
    crew: Any = program.remembering()
    (finding,) = crew.short_term_memory.search("high", score_threshold=0.5)
    assert (finding["content"], finding["metadata"]["agent"]) == ("high", "Clerk")
    (lesson,) = crew.long_term_memory.search("FIRST count the boats")
    assert (lesson["score"], lesson["metadata"]["suggestions"]) == (8.0, ["Name the day."])
    (entity,) = crew.entity_memory.search("Ines", score_threshold=0.5)
    assert entity["content"] == "Ines(person): harbour master"


def test_a_memory_recalls(monkeypatch: pytest.MonkeyPatch, unpack: Unpack):
    unpack("memory")
    in_project(monkeypatch)
    memory = program.recollections()
    match = memory.recall("When does the ferry leave?", limit=1)[0].record
    assert (match.content, match.scope, match.metadata) == (
        "The ferry leaves at nine.",
        "/times",
        {"boat": "Molène"},
    )
    (person,) = memory.list_records("/people")
    assert (person.categories, person.importance, person.created_at.year) == (["harbour"], 0.9, 2026)


def test_knowledge_is_found_and_not_embedded_again(monkeypatch: pytest.MonkeyPatch, unpack: Unpack):
    unpack("knowledge")
    in_project(monkeypatch)
    assert (
        program.hours().query("when does the mill close", results_limit=1)[0]["content"] == "The mill closes at noon."
    )


def test_lessons_of_a_training_are_read(unpack: Unpack):
    unpack("training")
    assert program.careful(trained_agents_file="lessons.json").kickoff().raw == "Six hours, 360 minutes."
    assert ledger() == ["model other minutes"]


def test_a_training_that_was_killed_continues(unpack: Unpack):
    unpack("training_killed")
    asked: list[Any] = []
    program.careful().train(2, "lessons.json", feedback=lambda output: asked.append(output) or "")
    assert (asked, ledger()) == ([], ["model draws lessons"])
    assert program.careful(trained_agents_file="lessons.json").kickoff().raw == "Six hours, 360 minutes."


def test_a_baseline_of_an_evaluation_is_compared_with(unpack: Unpack):
    unpack("baseline")
    case = {"identifier": "north", "inputs": {"what": "tide"}, "expected_score": 7}
    with crewai_event_bus.scoped_handlers():  # the trace of evaluations listens for ever
        results = ExperimentRunner([case]).run(crew=program.desk(), llm=program.ScoringModel(model="judge"))
    assert results.compare_with_baseline(program.BASELINE)["unchanged"] == ["north"]


BANK = ["model SEARCH done", "model PAY", "tool Transfer Money Anna 900", "model PAY done", "model MAIL"]


@pytest.mark.parametrize("form", ["native", "text"])
def test_tools_that_models_now_call_by_another_name_are_not_called_again(mode: Mode, unpack: Unpack, form: str):
    unpack(f"titled_{form}")
    bank = program.bank(native=form == "native")
    waiting = resume(mode, bank, "golden")
    assert (waiting.questions[0].tool, ledger()) == ("transfer_money", BANK[:2])


@pytest.mark.parametrize("form", ["native", "text"])
def test_an_approval_asked_under_the_former_name_of_a_tool_is_given(mode: Mode, unpack: Unpack, form: str):
    unpack(f"titled_waiting_{form}")
    bank = program.bank(native=form == "native")
    question = bank.pending()[0].questions[0]
    assert resume(mode, bank, "golden", {question.id: True}).raw == "done"
    assert ledger() == [*BANK[2:], "tool Mail-Report ada@example.org", "model MAIL done"]


def test_a_tool_started_under_its_former_name_is_not_called_again(unpack: Unpack):
    unpack("titled_once")
    with pytest.raises(ToolFailed, match="`mail_report` was started before a crash"):
        program.bank(native=True).resume("golden")
    assert ledger() == []
