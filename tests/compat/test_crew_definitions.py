"""CrewAI's functions for projects, JSON crews and conversations, without running them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from crewgraph.contrib.declared import actions as definitions
from crewgraph.errors import DefinitionError
from crewgraph.project import load_agent_from_definition, load_crew_from_definition

PILOT = {"role": "Pilot", "goal": "Guide", "backstory": "Knows the way.", "llm": "openai/gpt-4o"}
GUIDE = {"description": "Guide {ship}", "expected_output": "A text", "agent": "pilot", "name": "guide"}


def test_a_crew_is_made_of_its_definition():
    given: dict[str, Any] = {"agents": {"pilot": PILOT}, "tasks": [GUIDE], "inputs": {"ship": "Ann"}, "verbose": True}
    for definition in (given, definitions.CrewDefinition.model_validate(given)):
        made, inputs = load_crew_from_definition(definition)
        assert (made.agents[0].role, made.tasks[0].agent, made.verbose, inputs) == (
            "Pilot", made.agents[0], True, {"ship": "Ann"},
        )  # fmt: skip


def test_a_manager_of_a_definition_is_none_of_those_who_work():
    given: dict[str, Any] = {
        "agents": {"pilot": PILOT, "chief": {**PILOT, "role": "Chief"}},
        "tasks": [GUIDE],
        "manager_agent": "chief",
        "process": "hierarchical",
    }
    made, _ = load_crew_from_definition(given)
    assert [one.role for one in made.agents] == ["Pilot"] and made.manager_agent is not None


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"agents": {}}, "<inline crew>: `agents` must be an object"),
        ({"foo": 1}, "`Crew` has no `foo`"),
        ({"tasks": [{**GUIDE, "agent": "cook"}]}, "'cook' is not an agent of the crew"),
        ({"agents": {"pilot": {**PILOT, "type": "Robot"}}}, "`pilot` has an unknown `type`; available: Agent"),
    ],
)
def test_faults_of_a_definition_are_reported(change: dict[str, Any], reported: str):
    with pytest.raises(DefinitionError, match=reported):
        load_crew_from_definition({"agents": {"pilot": PILOT}, "tasks": [GUIDE], **change})


def test_an_agent_is_made_of_its_definition_with_the_form_of_its_answers(tmp_path: Path):
    (tmp_path / "forms_of_answers.py").write_text(
        "from pydantic import BaseModel\nfrom crewgraph import Agent\n\n\nclass Way(BaseModel):\n    course: int\n\n\n"
        "class Own(Agent):\n    pass\n"
    )
    given = definitions.AgentDefinition.model_validate(
        {
            **PILOT,
            "input": "Where?",
            "response_format": {"python": "forms_of_answers.Way"},
            "type": {"python": "forms_of_answers.Own"},
        }
    )
    made, form = load_agent_from_definition(given, project_root=tmp_path)
    assert type(made).__name__ == "Own" and form is not None and list(form.model_fields) == ["course"]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (definitions.PythonReferenceDefinition, {"python": "a"}),
        (definitions.CrewAgentDefinition, {"settings": [1]}),
        (definitions.CrewDefinition, {"agents": ["pilot"], "tasks": [GUIDE]}),
        (definitions.CrewDefinition, {"agents": {"pilot": PILOT}, "tasks": []}),
    ],
)
def test_a_definition_of_the_wrong_form_is_refused(kind: Any, given: dict[str, Any]):
    with pytest.raises(ValidationError):
        kind.model_validate(given)
