"""`config=`: the configuration of agents, tasks and crews, as in YAML and JSON files."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from crewgraph import Agent, Crew, Task

AGENTS = [{"role": "Clerk", "goal": "g", "backstory": "b"}]
TASKS = [{"description": "d", "expected_output": "e", "agent": "Clerk", "markdown": True}]


def refused(make: Any, *given: Any, **fields: Any) -> list[tuple[str, tuple[Any, ...]]]:
    with pytest.raises(ValidationError) as caught:
        make(*given, **fields)
    return [(error["type"], error["loc"]) for error in caught.value.errors()]


def test_a_dict_stands_for_the_fields_that_are_not_given_themselves():
    described: dict[str, Any] = {"description": "from config", "expected_output": "e", "markdown": True}
    made = Task(config=described, description="given")  # pyright: ignore[reportCallIssue]
    assert (made.description, made.expected_output, made.markdown, made.config) == ("given", "e", True, described)
    worker = Agent(config={"role": "r", "goal": "g", "backstory": "b", "max_iter": 3})  # pyright: ignore[reportCallIssue]
    assert (worker.role, worker.max_iter) == ("r", 3)


def test_what_a_dict_leaves_out_is_missing():
    assert refused(Task, config={"description": "d"}) == [("missing", ("expected_output",))]


@pytest.mark.parametrize("text", ["description: d\nexpected_output: e", '{"description": "d", "expected_output": "e"}'])
def test_a_text_is_no_config_of_a_task_or_an_agent(text: str):
    assert ("dict_type", ("config",)) in refused(Task, config=text)
    assert ("dict_type", ("config",)) in refused(Agent, config=text)


WHOLE: dict[str, Any] = {"agents": AGENTS, "tasks": TASKS}


@pytest.mark.parametrize(
    "written", [WHOLE, json.dumps(WHOLE), json.dumps(WHOLE).encode()], ids=["dict", "text", "bytes"]
)
def test_a_crew_takes_a_dict_or_json(written: Any):
    made = Crew(config=written)
    assert made.tasks[0].agent is made.agents[0]
    assert (made.agents[0].role, made.tasks[0].markdown, made.config) == (
        "Clerk",
        True,
        {"agents": AGENTS, "tasks": TASKS},
    )


@pytest.mark.parametrize("text", ["agents: []", "agents.yaml", "[1]", "5"])
def test_a_text_that_is_no_json_object_is_refused_with_advice(text: str):
    with pytest.raises(
        ValidationError, match="`config` of a crew is a dict, or the JSON of one, with `agents` and `tasks`"
    ):
        Crew(config=text)  # pyright: ignore[reportArgumentType]


def test_a_crew_needs_both_agents_and_tasks():
    assert refused(Crew, config={"agents": AGENTS}) == [("missing_keys_in_config", ())]


def test_a_task_that_names_nobody_known_is_refused_with_the_choices():
    with pytest.raises(ValidationError, match="names the agent 'Cook'; there are 'Clerk'"):
        Crew(config={"agents": AGENTS, "tasks": [{**TASKS[0], "agent": "Cook"}]})
