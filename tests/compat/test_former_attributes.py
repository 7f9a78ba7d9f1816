"""CrewAI's functions for single steps of agents, and attributes of agents, models and tools under CrewAI's names."""

import asyncio
import json
from typing import Any

import pytest
from crewgraph_compat.stand_ins.lite_agent import LiteAgent
from langchain_core.callbacks import BaseCallbackHandler

from crewgraph import LLM, Agent, ScriptedLLM, ToolUse
from crewgraph.definitions.agent.delegation_tools import AgentTools, AskQuestionTool
from crewgraph.deprecations import Outdated
from crewgraph.errors import DefinitionError, Fault, ToolFailed
from crewgraph.flow import Flow, start
from crewgraph.prompts.i18n import I18N
from crewgraph.tools import tool
from crewgraph.tools.structured import CrewStructuredTool


@tool
def look(where: str) -> str:
    """Look somewhere."""
    return "three boats"


def clerk(*script: Any, **fields: Any) -> Agent:
    return Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(list(script)), **fields)


def test_a_lite_agent_tells_what_it_said_and_asks_before_each_request():
    asked: list[int] = []

    def room() -> bool:
        asked.append(1)
        return True

    stands_for = clerk()
    script = ScriptedLLM([ToolUse("look", {"where": "here"}), "three"], repeat_last=True)
    lite = LiteAgent(
        role="Clerk",
        goal="g",
        backstory="b",
        llm=script,
        tools=[look],
        request_within_rpm_limit=room,
        original_agent=stands_for,
    )
    assert (lite.messages, lite.iterations, lite.use_stop_words, lite.parent_flow) == ([], 0, True, None)
    assert lite.kickoff("How many?").raw == "three"
    assert lite.messages[-1] == {"role": "assistant", "content": "three"} and lite.iterations == 2
    assert len(asked) == 2 and stands_for.last_messages == lite.messages
    assert asyncio.run(lite.akickoff("Again?")).raw == "three" and lite.iterations == 1
    assert lite.before_llm_call_hooks == lite.after_llm_call_hooks == []

    class Harbour(Flow[Any]):
        @start()
        def make(self) -> bool:
            return LiteAgent(role="r", goal="g", backstory="b").parent_flow is self

    assert Harbour().kickoff() is True


def test_a_structured_tool_needs_no_more_than_its_function():
    empty = CrewStructuredTool()
    assert (empty.name, empty.description, empty.args) == ("", "", {})
    with pytest.raises(ToolFailed, match="no function"):
        empty.invoke({})

    def add(a: int, b: int = 1) -> int:
        return a + b

    made = CrewStructuredTool(name="add", description="Adds.", func=add)
    assert {*made.args} == {"a", "b"} and made.invoke({"a": 2}) == 3


def test_callbacks_of_a_model_are_replaced_by_class(monkeypatch: pytest.MonkeyPatch):
    class Ear(BaseCallbackHandler):
        pass

    class Eye(BaseCallbackHandler):
        pass

    old, new, eye = Ear(), Ear(), Eye()
    llm = LLM("openai/gpt-4o", callbacks=[old, eye])
    llm.set_callbacks([new])
    assert llm.callbacks == [eye, new]
    llm.set_env_callbacks()
    monkeypatch.setenv("LITELLM_SUCCESS_CALLBACKS", "langfuse")
    with pytest.warns(Outdated, match="`LITELLM_SUCCESS_CALLBACKS` in the environment"):
        llm.set_env_callbacks()


def test_tools_for_coworkers_take_texts_of_their_own(tmp_path: Any):
    file = tmp_path / "texts.json"
    file.write_text(json.dumps({"tools": {"ask_question": "Ask {coworkers} anything."}}), "utf-8")
    texts = I18N(prompt_file=str(file))
    assert AskQuestionTool(agents=[clerk()], i18n=texts).description == "Ask Clerk anything."
    made = AgentTools([clerk()], texts).tools()
    assert made[1].description == "Ask Clerk anything." and made[0].description


def test_faults_are_texts_too():
    assert DefinitionError(["a", "b"]).errors == ["a", "b"] and str(DefinitionError(["a", "b"])) == "a\nb"
    fault = Fault(where="task `x`", what="It is empty.", remedy="Fill it.")
    assert DefinitionError([fault]).errors == ["task `x`: It is empty. Fill it."] == [str(DefinitionError([fault]))]
    assert DefinitionError("whole").errors == ["whole"]
