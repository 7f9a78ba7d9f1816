"""The history of a crew's run: its steps, in order."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import Crew, CrewStep, ScriptedLLM
from crewgraph.errors import RunError, StorageError
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import agent, crew, task


def three(llm: ScriptedLLM, **more: Any) -> Crew:
    worker = agent(llm)
    return crew(
        *(task(name, worker, description=f"do {name} on {{topic}}") for name in ("one", "two", "three")), **more
    )


def past(mode: Mode, team: Crew, *args: Any, **options: Any) -> list[CrewStep]:
    return mode.run(lambda *ids: team.history(*ids, **options), lambda *ids: team.ahistory(*ids, **options), *args)


def summary(steps: list[CrewStep]) -> list[Any]:
    return [(step.tasks, step.next, {name: output.raw for name, output in step.outputs.items()}) for step in steps]


def test_history_lists_the_steps_in_order(mode: Mode):
    team, before = three(ScriptedLLM(["a", "b", "c"])), datetime.now(UTC)
    result = mode.kickoff(team, {"topic": "rain"})
    steps = past(mode, team, result.thread_id)
    assert summary(steps) == [
        ((), ("one",), {}),
        (("one",), ("two",), {"one": "a"}),
        (("two",), ("three",), {"one": "a", "two": "b"}),
        (("three",), (), {"one": "a", "two": "b", "three": "c"}),
    ]
    assert [step.number for step in steps] == [0, 1, 2, 3]
    assert [step.completed for step in steps] == [None, "one", "two", "three"]
    assert [step.output.raw if step.output else None for step in steps] == [None, "a", "b", "c"]
    assert {step.thread_id for step in steps} == {result.thread_id} and len({step.checkpoint_id for step in steps}) == 4
    assert all(step.inputs == {"topic": "rain"} and step.inside is step.forked_from is None for step in steps)
    assert before <= steps[0].created_at < steps[-1].created_at <= datetime.now(UTC)
    assert steps[-1].outputs["two"].description == "do two on rain" and steps[-1].outputs["two"].usage.total_tokens


def test_of_a_thread_with_several_runs_the_last_one_counts(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c", "d", ConnectionError("down")]))
    mode.kickoff(team, {"topic": "rain"}, thread_id="t")
    with pytest.raises(ConnectionError):
        mode.kickoff(team, {"topic": "sun"}, thread_id="t")
    steps = past(mode, team, "t")
    assert summary(steps) == [((), ("one",), {}), (("one",), ("two",), {"one": "d"})]
    assert steps[0].inputs == {"topic": "sun"}


def test_runs_of_other_crews_are_refused(mode: Mode):
    team, other = three(ScriptedLLM(list("abc")), name="ours"), three(ScriptedLLM(list("abc")), name="theirs")
    with pytest.raises(RunError, match=r"no run of crew `ours` is stored in the SqliteCheckpointer"):
        past(mode, team)
    with pytest.raises(RunError, match=r"there is no run of thread `nowhere` in the SqliteCheckpointer"):
        past(mode, team, "nowhere")
    mode.kickoff(other, {"topic": "rain"}, thread_id="t")
    with pytest.raises(RunError, match=r"thread `t` holds a run of crew `theirs`, not of crew `ours`"):
        past(mode, team, "t")
    with pytest.raises(RunError, match=r"not stored"):
        past(mode, team, checkpointer=False)


def test_invalid_stored_output_is_reported(mode: Mode, storage: Path):
    team = three(ScriptedLLM(["a", "b", "c"]))
    mode.kickoff(team, {"topic": "rain"}, thread_id="t")
    with SqliteCheckpointer(storage / "checkpoints.db") as saver:
        graph = team.compile(checkpointer=saver)
        graph.update_state({"configurable": {"thread_id": "t"}}, {"two": {"raw": 7, "agent": None}}, as_node="two")
    with pytest.raises(StorageError, match=r"thread `t` holds as `two`"):
        past(mode, team, "t")


def test_a_failed_or_waiting_task_is_told_in_the_history(mode: Mode):
    team = three(ScriptedLLM(["a", ConnectionError("the provider is down"), "b", "c"]))
    with pytest.raises(ConnectionError):
        mode.kickoff(team, {"topic": "rain"}, thread_id="t")
    steps = past(mode, team, "t")
    assert (steps[-1].next, steps[-1].errors) == (("two",), {"two": "ConnectionError('the provider is down')"})
    assert str(steps).splitlines()[-1].split() == ["two", "failed", "ConnectionError('the", "provider", "is", "down')"]
    team.tasks[-1].human_input = True
    mode.run(team.resume, team.aresume, "t")
    steps = past(mode, team, "t")
    assert (steps[-1].next, steps[-1].errors, steps[-1].waits) == (("three",), {}, ("three",))
    assert str(steps).splitlines()[-1].split() == ["three", "waiting"]
