import pytest
from crewgraph_compat.stand_ins.prompts import Prompts, SystemPromptResult
from pydantic import BaseModel

from crewgraph import Agent, ScriptedLLM


class Tide(BaseModel):
    height: int


def clerk(*answers: str) -> Agent:
    return Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(list(answers)))


def test_a_prompt_leaves_the_placeholders_of_the_task_open():
    made = Prompts(agent=clerk(), has_tools=True, use_system_prompt=True).task_execution()
    assert isinstance(made, SystemPromptResult)
    assert made["system"] == made.get("system") == made.system
    assert "Clerk" in made.system
    assert "{tools}" in made.system
    assert "{tool_names}" in made.system
    assert "{input}" in made.user
    assert made.prompt == f"{made.system}\n\n{made.user}"


def test_a_prompt_of_one_message_has_no_system_part():
    made = Prompts(agent=clerk()).task_execution()
    assert ("system" in made, "prompt" in made, made.get("system", "-")) == (False, True, "-")
    with pytest.raises(KeyError):
        made["system"]


def test_a_prompt_is_rendered_in_templates():
    made = Prompts(
        agent=clerk(),
        system_template="<{{ .System }}>",
        prompt_template="[{{ .Prompt }}]",
        response_template="A: {{ .Response }} end",
        use_system_prompt=True,
    ).task_execution()
    assert made.prompt.startswith("<You are Clerk.")
    assert made.prompt.endswith("]\nA: ")
