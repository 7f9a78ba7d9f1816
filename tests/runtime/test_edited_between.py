"""Runs that are resumed after their crew or flow was edited."""

from collections.abc import Sequence
from typing import Any, TypedDict

import pytest
from core.parts import at
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode, graph_of
from waiting import wait_until

from crewgraph import Crew, ScriptedLLM, Task
from crewgraph.errors import DefinitionChanged, RunError
from crewgraph.flow import Flow, listen, persist, start

from .parts import agent, crew, task


def failed(mode: Mode, *tasks: Task, **more: Any) -> Crew:
    """A crew whose second request failed."""
    team = crew(*tasks, **more)
    team.agents[0].llm = ScriptedLLM(["facts", ConnectionError("down")])
    with pytest.raises(ConnectionError):
        mode.kickoff(team, thread_id="t")
    return team


def described(*descriptions: str) -> list[Task]:
    """Tasks without names, which are known by their descriptions."""
    worker = agent(ScriptedLLM(["a", "b", "c"]))
    return [Task(description=text, expected_output="a text", agent=worker) for text in descriptions]


def test_a_run_that_continues_with_a_task_that_was_described_anew_is_refused_and_nothing_is_run(mode: Mode):
    failed(mode, *described("Find facts.", "Write it.", "Finish."))
    edited = crew(*described("Find facts.", "Write it, short.", "Finish."))
    with pytest.raises(DefinitionChanged) as error:
        mode.resume(edited, "t")
    assert str(error.value) == (
        "the run of thread `t` continues with task `write_it`, which the crew does not have: the crew has changed since, and "
        "nothing was run. Resume with the tasks that the run began with (a task without a `name` is known by its "
        "description), or run the others in a new thread: `crew.fork('write_it_short', thread_id='t')`."
    )
    assert not hasattr(error.value, "__notes__")
    assert not edited.agents[0].llm.requests
    done = mode.run(edited.fork, edited.afork, "write_it_short", thread_id="t")
    assert [output.raw for output in done.tasks_output] == ["facts", "a", "b"]


def test_the_run_stays_as_it_is_for_the_crew_that_began_it(mode: Mode):
    team = failed(mode, *described("Find facts.", "Write it.", "Finish."))
    with pytest.raises(DefinitionChanged):
        mode.resume(crew(*described("Find facts.", "Write it, short.", "Finish.")), "t")
    team.agents[0].llm = ScriptedLLM(["a", "b"])
    assert [output.raw for output in mode.resume(team, "t").tasks_output] == ["facts", "a", "b"]


def test_a_task_put_before_the_one_that_the_run_continues_with_is_not_left_out(mode: Mode):
    failed(mode, *described("Find facts.", "Write it."))
    with pytest.raises(
        DefinitionChanged, match=r"continues with task `write_it`, and has no output of task `check_facts` before it"
    ):
        mode.resume(crew(*described("Find facts.", "Check facts.", "Write it.")), "t")


def test_a_task_put_behind_a_finished_run_is_not_left_out(mode: Mode):
    mode.kickoff(crew(*described("Find facts.")), thread_id="t")
    longer = crew(*described("Find facts.", "Write it."))
    with pytest.raises(
        DefinitionChanged, match=r"is done, and has no output of task `write_it`.*crew\.fork\('write_it'"
    ):
        mode.resume(longer, "t")
    assert mode.run(longer.fork, longer.afork, "write_it", thread_id="t").raw == "a"


Shape = Sequence[tuple[str, bool]]
"""Names of tasks, and whether each is asynchronous."""

PARALLEL: Shape = [("find", True), ("search", True), ("write", False)]
LINEAR: Shape = [("find", False), ("search", False), ("check", False), ("write", False)]


def shaped(shape: Shape) -> Crew:
    """A crew with tasks of a shape, each done by a worker of its name."""
    workers = {name: agent(ScriptedLLM([f"{name} done"]), name) for name, _ in shape}
    return crew(*(task(name, workers[name], async_execution=parallel) for name, parallel in shape))


def stopped(shape: Shape, failing: str, saver: InMemorySaver) -> Crew:
    """A crew with tasks of a shape, one of which fails when those before it are stored."""
    names = [name for name, _ in shape]
    before = set(names[: names.index(failing)])

    def are_stored() -> bool:
        saved = saver.get_tuple(at("t"))
        assert saved is not None
        return {*saved.checkpoint["channel_values"], *(name for _, name, _ in saved.pending_writes or ())} >= before

    def fail(_: object) -> str:
        wait_until(are_stored)
        raise ConnectionError("down")

    team = shaped(shape)
    team.agents[names.index(failing)].llm = ScriptedLLM([fail])
    return team


CHANGES: dict[str, tuple[Shape, str, Shape, str]] = {
    "a task is put into a group of parallel ones": (
        PARALLEL,
        "search",
        [("find", True), ("search", True), ("ask", True), ("write", False)],
        "continues with task `search`, and would end without task `ask`",
    ),
    "a task is put behind a group that is half done": (
        PARALLEL,
        "search",
        [("find", True), ("search", True), ("check", False), ("write", False)],
        "continues with task `search`, and would end without task `check`",
    ),
    "a task is made parallel to one that is done": (
        LINEAR,
        "search",
        [("find", True), ("search", True), ("check", False), ("write", False)],
        "continues with task `search`, and would end without task `check`",
    ),
    "later tasks are made parallel": (
        LINEAR,
        "search",
        [("find", False), ("search", True), ("check", True), ("write", False)],
        "continues with task `search`, and would end without task `check`",
    ),
    "tasks before the next one are made sequential": (
        PARALLEL,
        "write",
        [("find", True), ("search", False), ("write", False)],
        "continues with task `write`, which now waits for other tasks",
    ),
    "a parallel task is taken out": (
        PARALLEL,
        "search",
        [("search", True), ("write", False)],
        "continues with task `find`, which the crew does not have",
    ),
}


def test_parallel_tasks_that_were_put_in_or_regrouped_are_not_left_out(mode: Mode):
    for shape, failing, edited, problem in CHANGES.values():
        saver = InMemorySaver()
        with pytest.raises(ConnectionError):
            mode.kickoff(stopped(shape, failing, saver), thread_id="t", checkpointer=saver)
        team = shaped(edited)
        with pytest.raises(DefinitionChanged) as error:
            mode.resume(team, "t", checkpointer=saver)
        assert f"thread `t` {problem}: the crew has changed since, and nothing was run." in str(error.value)
        first = str(error.value).rpartition("crew.fork('")[2].partition("'")[0]
        done = mode.run(team.fork, team.afork, first, thread_id="t", checkpointer=saver)
        assert [output.raw for output in done.tasks_output] == [f"{name} done" for name, _ in edited]


def test_parallel_tasks_may_be_made_sequential_and_later_ones_taken_out(mode: Mode):
    for edited in ([LINEAR[0], PARALLEL[1], LINEAR[3]], [*LINEAR[:2], LINEAR[3]], LINEAR[:2]):
        saver = InMemorySaver()
        with pytest.raises(ConnectionError):
            mode.kickoff(stopped(PARALLEL, "search", saver), thread_id="t", checkpointer=saver)
        done = mode.resume(shaped(edited), "t", checkpointer=saver)
        assert [output.raw for output in done.tasks_output] == [f"{name} done" for name, _ in edited]


def test_a_compiled_graph_of_an_edited_crew_is_refused(mode: Mode):
    for change, (shape, failing, edited, problem) in CHANGES.items():
        saver = InMemorySaver()
        with pytest.raises(ConnectionError):
            mode.invoke(stopped(shape, failing, saver).compile(checkpointer=saver), {}, at("t"))
        before = saver.get_tuple(at("t"))
        with pytest.raises(DefinitionChanged) as error:
            mode.invoke(shaped(edited).compile(checkpointer=saver), None, at("t"))
        assert problem.rpartition("task")[2] in str(error.value), change
        assert saver.get_tuple(at("t")) == before


def test_a_compiled_graph_of_an_edited_crew_is_refused_as_a_node(mode: Mode):
    saver, failing = InMemorySaver(), shaped(PARALLEL)
    failing.agents[1].llm = ScriptedLLM([ConnectionError("down")])

    def around(team: Crew) -> Any:
        return graph_of(
            TypedDict("Around", {"inputs": dict[str, Any], "write": dict[str, Any]}),
            {"team": team.compile()},
            checkpointer=saver,
        )

    with pytest.raises(ConnectionError):
        mode.invoke(around(failing), {"inputs": {}}, at("t"))
    with pytest.raises(
        DefinitionChanged, match=r"continues with task `\w+`, and has no output of task `ask` before it"
    ):
        mode.invoke(around(shaped([("ask", True), *PARALLEL])), None, at("t"))
    assert mode.invoke(around(shaped(PARALLEL)), None, at("t"))["write"]["raw"] == "write done"


def test_a_task_that_was_left_out_of_a_compiled_graph_by_hand_is_not_missed(mode: Mode):
    saver = InMemorySaver()
    graph = stopped(LINEAR, "check", saver).compile(checkpointer=saver)
    with pytest.raises(ConnectionError):
        mode.invoke(graph, {}, at("t"))
    mode.run(graph.update_state, graph.aupdate_state, at("t"), None, as_node="check")
    assert mode.invoke(graph, None, at("t"))["write"]["raw"] == "write done"
    assert mode.invoke(graph, None, at("t"))["write"]["raw"] == "write done"


def test_later_tasks_may_be_added_and_left_out(mode: Mode):
    failed(mode, *described("Find facts.", "Write it.", "Finish."))
    assert mode.resume(crew(*described("Find facts.", "Write it.", "Check it.", "Send it.")), "t").raw == "c"


def test_a_named_task_may_be_described_anew(mode: Mode):
    worker = agent(None)
    failed(mode, task("find", worker), task("write", worker))
    editor = agent(ScriptedLLM(["short"]))
    edited = crew(task("find", editor), task("write", editor, description="Write it, short."))
    assert mode.resume(edited, "t").raw == "short"
    assert "Write it, short." in editor.llm.requests[0].text


def test_a_run_of_another_crew_is_not_resumed(mode: Mode):
    mode.kickoff(crew(*described("Find facts."), name="theirs"), thread_id="t")
    with pytest.raises(RunError, match=r"thread `t` holds a run of crew `theirs`, not of crew `ours`"):
        mode.resume(crew(*described("Find facts."), name="ours"), "t")


def test_a_flow_without_the_method_that_its_run_continues_with_is_refused(mode: Mode):
    ran: list[str] = []

    @persist
    class Digest(Flow[Any]):
        @start()
        def find(self) -> str:
            return "facts"

        @listen(find)
        def write(self) -> str:
            raise ConnectionError("down")

    first = Digest()
    with pytest.raises(ConnectionError):
        mode.run(first.kickoff, first.kickoff_async)
    run = first.flow_id

    class Edited(Flow[Any]):
        name = "Digest"

        @start()
        def find(self) -> str:
            return "facts"

        @listen(find)
        def compose(self) -> str:
            ran.append("compose")
            return "text"

    edited = persist(Edited)()
    for again in (
        lambda: mode.run(edited.resume, edited.aresume, run),
        lambda: mode.run(edited.kickoff, edited.kickoff_async, {"id": run}),
    ):
        with pytest.raises(DefinitionChanged, match=r"continues with method `write`, which the flow does not have"):
            again()
    assert not ran
    begin = edited.history(run)[0]
    assert mode.run(edited.fork, edited.afork, begin) == "text"
