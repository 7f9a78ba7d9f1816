"""LangChain tools of agents get what LangGraph injects: the agent's state, the graph's store, and a `ToolRuntime`."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import InjectedToolCallId
from langchain_core.tools import tool as langchain_tool
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from modes import Mode

from crewgraph import Crew, ScriptedLLM, ToolUse
from crewgraph.tools.injected import InjectionFailed

from .parts import agent, crew, task

SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_seen():
    SEEN.clear()


@langchain_tool
def whole(word: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Look at the state."""
    SEEN.append(state)
    return f"{word} {len(state['messages'])}"


@langchain_tool
def now(word: str, runtime: ToolRuntime[Any, Any], call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Look at the runtime."""
    runtime.stream_writer({"word": word})
    SEEN.append((runtime, call_id))
    return word


@langchain_tool
def recall(key: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Look a note up."""
    item = store.get(("notes",), key)
    return "nothing" if item is None else str(item.value["text"])


def crew_with(tool: Any, args: dict[str, Any], *, native: bool = True) -> Crew:
    model = ScriptedLLM([ToolUse(tool.name, args), "Final Answer: done"] * 2, native_tools=native)
    work = task("work", agent(model, tools=[tool]), description="Read about {topic}")
    return crew(work)


@pytest.mark.parametrize("native", [True, False])
def test_a_tool_reads_the_conversation_and_the_inputs(mode: Mode, native: bool):
    made = crew_with(whole, {"word": "tide"}, native=native)
    mode.kickoff(made, {"topic": "the sea"})
    (state,) = SEEN
    assert (state["topic"], state["inputs"]) == ("the sea", {"topic": "the sea"})
    assert [message.type for message in state["messages"]] == ["system", "human", "ai"]
    assert "Read about the sea" in state["messages"][-2].content
    assert state["messages"][-1].tool_calls[0]["args"] == {"word": "tide"}


def test_injected_parameters_are_not_shown_to_the_model():
    made = crew_with(now, {"word": "tide"})
    made.kickoff({"topic": "x"})
    model: Any = made.agents[0].llm
    assert [list(spec["function"]["parameters"]["properties"]) for spec in model.requests[0].tools] == [["word"]]


@dataclass
class User:
    name: str


def test_a_tool_gets_context_store_and_writer_of_the_graph_around_it(mode: Mode):
    store = InMemoryStore()
    graph = crew_with(now, {"word": "tide"}).compile(store=store, context_schema=User)
    streamed = mode.stream(graph, {"topic": "x"}, stream_mode="custom", context=User("Ines"))
    runtime, call_id = SEEN[0]
    assert (runtime.context, runtime.store, runtime.tool_call_id) == (User("Ines"), store, call_id)
    assert {"word": "tide"} in streamed
    assert not [name for name in runtime.config["configurable"] if "crewgraph" in name]
    assert isinstance(runtime.state["messages"], list) and not isinstance(runtime.state["messages"][0], AIMessage)


def test_a_tool_gets_the_store_of_the_graph(mode: Mode):
    store = InMemoryStore()
    store.put(("notes",), "ines", {"text": "harbour master"})
    made = crew_with(recall, {"key": "ines"})
    model: Any = made.agents[0].llm
    mode.invoke(made.compile(store=store), {"topic": "x"})
    assert "harbour master" in str(model.requests[-1].messages)


def test_a_missing_store_ends_the_task_and_names_the_remedy(mode: Mode):
    with pytest.raises(InjectionFailed, match=r"`recall` asks for the graph's store.*crew.compile\(store=...\)"):
        mode.kickoff(crew_with(recall, {"key": "ines"}), {"topic": "x"})


def test_a_missing_part_of_the_state_ends_the_task_and_names_what_there_is(mode: Mode):
    @langchain_tool
    def other(user: Annotated[str, InjectedState("user")]) -> str:
        """Look."""
        return user

    with pytest.raises(InjectionFailed, match="asks for `user` of the state, which has `topic`, `inputs`, `messages`"):
        mode.kickoff(crew_with(other, {}), {"topic": "x"})


def test_results_of_a_tool_that_reads_the_state_are_not_cached(mode: Mode):
    model = ScriptedLLM([ToolUse("whole", {"word": "a"}), ToolUse("whole", {"word": "a"}), "Final Answer: done"])
    work = task("work", agent(model, tools=[whole]), description="Read about {topic}")
    mode.kickoff(crew(work), {"topic": "x"})
    assert [len(state["messages"]) for state in SEEN] == [3, 5]
