"""CrewAI's functions for single steps of agents, and attributes of agents, models and tools under CrewAI's names."""

import asyncio
import json
from typing import Any

from crewgraph_compat.stand_ins.lite_agent import LiteAgent

from crewgraph import Agent, ScriptedLLM, ToolUse
from crewgraph.definitions.agent.delegation_tools import AgentTools, AskQuestionTool
from crewgraph.errors import DefinitionError, Fault
from crewgraph.flow import Flow, start
from crewgraph.prompts.i18n import I18N
from crewgraph.tools import tool


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
