"""The history of a crew's run: its steps, in order."""

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode
from pydantic import BaseModel

from crewgraph import ConditionalTask, Crew, CrewStep, ScriptedLLM
from crewgraph.definitions.crew.history import CrewSteps
from crewgraph.errors import RunError, StorageError
from crewgraph.flow import Flow, persist, start
from crewgraph.storage.checkpoints import SqliteCheckpointer

from .parts import agent, crew, task


class Town(BaseModel):
    name: str
    people: int


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


def test_steps_cannot_be_changed(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c"]))
    mode.kickoff(team, {"topic": "rain"})
    step: Any = past(mode, team)[-1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        step.number = 7
    with pytest.raises(TypeError):
        step.outputs["one"] = None
    with pytest.raises(TypeError):
        step.inputs["topic"] = "sun"


def test_without_a_thread_it_is_that_of_the_latest_run(mode: Mode):
    team = three(ScriptedLLM(list("abcdef")))
    for topic in ("rain", "sun"):
        mode.kickoff(team, {"topic": topic})
    assert past(mode, team)[-1].inputs == {"topic": "sun"}


def test_of_a_thread_with_several_runs_the_last_one_counts(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c", "d", ConnectionError("down")]))
    mode.kickoff(team, {"topic": "rain"}, thread_id="t")
    with pytest.raises(ConnectionError):
        mode.kickoff(team, {"topic": "sun"}, thread_id="t")
    steps = past(mode, team, "t")
    assert summary(steps) == [((), ("one",), {}), (("one",), ("two",), {"one": "d"})]
    assert steps[0].inputs == {"topic": "sun"}


def test_asynchronous_tasks_complete_in_one_step(mode: Mode):
    worker = agent(ScriptedLLM(lambda messages: "x"))
    team = crew(task("a", worker, async_execution=True), task("b", worker, async_execution=True), task("last", worker))
    mode.kickoff(team)
    assert [(step.tasks, step.next) for step in past(mode, team)] == [
        ((), ("a", "b")),
        (("a", "b"), ("last",)),
        (("last",), ()),
    ]


@pytest.mark.parametrize("expected", [True, False])
def test_a_conditional_task_behind_asynchronous_ones_is_a_step_done_or_skipped(mode: Mode, expected: bool):
    worker = agent(ScriptedLLM(lambda messages: "x"))
    team = crew(
        task("a", worker, async_execution=True),
        task("b", worker, async_execution=True),
        ConditionalTask(
            name="perhaps", description="d", expected_output="e", agent=worker, condition=lambda _: expected
        ),
        task("last", worker),
    )
    mode.kickoff(team)
    steps = past(mode, team)
    assert [(step.tasks, step.next) for step in steps] == [
        ((), ("a", "b")),
        (("a", "b"), ("perhaps",)),
        (("perhaps",), ("last",)),
        (("last",), ()),
    ]
    assert steps[-1].outputs["perhaps"].raw == ("x" if expected else "")


def test_structures_are_read_with_their_models(mode: Mode):
    worker = agent(ScriptedLLM(['{"name": "Ulm", "people": 7}', "end"]))
    team = crew(task("first", worker, output_pydantic=Town), task("second", worker))
    mode.kickoff(team)
    assert past(mode, team)[-1].outputs["first"].pydantic == Town(name="Ulm", people=7)


def test_a_run_in_memory_has_a_history(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c"]), checkpointer=InMemorySaver())
    mode.kickoff(team, {"topic": "rain"}, thread_id="t")
    assert [step.tasks for step in past(mode, team, "t")] == [(), ("one",), ("two",), ("three",)]


def test_history_of_a_trimmed_run_lists_the_remaining_steps(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c"]), keep_history="latest")
    mode.kickoff(team, {"topic": "rain"}, thread_id="t")
    (step,) = past(mode, team, "t")
    assert step.tasks == ("one", "two", "three") and step.output is not None and step.output.raw == "c"


def test_a_graph_run_by_hand_has_a_history(mode: Mode):
    saver = InMemorySaver()
    team = three(ScriptedLLM(["a", "b", "c"]), checkpointer=saver)
    graph = mode.compile(team, checkpointer=saver)
    mode.invoke(graph, {"inputs": {"topic": "rain"}}, {"configurable": {"thread_id": "t"}})
    assert summary(past(mode, team, "t"))[-1] == (("three",), (), {"one": "a", "two": "b", "three": "c"})


def test_nested_run_names_its_flow(mode: Mode):
    team = three(ScriptedLLM(["a", "b", "c"]))

    @persist
    class Week(Flow[dict[str, Any]]):
        @start()
        async def monday(self):
            return (await team.akickoff({"topic": "rain"})).thread_id

    week = Week()
    thread = mode.run(week.kickoff, week.akickoff)
    steps = past(mode, team, thread)
    assert [step.tasks for step in steps] == [(), ("one",), ("two",), ("three",)]
    assert {step.inside for step in steps} == {week.flow_id}
    with pytest.raises(RunError, match=r"holds a run of flow `Week`, not of a crew"):
        past(mode, team, week.flow_id)


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


def _in_parallel(read: Any, sing: Any, **of_reading: Any) -> Crew:
    worker = agent(ScriptedLLM(["plan"]))
    return crew(
        task("plan", worker),
        task("read", agent(ScriptedLLM([read])), async_execution=True, **of_reading),
        task("sing", agent(ScriptedLLM([sing])), async_execution=True),
        task("close", worker),
    )


def test_which_of_several_parallel_tasks_failed_is_reported(mode: Mode):
    team = _in_parallel("read", ConnectionError("down"))
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="t")
    last = past(mode, team, "t")[-1]
    assert (last.next, last.errors) == (("read", "sing"), {"sing": "ConnectionError('down')"})
    reading, singing = [line.split() for line in str(CrewSteps([last])).splitlines()[-2:]]
    assert singing == ["sing", "failed", "ConnectionError('down')"]
    assert ("done" in reading) is ("read" in last.finished)  # it may have been cancelled


def test_which_of_several_parallel_tasks_waits_is_told(mode: Mode):
    team = _in_parallel("read", "sung", human_input=True)
    saver = InMemorySaver()
    graph = team.compile(checkpointer=saver)
    mode.invoke(graph, {}, {"configurable": {"thread_id": "t"}})
    last = past(mode, team, "t", checkpointer=saver)[-1]
    assert (last.next, last.errors, last.waits) == (("read", "sing"), {}, ("read",))
    assert {name: output.raw for name, output in last.finished.items()} == {"sing": "sung"}
    rows = [line.split()[:4] for line in str(CrewSteps([last])).splitlines()[-2:]]
    assert rows == [["read", "waiting"], ["sing", "worker", "done", "sung"]]
