import asyncio
from typing import Any

import pytest
from crewgraph_compat.stand_ins.console.prompts import Prompts, SystemPromptResult
from crewgraph_compat.stand_ins.models.llms import create_llm
from pydantic import BaseModel

from crewgraph import LLM, Agent, BaseLLM, ScriptedLLM
from crewgraph.definitions.conversion import (
    async_convert_to_model,
    async_convert_with_instructions,
    async_handle_partial_json,
)
from crewgraph.errors import ModelError


class Tide(BaseModel):
    height: int


def clerk(*answers: str) -> Agent:
    return Agent(role="Clerk", goal="Know", backstory="Careful.", llm=ScriptedLLM(list(answers)))


# ---------------------------------------------------------------- converting
def test_texts_are_converted_beside_the_event_loop():
    agent = clerk('{"height": 3}')
    assert asyncio.run(async_convert_to_model('{"height": 1}', Tide, None)) == Tide(height=1)
    assert asyncio.run(async_handle_partial_json('so: {"height": 2}', Tide, True, agent)) == {"height": 2}
    assert asyncio.run(async_convert_with_instructions("three", Tide, False, agent)) == Tide(height=3)


# ---------------------------------------------------------------- planning and judging


# ---------------------------------------------------------------- prompts
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


def test_a_prompt_stands_in_templates():
    made = Prompts(
        agent=clerk(),
        system_template="<{{ .System }}>",
        prompt_template="[{{ .Prompt }}]",
        response_template="A: {{ .Response }} end",
        use_system_prompt=True,
    ).task_execution()
    assert made.prompt.startswith("<You are Clerk.")
    assert made.prompt.endswith("]\nA: ")


# ---------------------------------------------------------------- models
class Described:
    model_name = "gpt-4o"
    temperature = 0.5
    max_tokens = 7


class Own(BaseLLM):
    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        return "own"


def test_a_model_is_made_of_what_a_program_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    own = Own("own")
    assert create_llm(own) is own
    assert isinstance(create_llm("gpt-4o"), LLM)
    assert create_llm({"model_name": "gpt-4o", "temperature": 0.1}).temperature == 0.1
    made = create_llm(Described())
    assert (made.model, made.temperature, made.max_tokens) == ("gpt-4o", 0.5, 7)
    monkeypatch.setenv("MODEL", "gpt-4")
    assert create_llm(None).model == "gpt-4"
    assert create_llm(ScriptedLLM(["a word"])).call("?") == "a word"
    cases: list[tuple[Any, type[Exception]]] = [({}, ValueError), (5, ModelError)]
    for wrong, kind in cases:
        with pytest.raises(kind):
            create_llm(wrong)


# ---------------------------------------------------------------- outputs of tasks
