"""Runs that are resumed after their crew or flow was edited."""

from typing import Any

import pytest
from modes import Mode

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
