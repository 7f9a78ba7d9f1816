"""`Crew.test`: rounds, scores and costs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from modes import Mode
from servers.openai_api import OpenAIServer, error

from crewgraph import LLM, ConditionalTask, Crew, ScriptedLLM, TaskOutput
from crewgraph.definitions.crew.evaluation import CrewTestResult
from crewgraph.errors import ModelError, NoModelError
from crewgraph.events import (
    CrewTestCompletedEvent,
    CrewTestFailedEvent,
    CrewTestResultEvent,
    CrewTestStartedEvent,
    LLMCallStartedEvent,
)
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
from crewgraph.testing import record_events
from runtime.parts import agent, asked, crew, served, task


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return Mode(request.param)


def mark(quality: float, reasons: str = "") -> str:
    return json.dumps({"quality": quality, "reasons": reasons})


def judge_of(**marks: Any) -> ScriptedLLM:
    """A judge that looks at the task's name."""

    def judged(messages: Any) -> Any:
        text = str(messages[1]["content"])
        return next(given() if callable(given) else given for name, given in marks.items() if f"do {name}" in text)

    return ScriptedLLM(judged, model="judge")


def two(*answers: Any, **more: Any) -> Crew:
    llm = ScriptedLLM(list(answers) or (lambda messages: "done"))
    return crew(task("dive", agent(llm, role="Diver")), task("rise", agent(llm, role="Pilot")), **more)


def examined(mode: Mode, team: Crew, n: Any, llm: Any = None, inputs: Any = None, **more: Any) -> CrewTestResult:
    return mode.run(lambda: team.test(n, llm, inputs, **more), lambda: team.atest(n, llm, inputs, **more))


def test_each_task_of_each_round_has_a_mark_with_reasons(mode: Mode):
    marks = iter([mark(8, "good"), mark(4, "late")])
    result = examined(mode, two(), 2, judge_of(dive=lambda: next(marks), rise=mark(6)))
    assert [[one.score for one in scores] for scores in result.by_task] == [[8, 4], [6, 6]]
    assert [one.reasons for one in result.by_task[0]] == ["good", "late"]
    assert [(one.task, one.agent) for one in result.rounds[0].scores] == [("dive", "Diver"), ("rise", "Pilot")]
    assert ([one.average for one in result.rounds], result.average, result.model) == ([7, 5], 6, "judge")


def test_the_judge_is_told_about_the_task_and_its_result(mode: Mode):
    judge = judge_of(dive=mark(8))
    team = crew(task("dive", agent(ScriptedLLM(["PEARLS"])), description="do dive in {sea}", expected_output="a catch"))
    examined(mode, team, 1, judge, {"sea": "RED"})
    assert all(word in asked(judge)[0] for word in ("dive in RED", "a catch", "PEARLS"))


def test_judging_is_not_counted_as_the_crews_but_told(mode: Mode):
    team, judge = two(), judge_of(dive=mark(8), rise=mark(6))
    result = examined(mode, team, 2, judge)
    assert (result.usage.successful_requests, result.evaluation_usage.successful_requests) == (4, 4)
    assert result.rounds[0].scores[0].usage.successful_requests == 1
    assert team.usage_metrics is not None and team.usage_metrics.successful_requests == 2
    assert result.seconds >= 0 and result.scores[0].seconds >= 0


def test_costs_are_told_where_prices_are_known(mode: Mode):
    with OpenAIServer() as server:
        team = crew(task("dive", agent(LLM("openai/gpt-4o", base_url=server.url, api_key="key", max_retries=0))))
        result = examined(mode, team, 1, judge_of(dive=mark(8)))
    assert result.cost is not None and result.cost > 0
    assert result.cost == result.rounds[0].scores[0].cost


def test_the_scores_are_printed_as_a_table(mode: Mode, capsys: pytest.CaptureFixture[str]):
    team = two()
    examined(mode, team, 2, judge_of(dive=mark(8), rise="rubbish"))
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    assert rows[:3] == [
        ["dive", "Diver", "8.0", "8.0", "8.0"],
        ["rise", "Pilot", "failed", "failed", "-"],
        ["Crew", "", "8.0", "8.0", "8.0"],
    ]
    assert [row[0] for row in rows[3:]] == ["Seconds", "Tokens", "Cost (USD)"]
    assert "Judging took" in printed


@pytest.mark.parametrize("bad", ["rubbish", mark(11), mark(0), '{"quality": "much"}'])
def test_a_task_that_cannot_be_judged_does_not_lose_the_others(mode: Mode, bad: str, caplog: pytest.LogCaptureFixture):
    result = examined(mode, two(), 1, judge_of(dive=bad, rise=mark(6)))
    dive, rise = result.scores
    assert (dive.score, rise.score, rise.error) == (None, 6, None)
    assert dive.error is not None and "no mark that can be parsed" in dive.error
    assert "task `dive` could not be judged" in caplog.text
    assert result.evaluation_usage.successful_requests == 4


def test_a_judge_that_is_down_loses_nothing(mode: Mode):
    with OpenAIServer([error(400, "down")] * 8) as server:
        result = examined(mode, two(), 1, served(server.url))
    assert [one.score for one in result.scores] == [None, None]
    assert all(one.error for one in result.scores)
    assert result.average is None and result.usage.successful_requests == 2


def test_a_mark_that_cannot_be_read_is_asked_for_again(mode: Mode):
    marks = iter(["well", mark(9)])
    assert (
        examined(mode, crew(task("dive", agent(ScriptedLLM(["x"])))), 1, judge_of(dive=lambda: next(marks))).average
        == 9
    )


def test_a_skipped_task_has_no_mark(mode: Mode):
    by = agent(ScriptedLLM(["x"]))
    skipped = ConditionalTask(lambda _: False, name="rise", description="do rise", expected_output="x", agent=by)
    result = examined(mode, crew(task("dive", by), skipped), 1, judge_of(dive=mark(8)))
    assert [(one.score, one.skipped) for one in result.scores] == [(8, False), (None, True)]


def test_the_model_may_be_given_by_its_former_name(mode: Mode):
    assert examined(mode, two(), 1, openai_model_name=judge_of(dive=mark(8), rise=mark(6))).model == "judge"


def test_without_a_judge_the_model_of_an_agent_judges(mode: Mode):
    def both(messages: Any) -> str:
        return mark(7) if "You judge" in str(messages[0]["content"]) else "done"

    assert examined(mode, crew(task("dive", agent(ScriptedLLM(both)))), 1).average == 7


def test_no_model_at_all_is_reported(mode: Mode):
    by = agent(None, agent_executor=_answers)
    with pytest.raises(NoModelError):
        examined(mode, crew(task("dive", by)), 1)


def _answers(given: Any) -> str:
    return "done"


@pytest.mark.parametrize("llm", ["nobody/knows-it", 7])
def test_a_model_that_is_not_there_is_reported_before_anything_is_paid_for(mode: Mode, llm: Any):
    team = two(ConnectionError("nobody is to be asked"))
    with record_events() as events, pytest.raises(ModelError):
        examined(mode, team, 1, llm)
    assert events == []


@pytest.mark.parametrize(("n", "kind"), [(0, ValueError), (-1, ValueError), ("3", TypeError), (1.5, TypeError)])
def test_a_number_of_rounds_that_is_none_is_refused(mode: Mode, n: Any, kind: type[Exception]):
    with pytest.raises(kind, match="`n_iterations` is"):
        examined(mode, two(), n, judge_of(dive=mark(8), rise=mark(6)))


def test_events_report_the_test(mode: Mode):
    with record_events() as events:
        examined(mode, two(), 1, judge_of(dive=mark(8), rise=mark(6)), {"a": 1})
    started, completed = events[0], events[-1]
    assert isinstance(started, CrewTestStartedEvent) and isinstance(completed, CrewTestCompletedEvent)
    assert (started.n_iterations, started.eval_llm, started.inputs) == (1, "judge", {"a": 1})
    results = [event for event in events if isinstance(event, CrewTestResultEvent)]
    assert [(event.quality, event.model) for event in results] == [(8, "judge"), (6, "judge")]
    assert sum(isinstance(event, LLMCallStartedEvent) for event in events) == 4


def test_a_round_that_fails_leaves_those_before(mode: Mode):
    team = two("a", "b", ConnectionError("down"))
    with record_events() as events, pytest.raises(ConnectionError, match="down") as caught:
        examined(mode, team, 3, judge_of(dive=mark(8), rise=mark(6)))
    result: CrewTestResult = vars(caught.value)["result"]
    assert (len(result.rounds), result.average) == (1, 7)
    assert "1 of 3 rounds of the test are finished" in caught.value.__notes__[-1]
    assert isinstance(events[-1], CrewTestFailedEvent)


def test_what_an_after_kickoff_function_gives_does_not_matter(mode: Mode):
    replaced: Callable[[Any], Any] = lambda output: "something else"  # noqa: E731
    team = two(after_kickoff_callbacks=[replaced])
    assert examined(mode, team, 1, judge_of(dive=mark(8), rise=mark(6))).average == 7


def test_planning_is_counted_with_the_round(mode: Mode):
    plan = json.dumps({"list_of_plans_per_task": [{"task_number": 1, "plan": "P"}, {"task_number": 2, "plan": "P"}]})
    team = two(planning=True, planning_llm=ScriptedLLM([plan]))
    result = examined(mode, team, 1, judge_of(dive=mark(8), rise=mark(6)))
    assert result.usage.successful_requests == 3


def test_the_crews_callback_is_told_and_those_of_tasks_have_no_effects(mode: Mode, capsys: pytest.CaptureFixture[str]):
    reported: list[str] = []

    def callback(output: TaskOutput) -> None:
        reported.append(output.raw)

    team = two(task_callback=callback)
    team.tasks[0].callback = print
    examined(mode, team, 1, judge_of(dive=mark(8), rise=mark(6)))
    assert reported == ["done", "done"]
    assert "raw=" not in capsys.readouterr().out


class _Memory:
    def __init__(self) -> None:
        self.resets = self.saved = 0

    def query(self, query: list[str]) -> list[Any]:
        return []

    def reset(self) -> None:
        self.resets += 1

    def save(self, value: Any, metadata: Any = None) -> None:
        self.saved += 1

    def search(self, query: str) -> list[Any]:
        return []


def test_a_test_reads_and_writes_memories(mode: Mode):
    memory = _Memory()
    examined(mode, two(external_memory=memory), 1, judge_of(dive=mark(8), rise=mark(6)))
    assert memory.saved == 2


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("short", "short_term_memory"), ("short_term", "short_term_memory"), ("long", "long_term_memory"),
        ("long_term", "long_term_memory"), ("entity", "entity_memory"), ("external", "external_memory"),
        ("memory", "long_term_memory"), ("knowledge", "knowledge"), ("all", "external_memory"),
    ],
)  # fmt: skip
def test_a_memory_that_is_there_is_reset(kind: str, field: str):
    memory, other = _Memory(), _Memory()
    team = two(**{field: memory, "entity_memory" if field != "entity_memory" else "knowledge": other})
    team.reset_memories(kind)
    assert (memory.resets, other.resets) == (1, 1 if kind in ("all", "memory") else 0)


@pytest.mark.parametrize("kind", ["short", "agent_knowledge", "kickoff_outputs", "all"])
def test_a_memory_that_is_not_there_is_reported(kind: str, caplog: pytest.LogCaptureFixture):
    team = two(training_data={"Diver": {"suggestions": ["x"], "quality": 1, "final_summary": ""}})
    team.reset_memories(kind)
    assert f"no memory `{kind}` that could be reset" in caplog.text
    assert list(team.training_data) == ["Diver"]


@pytest.mark.parametrize("kind", ["shorter", "", None])
def test_a_memory_of_no_name_is_refused(kind: Any):
    with pytest.raises(ValueError, match="there is no memory .*; there are `short`, `long`"):
        two().reset_memories(kind)


def test_a_round_that_fails_is_not_offered_to_be_resumed_by_itself(mode: Mode, tmp_path: Path):
    def broken(messages: Any) -> Any:
        raise RuntimeError("the line is dead")

    with pytest.raises(RuntimeError, match="the line is dead") as failed:
        examined(mode, two(broken), 1, judge_of(dive=mark(8)), checkpointer=SqliteCheckpointer(tmp_path / "runs.db"))
    assert not any("resume" in note for note in failed.value.__notes__)
