"""The compiled graph of a crew is cached until the crew changes."""

from collections.abc import Callable

import pytest

from crewgraph import Crew, ScriptedLLM, TaskOutput
from crewgraph.runtime.crew.graphs import graph_of

from .parts import agent, crew, task


def made(**more: object) -> Crew:
    worker = agent(ScriptedLLM(["x"], repeat_last=True))
    return crew(task("a", worker), task("b", worker), **more)


def test_two_runs_of_a_crew_use_one_graph():
    team = made()
    assert graph_of(team, False).graph is graph_of(team, False).graph


def add_a_task(team: Crew) -> None:
    team.tasks.append(task("c", agent(ScriptedLLM(["z"]))))


def drop_a_task(team: Crew) -> None:
    team.tasks.pop(0)


def name_a_task(team: Crew) -> None:
    team.tasks[0].name = "other"


def give_no_context(team: Crew) -> None:
    team.tasks[1].context = []


def let_a_task_run_beside(team: Crew) -> None:
    team.tasks[0].async_execution = True


def give_another_agent(team: Crew) -> None:
    team.tasks[0].agent = agent(ScriptedLLM(["y"]))


def rename_the_crew(team: Crew) -> None:
    team.name = "renamed"


@pytest.mark.parametrize(
    "change",
    [add_a_task, drop_a_task, name_a_task, give_no_context, let_a_task_run_beside, give_another_agent, rename_the_crew],
)
def test_a_crew_that_was_changed_gets_another_graph(change: Callable[[Crew], None]):
    team = made()
    before = graph_of(team, False).graph
    change(team)
    assert graph_of(team, False).graph is not before


def test_what_nodes_read_when_they_run_needs_no_other_graph():
    team = made()
    team.kickoff(checkpointer=False)
    before = graph_of(team, False).graph
    team.agents[0].llm = ScriptedLLM(["new"], repeat_last=True)
    assert team.kickoff(checkpointer=False).raw == "new"
    assert graph_of(team, False).graph is before


def test_a_copy_of_a_crew_tells_its_own_callbacks():
    reported: list[str] = []

    def first(output: TaskOutput) -> None:
        reported.append(f"first {output.name}")

    def second(output: TaskOutput) -> None:
        reported.append(f"second {output.name}")

    team = made(task_callback=first)
    team.kickoff(checkpointer=False)
    team.model_copy(update={"task_callback": second}).kickoff(checkpointer=False)
    assert reported == ["first a", "first b", "second a", "second b"]
