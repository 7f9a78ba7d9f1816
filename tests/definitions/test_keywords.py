"""Keywords: given one by one, in `config=`, or unknown."""

import json
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from crewgraph import Agent, ConditionalTask, Crew, Process, Task
from crewgraph.definitions.base import UnknownKeyword
from crewgraph.definitions.task.task import NOT_SPECIFIED
from crewgraph.deprecations import Outdated

AGENT: dict[str, Any] = {"role": "Writer", "goal": "Write", "backstory": "Wrote before"}
TASK: dict[str, Any] = {"description": "Write", "expected_output": "A text"}


def having(given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**given, **more}


# ---------------------------------------------------------------------------------------------------- unknown
def test_an_unknown_keyword_is_accepted_and_reported_with_the_nearest_name_at_the_line_that_gave_it():
    with pytest.warns(UnknownKeyword) as caught:
        Task(**having(TASK, contxt=[]))
    assert [str(one.message) for one in caught] == [
        "`Task` has no keyword `contxt`; it has no effect. Did you mean `context`?"
    ]
    assert caught[0].filename == __file__


def test_the_line_is_that_of_the_program_for_every_kind_of_definition():
    agent = Agent(**AGENT)
    task = Task(**TASK, agent=agent)
    with pytest.warns(UnknownKeyword) as caught:
        Agent(**having(AGENT, bakstory="x"))
        ConditionalTask(**having(TASK, qqq=1))
        Crew(agents=[agent], tasks=[task], **having({}, task=1))
    assert [(one.filename, str(one.message)) for one in caught] == [
        (__file__, "`Agent` has no keyword `bakstory`; it has no effect. Did you mean `backstory`?"),
        (__file__, "`ConditionalTask` has no keyword `qqq`; it has no effect."),
        (__file__, "`Crew` has no keyword `task`; it has no effect. Did you mean `tasks`?"),
    ]


def test_an_unknown_keyword_is_reported_once_for_a_class():
    with pytest.warns(UnknownKeyword) as caught:
        for _ in range(3):
            Task(**having(TASK, colour="red", size=1))
    assert [str(one.message) for one in caught] == [
        "`Task` has no keyword `colour`; it has no effect.",
        "`Task` has no keyword `size`; it has no effect.",
    ]


# ----------------------------------------------------------------------------------------------------- config
def test_config_stands_for_fields_that_are_not_given():
    agent = Agent(config={**AGENT, "max_iter": 3}, role="Editor")  # pyright: ignore[reportCallIssue]
    assert (agent.role, agent.goal, agent.max_iter) == ("Editor", "Write", 3)
    task = Task(config={**TASK, "markdown": True}, agent=agent)  # pyright: ignore[reportCallIssue]
    assert (task.description, task.markdown, task.agent) == ("Write", True, agent)


def test_none_is_no_value_alongside_config():
    assert Agent(config={**AGENT, "max_iter": 3}, max_iter=None).max_iter == 3  # pyright: ignore[reportCallIssue]


def test_none_that_config_does_not_replace_keeps_its_meaning():
    assert Task(config=TASK, context=None).context is None  # pyright: ignore[reportCallIssue]
    assert Task(config=TASK).context is NOT_SPECIFIED  # pyright: ignore[reportCallIssue]


def test_an_unknown_name_in_config_is_reported_too():
    with pytest.warns(UnknownKeyword, match="`Task` has no keyword `descripton`.*`description`"):
        Task(config={**TASK, "descripton": "x"})  # pyright: ignore[reportCallIssue]


def test_config_cannot_bring_an_id():
    with pytest.raises(ValidationError, match="`id` is made by Task"):
        Task(config={**TASK, "id": "x"})  # pyright: ignore[reportCallIssue]


CREW: dict[str, Any] = {
    "agents": [AGENT, {**AGENT, "role": "Editor"}],
    "tasks": [{**TASK, "agent": "Writer"}, {**TASK, "description": "Edit", "agent": "Editor"}],
    "process": "sequential",
    "name": "magazine",
}


@pytest.mark.parametrize("config", [CREW, json.dumps(CREW)], ids=["dict", "json"])
def test_a_whole_crew_can_come_from_config_as_a_dict_or_as_json(config: Any):
    crew = Crew(config=config)
    assert [agent.role for agent in crew.agents] == ["Writer", "Editor"]
    assert [(task.description, task.agent) for task in crew.tasks] == [
        ("Write", crew.agents[0]),
        ("Edit", crew.agents[1]),
    ]
    assert (crew.name, crew.process) == ("magazine", Process.sequential)


def test_a_crew_in_config_needs_agents_and_tasks():
    for config in ({"agents": [AGENT]}, {"tasks": [TASK]}, {}):
        with pytest.raises(ValidationError) as caught:
            Crew(config=config)
        assert [error["type"] for error in caught.value.errors()] == ["missing_keys_in_config"]


def test_a_task_in_config_names_an_agent_by_role():
    with pytest.raises(ValidationError, match="a task in `config` names the agent 'Nobody'; there are 'Writer'"):
        Crew(config={"agents": [AGENT], "tasks": [{**TASK, "agent": "Nobody"}]})


def test_config_that_is_no_json_is_refused():
    with pytest.raises(ValidationError):
        Crew(config="agents: []")  # pyright: ignore[reportArgumentType]


# --------------------------------------------------------------------------------------------------- identity
def test_keys_are_those_of_crewai_and_the_same_in_every_process():
    agent = Agent(role="r", goal="g", backstory="b")
    assert agent.key == "972e0b87888f709270fc8893aa3d763e"
    assert Task(description="a {x}", expected_output="e").key == "f55dbff283aaaa245ed7876630e262d7"
    task = Task(description="one", expected_output="e", agent=agent)
    assert Crew(agents=[agent], tasks=[task]).key == "7851d07ebe4dc6e3d1cd33a9abb35112"


def test_definitions_are_equal_only_to_themselves_and_can_be_kept_in_sets():
    first, second = Agent(**AGENT), Agent(**AGENT)
    assert first != second
    assert len(set([first, second, first])) == 2
    assert Task(**TASK) != Task(**TASK)


def test_definitions_show_what_they_are_about():
    agent = Agent(**AGENT)
    task = Task(**TASK, agent=agent)
    assert repr(agent) == "Agent(role=Writer, goal=Write, backstory=Wrote before)"
    assert str(task) == "Task(description=Write, expected_output=A text)"
    assert str(Crew(agents=[agent], tasks=[task])).endswith("number_of_agents=1, number_of_tasks=1)")


def test_verbose_takes_the_former_levels():
    agent = Agent(**AGENT)
    task = Task(**TASK, agent=agent)
    with pytest.warns(Outdated, match="`verbose=2`: write `verbose=True`") as reported:
        shown = [Crew(agents=[agent], tasks=[task], verbose=level).verbose for level in (False, True, 0, 1, 2)]  # pyright: ignore[reportArgumentType]
    assert shown == [False, True, False, True, True]
    assert len(reported) == 1


def test_declaring_a_crew_loads_neither_langgraph_nor_langchain():
    program = (
        "import sys; from crewgraph import Agent, Crew, Task\n"
        "a = Agent(role='r', goal='g', backstory='b', llm='openai/gpt-4o')\n"
        "Crew(agents=[a], tasks=[Task(description='d', expected_output='e', agent=a)])\n"
        "print([m for m in ('langgraph', 'langchain_core', 'openai', 'rich', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
