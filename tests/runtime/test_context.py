"""A compiled crew takes a context beside its input: the model of all agents, inputs and limits, as assistants keep them."""

import re
from typing import Any

import pytest
from langchain_core.tools import tool as langchain_tool
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import get_runtime
from modes import Mode
from servers.openai_api import OpenAIServer
from typing_extensions import TypedDict

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.errors import RunError
from crewgraph.flow import Flow, start

from .parts import agent, crew, task


class Said(TypedDict):
    """The state of a graph around a crew."""

    said: str


class User(TypedDict):
    """The context of that graph."""

    user: str


def report(model: Any, **more: Any) -> Crew:
    return crew(task("report", agent(model), description="Report on {topic} in {tone} words"), **more)


def test_inputs_of_the_context_are_defaults(mode: Mode):
    model = ScriptedLLM(lambda _: "Final Answer: done")
    graph = report(model).compile()
    mode.invoke(graph, {"topic": "rain"}, context={"inputs": {"tone": "dry", "topic": "snow"}})
    assert "Report on rain in dry words" in model.requests[-1].text


def test_the_model_of_the_context_is_that_of_all_agents(mode: Mode, monkeypatch: pytest.MonkeyPatch):
    own = ScriptedLLM([])
    with OpenAIServer(["done"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        given = {"model": "openai/gpt-4o-mini", "inputs": {"tone": "dry"}}
        state = mode.invoke(report(own).compile(), {"topic": "rain"}, context=given)
        assert (state["output"], server.bodies[0]["model"], own.requests) == ("done", "gpt-4o-mini", [])


def test_other_keys_of_the_context_are_the_callers_and_values_must_fit(mode: Mode):
    mode.invoke(report(ScriptedLLM(["done"])).compile(), {"topic": "rain", "tone": "dry"}, context={"thread_id": "t"})
    graph = report(ScriptedLLM([])).compile()
    for context, message in (
        ({"max_tokens": -1}, "`max_tokens`: Input should be greater than 0"),
        (["x"], "the context of a crew is a dict"),
    ):
        with pytest.raises(RunError, match=re.escape(message)):
            mode.invoke(graph, {"topic": "rain", "tone": "dry"}, context=context)


def test_a_crew_within_another_graph_leaves_that_graphs_context_alone(mode: Mode):
    inner = crew(task("inner", agent(ScriptedLLM(lambda _: "Final Answer: done")))).compile()

    def ask(state: Said) -> Said:
        return {"said": inner.invoke({})["output"]}

    outer = StateGraph(Said, context_schema=User)
    outer.add_node("crew", ask)
    outer.add_edge(START, "crew")
    assert mode.invoke(outer.compile(), {"said": ""}, context={"user": "Ines"})["said"] == "done"


SEEN: list[str] = []


@langchain_tool
def whoami(runtime: ToolRuntime[Any, Any]) -> str:
    """Say who asks."""
    SEEN.append(f"tool {runtime.context['user']}")
    return "known"


class Desk(Flow[dict[str, Any]]):
    """Methods that run beside each other, one of which kicks a crew off."""

    @start()
    def greet(self) -> None:
        SEEN.append(f"method {get_runtime(User).context['user']}")

    @start()
    async def work(self) -> str:
        SEEN.append(f"async method {get_runtime(User).context['user']}")
        clerk = agent(ScriptedLLM([ToolUse("whoami", {}), "Final Answer: done"]), tools=[whoami])
        return (await crew(task("who", clerk)).akickoff()).raw


def test_methods_and_the_tools_of_their_crews_read_the_context_of_a_flow(mode: Mode):
    SEEN.clear()
    graph = Desk().compile(context_schema=User)
    assert list((graph.get_context_jsonschema() or {})["properties"]) == ["user"]
    mode.invoke(graph, {"inputs": {}}, context={"user": "Ines"})
    assert sorted(SEEN) == ["async method Ines", "method Ines", "tool Ines"]
