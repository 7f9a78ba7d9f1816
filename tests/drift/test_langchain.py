"""LangChain both ways: its models, tools and retrievers here, and ours in its chains and graphs."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool as LangChainTool
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool
from langchain_core.tools import tool as langchain_tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from modes import Mode
from pydantic import SecretStr
from runtime.parts import agent, crew, task
from servers.openai_api import OpenAIServer, Request, calls

from crewgraph import LLM, Crew, Process, ScriptedLLM, ToolUse
from crewgraph.flow import Flow, start
from crewgraph.tools.base import tool


def opened(server: OpenAIServer, **more: Any) -> ChatOpenAI:
    return ChatOpenAI(model="test", base_url=server.url, api_key=SecretStr("key"), **more)


def _helping(model: Any) -> Crew:
    worker = agent(model, function_calling_llm=model)
    return crew(task("it", worker), chat_llm=model, function_calling_llm=model)


def _led(model: Any) -> Crew:
    worker = agent(model)
    return Crew(agents=[worker], tasks=[task("it", worker)], process=Process.hierarchical, manager_llm=model)


def _planned(model: Any) -> Crew:
    return crew(task("it", agent(model)), planning=True, planning_llm=model)


@pytest.mark.parametrize("make", [_helping, _led, _planned])
def test_a_chat_model_works_wherever_a_model_is_asked_for(make: Callable[[Any], Crew], mode: Mode):
    plan = '{"list_of_plans_per_task": [{"task_number": 1, "task": "do it", "plan": "look"}]}'

    def answer(request: Request) -> str:
        return plan if "list_of_plans_per_task" in str(request.body) else "noon"

    with OpenAIServer(answer) as server:
        assert mode.kickoff(make(opened(server))).raw == "noon"


def _bound(model: Any) -> Any:
    return model.bind(stop=["END"])


def _retried(model: Any) -> Any:
    return model.with_retry()


def _parsed(model: Any) -> Any:
    return model | StrOutputParser()


@pytest.mark.parametrize("change", [_bound, _retried, _parsed])
def test_what_a_chat_model_was_made_into_is_a_model(change: Callable[[Any], Any], mode: Mode):
    with OpenAIServer(["noon"]) as server:
        assert mode.kickoff(crew(task("it", agent(change(opened(server)))))).raw == "noon"


def test_ours_is_asked_as_theirs_and_is_a_part_of_a_chain(mode: Mode):
    with OpenAIServer() as server:
        model = LLM("openai/test", base_url=server.url, api_key="key")
        message = mode.run(model.invoke, model.ainvoke, "hello")
        assert isinstance(message, AIMessage) and message.content == "echo: hello"
        chain: Any = ChatPromptTemplate.from_template("say {what}") | model | StrOutputParser()
        assert mode.run(chain.invoke, chain.ainvoke, {"what": "noon"}) == "echo: say noon"
        first: Any = {"what": RunnableLambda(str.upper)} | ChatPromptTemplate.from_template("say {what}")
        assert (first | (model | StrOutputParser())).invoke("noon") == "echo: say NOON"


@langchain_tool(response_format="content_and_artifact")
def measured(port: str) -> tuple[str, dict[str, int]]:
    """The depth of a port, with what was measured."""
    return f"{port} is deep", {"metres": 12}


@langchain_tool
def recorded(
    port: str, by: Annotated[str, InjectedToolArg] = "nobody", call: Annotated[str, InjectedToolCallId] = ""
) -> str:
    """The depth of a port, for whom it may concern."""
    return f"{port} for {by}, {call[:5]}"


async def _awaited(port: str) -> str:
    return f"{port}, awaited"


def _by_schema(port: str) -> str:
    return f"{port}, by schema"


awaited = StructuredTool.from_function(coroutine=_awaited, name="awaited", description="Async alone.")
by_schema = StructuredTool(
    name="by_schema",
    description="Has a JSON schema.",
    args_schema={"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
    func=_by_schema,
)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (measured, "Brest is deep"), (recorded, "Brest for nobody, call_"), (awaited, "Brest, awaited"),
        (by_schema, "Brest, by schema"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)  # fmt: skip
def test_a_tool_of_any_of_their_kinds_is_used(given: LangChainTool, said: str, mode: Mode):
    model = ScriptedLLM([ToolUse(given.name, {"port": "Brest"}), "done"])
    assert mode.kickoff(crew(task("it", agent(model, tools=[given])))).raw == "done"
    assert said in model.requests[1].text


def test_what_a_tool_gives_directly_is_the_answer(mode: Mode):
    @langchain_tool(return_direct=True)
    def direct(port: str) -> str:
        """The depth of a port."""
        return f"{port} is deep"

    model = ScriptedLLM([ToolUse("direct", {"port": "Brest"})])
    assert mode.kickoff(crew(task("it", agent(model, tools=[direct])))).raw == "Brest is deep"


@tool
def depth(port: str) -> str:
    """The depth of a port."""
    return f"{port} is 12 m deep"


def test_our_tools_work_in_their_graphs(mode: Mode):
    node: Any = ToolNode([depth.to_langchain()])
    expected = AIMessage("", tool_calls=[{"name": "depth", "args": {"port": "Brest"}, "id": "1", "type": "tool_call"}])
    made: Any = StateGraph(MessagesState).add_node("tools", node).add_edge(START, "tools").add_edge("tools", END)
    found = mode.invoke(made.compile(), {"messages": [expected]})
    assert found["messages"][-1].content == "Brest is 12 m deep"


def test_our_tools_are_bound_to_their_models():
    with OpenAIServer([calls(("depth", {"port": "Brest"}))]) as server:
        asked = opened(server).bind_tools([depth.to_langchain()]).invoke("How deep?")
    assert [one["args"] for one in asked.tool_calls] == [{"port": "Brest"}]


class Tides(Flow[dict[str, Any]]):
    @start()
    def look(self) -> str:
        return f"high water in {self.state['port']}"


def _named(port: str) -> dict[str, str]:
    return {"port": port}


def _question(port: str) -> str:
    return f"When in {port}?"


def _as_inputs(given: dict[str, str]) -> dict[str, Any]:
    return {"inputs": given}


def _raw(output: Any) -> str:
    return output.raw


def _raw_of_it(state: dict[str, Any]) -> str:
    return state["it"]["raw"]


def _noon(_: list[dict[str, Any]]) -> str:
    return "noon"


def test_a_kickoff_is_a_step_of_a_chain(mode: Mode):
    worker = agent(ScriptedLLM(_noon))
    made = crew(task("it", worker, description="When in {port}?"))
    step: Any = RunnableLambda
    steps: list[Any] = [
        step(_named) | step(made.kickoff, made.akickoff) | _raw,
        step(_question) | worker.kickoff | _raw,
        step(_named) | Tides().kickoff,
        step(_named) | _as_inputs | made.compile() | _raw_of_it,
    ]
    found = [mode.run(one.invoke, one.ainvoke, "Brest") for one in steps]
    assert found == ["noon", "noon", "high water in Brest", "noon"]


def test_their_retrievers_stores_and_documents_are_knowledge(mode: Mode):
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document("High water is at noon.")])
    known = crew(
        task("it", agent(ScriptedLLM(_noon))),
        knowledge_sources=[store.as_retriever(), Document("Low water is at six.")],
    )
    assert mode.kickoff(known).raw == "noon"
    assert known.knowledge is not None
    found = known.knowledge.query("water")
    assert "High water is at noon." in [one["content"] for one in found]
