"""Copies of definitions: independent, except for the models, tools and memories that they share."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from modes import Mode
from pydantic import PrivateAttr

from crewgraph import Agent, BaseAgent, ConditionalTask, Crew, ScriptedLLM, Task, TaskOutput
from crewgraph.definitions.base import Definition
from crewgraph.definitions.task.task import NOT_SPECIFIED
from crewgraph.storage.checkpoints import SqliteCheckpointer


def look(what: str) -> str:
    """Look at something."""
    return what


def reported(_: Any) -> None:
    pass


def yes(_: TaskOutput) -> bool:
    return True


def made(**more: Any) -> Crew:
    llm = ScriptedLLM(lambda messages: "done")
    first = Agent(role="first", goal="g {x}", backstory="b", llm=llm, tools=[look], max_iter=7)
    second = Agent(role="second", goal="g", backstory="b", llm=llm)
    one = Task(description="do {x}", expected_output="e", agent=first, tools=[look], callback=reported, name="one")
    two = ConditionalTask(condition=yes, description="two", expected_output="e", agent=second, context=[one])
    three = Task(description="three", expected_output="e", agent=first, context=None)
    return Crew(agents=[first, second], tasks=[one, two, three], name="pair", **more)


def test_an_agent_is_copied_with_what_it_works_with():
    agent = made().agents[0]
    agent.crew = object()
    copied = agent.copy()
    assert type(copied) is Agent and copied is not agent and copied.id != agent.id
    assert (copied.role, copied.goal, copied.max_iter, copied.llm) == ("first", "g {x}", 7, agent.llm)
    assert copied.tools == agent.tools and copied.tools is not agent.tools
    assert copied.crew is None
    assert copied.fingerprint != agent.fingerprint


class Counting(Agent):
    level: int = 1
    _count: int = PrivateAttr(default=0)

    def count(self) -> int:
        self._count += 1
        return self._count


def test_a_custom_class_stays_one_with_private_state_anew():
    agent = Counting(role="r", goal="g", backstory="b", level=5)
    assert [agent.count(), agent.count()] == [1, 2]
    copied = agent.copy()
    assert type(copied) is Counting
    assert (copied.level, copied.count()) == (5, 1)


def test_a_task_is_copied_with_its_agent_by_role_and_its_context_by_key():
    crew = made()
    one, two, _ = crew.tasks
    others: list[BaseAgent] = [
        Agent(role="second", goal="g", backstory="b"),
        Agent(role="first", goal="g", backstory="b"),
    ]
    first = one.copy(others, {})
    assert first.agent is others[1] and first.id != one.id
    assert (first.callback, first.tools, first.context) == (reported, [look], NOT_SPECIFIED)
    assert first.tools is not one.tools
    second = two.copy(others, {one.key: first})
    assert isinstance(second, ConditionalTask) and second.condition is yes
    assert second.agent is others[0] and second.context == [first]


def test_a_task_is_copied_as_its_author_wrote_it_and_as_not_done():
    crew = made()
    crew.kickoff({"x": "rain"})
    one = crew.tasks[0]
    assert one.description == "do rain"
    copied = one.copy(crew.agents, {})
    assert copied.description == "do {x}"
    assert (copied.output, copied.start_time, copied.processed_by_agents) == (None, None, set())


def test_a_crew_is_copied_with_agents_and_tasks_of_its_own(mode: Mode):
    with SqliteCheckpointer(":memory:") as saver:
        crew = made(task_callback=reported, before_kickoff_callbacks=[reported], checkpointer=saver)
        mode.kickoff(crew, {"x": "rain"})
        copied = crew.copy()
        assert copied.id != crew.id and copied.name == "pair" and copied.key == crew.key
        assert not {*map(id, copied.agents)} & {*map(id, crew.agents)}
        assert [type(task) for task in copied.tasks] == [Task, ConditionalTask, Task]
        assert [task.agent for task in copied.tasks] == [copied.agents[0], copied.agents[1], copied.agents[0]]
        assert copied.tasks[1].context == [copied.tasks[0]]
        assert [task.context for task in copied.tasks[::2]] == [NOT_SPECIFIED, None]
        assert copied.agents[0].llm is crew.agents[0].llm
        assert copied.task_callback is reported and copied.checkpointer is saver
        assert copied.before_kickoff_callbacks == [reported]
        assert copied.before_kickoff_callbacks is not crew.before_kickoff_callbacks
        assert (copied.usage_metrics, copied.inputs, copied.tasks[0].output) == (None, {}, None)
        result = mode.kickoff(copied, {"x": "sun"})
        assert result.tasks_output[0].description == "do sun"
        assert crew.tasks[0].description == "do rain"
        assert mode.resume(crew, str(result.thread_id)).raw == "done"


def test_agents_of_the_same_role_and_tasks_of_the_same_text_are_not_mixed_up():
    first, second = (Agent(role="r", goal=goal, backstory="b") for goal in "ab")
    one, two = (Task(description="d", expected_output="e", agent=agent) for agent in (first, second))
    three = Task(description="t", expected_output="e", agent=first, context=[one])
    copied = Crew(agents=[first, second], tasks=[one, two, three]).copy()
    assert [task.agent and task.agent.goal for task in copied.tasks] == ["a", "b", "a"]
    assert copied.tasks[2].context == [copied.tasks[0]]


def test_a_task_of_another_crew_stays_in_the_context():
    outside = Task(description="o", expected_output="e")
    agent = Agent(role="r", goal="g", backstory="b")
    copied = Crew(
        agents=[agent], tasks=[Task(description="d", expected_output="e", agent=agent, context=[outside])]
    ).copy()
    assert copied.tasks[0].context == [outside]


COPIES: dict[str, Callable[[Any], Any]] = {
    "model_copy": lambda definition: definition.model_copy(),
    "model_copy deep": lambda definition: definition.model_copy(deep=True),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", COPIES)
def test_the_ways_of_python_and_pydantic_work_before_and_after_a_run(way: str):
    crew = made()
    for _ in range(2):
        one: list[Definition] = [crew, *crew.agents, *crew.tasks]
        for definition in one:
            copied = COPIES[way](definition)
            assert type(copied) is type(definition) and copied is not definition
            assert copied.id == definition.id
        twin = COPIES[way](crew)
        assert twin.kickoff({"x": "sun"}).raw == "done"
        assert crew.kickoff({"x": "rain"}).tasks_output[0].description == "do rain"
