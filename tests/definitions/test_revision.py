"""A `Revision` tells whether definitions have changed since it was made."""

from collections.abc import Callable
from typing import Any

import pytest

from crewgraph import Agent, Crew, Task
from crewgraph.definitions.base import Definition, run_fields
from crewgraph.definitions.revision import Revision
from crewgraph.llm.scripted import ScriptedLLM
from crewgraph.tools import tool


@tool
def sound(place: str) -> str:
    """Sound the depth of a place."""
    return f"7 at {place}"


def made() -> tuple[Crew, Agent, Task]:
    model = ScriptedLLM(["Final Answer: 7"], repeat_last=True)
    agent = Agent(role="Clerk of {place}", goal="Measure", backstory="You measure.", llm=model, tools=[sound])
    task = Task(description="Measure {place}", expected_output="A depth", agent=agent)
    return Crew(agents=[agent], tasks=[task], checkpointer=False), agent, task


FIELDS = [
    pytest.param(number, field, id=f"{kind.__name__}.{field}")
    for number, kind in enumerate((Crew, Agent, Task))
    for field in sorted(kind.model_fields.keys() - run_fields(kind))
]


@pytest.mark.parametrize(("number", "field"), FIELDS)
def test_another_value_of_any_field_is_a_change(number: int, field: str):
    definitions = made()
    revision = Revision(definitions)
    assert revision.is_current()
    vars(definitions[number])[field] = object()
    assert not revision.is_current()


def append_an_agent(crew: Any, agent: Any, task: Any) -> None:
    crew.agents.append(Agent(role="Diver", goal="Dive", backstory="You dive."))


def remove_a_task(crew: Any, agent: Any, task: Any) -> None:
    crew.tasks.clear()


def replace_a_tool_in_place(crew: Any, agent: Any, task: Any) -> None:
    agent.tools[0] = sound.model_copy()


def fill_a_dict(crew: Any, agent: Any, task: Any) -> None:
    crew.training_data["Clerk"] = {}


def become_another_class(crew: Any, agent: Any, task: Any) -> None:
    class Own(Agent):
        pass

    agent.__class__ = Own


def write_a_text(crew: Any, agent: Any, task: Any) -> None:
    task.description = "Measure the pond"


def fill_the_texts_for_all_runs(crew: Any, agent: Any, task: Any) -> None:
    task.interpolate_inputs_and_add_conversation_history({"place": "the pond"})


CHANGES = [
    append_an_agent, remove_a_task, replace_a_tool_in_place, fill_a_dict, become_another_class, write_a_text,
    fill_the_texts_for_all_runs,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("has_run", [False, True], ids=["before a run", "after a run"])
def test_a_change_within_a_definition_is_noticed(has_run: bool, change: Callable[[Any, Any, Any], None]):
    definitions = made()
    if has_run:
        definitions[0].kickoff({"place": "the lake"})
    revision = Revision(definitions)
    change(*definitions)
    assert not revision.is_current()


def test_runs_change_nothing():
    crew, agent, task = made()
    crew.kickoff({"place": "the lake"})  # the definitions show the texts of a run from now on
    definitions: list[Definition] = [crew, agent, task]
    revision = Revision(definitions)
    for place in ("the pond", "the sea"):
        crew.kickoff({"place": place})
        assert revision.is_current()
