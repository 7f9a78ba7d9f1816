"""A LangGraph graph of a model and the tools it calls, for agents that ask for one."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

from crewgraph.compiler.agent.toolbox import PreparedCall, Toolbox, ToolOutcome
from crewgraph.core.effects import ToolCall
from crewgraph.core.messages import Message, Reply
from crewgraph.core.protocols import Model
from crewgraph.errors import CompileError
from crewgraph.llm.conversation import read_messages
from crewgraph.prompts.book import Book

__all__ = ["react_graph"]


_FINAL = "final"


def react_graph(model: Model, tools: Toolbox, most: int, book: Book, where: str) -> Any:
    """The compiled graph: its state holds `messages`, the last one is the answer.

    Args:
        model: who is asked.
        tools: what it may call.
        most: after this many requests it must answer.
        book: the wording.
        where: whose it is, for messages.

    Raises:
        CompileError: there are tools, and the model has no tool calls of its own.
    """
    if tools and not model.native_tools:
        raise CompileError(
            f"{where}: its model `{model.name}` has no tool calls of its own, which LangGraph's graph of model and tools needs. "
            "Give it another one, or use an `Agent`, which calls tools by a text protocol, too."
        )
    steps = _Steps(model, tools, most, book)
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
    graph.add_node("model", _Node("model", steps.ask, steps.aask))
    graph.add_node("tools", _Node("tools", steps.use, steps.ause))
    graph.add_node("answer", steps.answer)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", _calls, ["tools", END])
    graph.add_conditional_edges("tools", _after, ["answer", "model"])
    graph.add_edge("answer", END)
    return graph.compile(name="LangGraph agent")


class _Steps:
    """The work of the nodes."""

    def __init__(self, model: Model, tools: Toolbox, most: int, book: Book) -> None:
        self._model, self._tools, self._most, self._book = model, tools, most, book

    def ask(self, state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        """Ask the model."""
        last, messages = self._asked(state["messages"])
        return _said(self._model.complete(_plain(messages), self._tools.specs, (), config), last, messages)

    async def aask(self, state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        """Ask the model."""
        last, messages = self._asked(state["messages"])
        return _said(await self._model.acomplete(_plain(messages), self._tools.specs, (), config), last, messages)

    def use(self, call: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        """Use a tool as the model asked."""
        wanted = self._wanted(call)
        return _done(call, wanted.perform(config) if isinstance(wanted, ToolCall) else wanted)

    async def ause(self, call: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        """Use a tool as the model asked."""
        wanted = self._wanted(call)
        return _done(call, await wanted.aperform(config) if isinstance(wanted, ToolCall) else wanted)

    def _wanted(self, call: dict[str, Any]) -> ToolCall | ToolOutcome:
        wanted = self._tools.prepare_call(call["name"], call["args"])
        if not isinstance(wanted, PreparedCall):
            return wanted
        assert isinstance(wanted.effect, ToolCall)  # its tools are no bodies
        return wanted.effect

    def answer(self, state: MessagesState) -> dict[str, Any]:
        """A tool's result is the answer."""
        final = next(message for message in reversed(state["messages"]) if _is_final(message))
        return {"messages": [AIMessage(final.content)]}

    def _asked(self, messages: Sequence[AnyMessage]) -> tuple[bool, list[BaseMessage]]:
        """What the model is sent, and whether it is to answer now."""
        asked = sum(isinstance(message, AIMessage) for message in messages) - _answers_before(messages)
        if asked < self._most:
            return False, list(messages)
        return True, [*messages, HumanMessage(self._book.error("force_final_answer"))]


class _Node(Runnable[Any, Any]):
    """A node with two faces; see `BodyNode` for why it is a Runnable."""

    def __init__(self, name: str, ask: Callable[..., Any], aask: Callable[..., Awaitable[Any]]) -> None:
        self.name = name
        self._ask, self._aask = ask, aask

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self._ask(input, ensure_config(config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await self._aask(input, ensure_config(config))


def _answers_before(messages: Sequence[BaseMessage]) -> int:
    """How many of the model's messages came with the question."""
    asked = max((n for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
    return sum(isinstance(message, AIMessage) for message in messages[:asked])


def _plain(messages: Sequence[BaseMessage]) -> list[Message]:
    read = read_messages(messages)
    for message, source in zip(read, messages, strict=True):
        if message["role"] == "assistant" and source.additional_kwargs:
            message["extra"] = dict(source.additional_kwargs)
    return read


def _said(reply: Reply, last: bool, sent: Sequence[BaseMessage]) -> dict[str, Any]:
    calls = [] if last else reply["tool_calls"]
    usage = reply["usage"]
    said = AIMessage(
        reply["content"],
        additional_kwargs=reply["extra"],
        tool_calls=[
            {"id": call["id"], "name": call["name"], "args": _args(call["args"]), "type": "tool_call"} for call in calls
        ],
        usage_metadata=usage
        and {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
            "total_tokens": usage["total_tokens"],
        },
    )
    return {"messages": [*sent[-1:], said] if last else [said]}


def _args(written: dict[str, Any] | str) -> dict[str, Any]:
    return written if isinstance(written, dict) else {"arguments": written}


def _done(call: dict[str, Any], outcome: ToolOutcome) -> dict[str, Any]:
    told = ToolMessage(
        outcome["text"],
        tool_call_id=call["id"],
        name=call["name"],
        status="error" if outcome["failed"] else "success",
        additional_kwargs={_FINAL: True} if outcome["final"] else {},
    )
    return {"messages": [told]}


def _calls(state: MessagesState) -> list[Send] | str:
    said = state["messages"][-1]
    calls = said.tool_calls if isinstance(said, AIMessage) else []
    return [Send("tools", dict(call)) for call in calls] or END


def _after(state: MessagesState) -> str:
    asked = max(n for n, message in enumerate(state["messages"]) if isinstance(message, AIMessage))
    return "answer" if any(_is_final(message) for message in state["messages"][asked:]) else "model"


def _is_final(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) and bool(message.additional_kwargs.get(_FINAL))
