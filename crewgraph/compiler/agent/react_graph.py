"""A LangGraph graph of a model and its tools, for agents that use `LangGraphAgentAdapter`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

from crewgraph.compiler.agent.toolbox import PreparedCall, Toolbox, ToolOutcome, refuse_commands
from crewgraph.core.effects import ToolCallEffect
from crewgraph.core.messages import Message, Reply
from crewgraph.core.protocols import Model
from crewgraph.errors import CompileError
from crewgraph.llm.conversation import read_messages
from crewgraph.llm.usage import langchain_usage
from crewgraph.prompts.book import Book
from crewgraph.schema import PlainDict

_FINAL = "final"


def react_graph(model: Model, tools: Toolbox, max_requests: int, book: Book, where: str) -> object:
    """Compile the graph: its state holds `messages`, the last one is the answer.

    Args:
        model: the model.
        tools: its tools.
        max_requests: after this many requests the model must answer.
        book: the prompts.
        where: whose graph it is, for messages.

    Raises:
        CompileError: there are tools, but the model has no native tool calls.
    """
    if tools and not model.native_tools:
        raise CompileError(
            f"{where}: its model `{model.name}` has no native tool calls, which the LangGraph graph of model and tools needs. "
            "Use another model, or an `Agent`, which can also call tools by a text protocol."
        )
    steps = _Steps(model, tools, max_requests, book)
    graph = StateGraph(MessagesState)
    graph.add_node("model", _Node("model", steps.ask, steps.aask))
    graph.add_node("tools", _Node("tools", steps.use, steps.ause))
    graph.add_node("answer", steps.answer)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", _after_model, ["tools", END])
    graph.add_conditional_edges("tools", _after_tools, ["answer", "model"])
    graph.add_edge("answer", END)
    return graph.compile(name="LangGraph agent")


class _Steps:
    """The functions of the nodes."""

    def __init__(self, model: Model, tools: Toolbox, max_requests: int, book: Book) -> None:
        self._model, self._tools, self._max_requests, self._book = model, tools, max_requests, book

    def ask(self, state: MessagesState, config: RunnableConfig) -> dict[str, object]:
        """Request a reply."""
        is_last, messages = self._next_request(state["messages"])
        return _model_update(
            self._model.complete(read_conversation(messages), self._tools.specs, (), config), is_last, messages
        )

    async def aask(self, state: MessagesState, config: RunnableConfig) -> dict[str, object]:
        """Async version of `ask`."""
        is_last, messages = self._next_request(state["messages"])
        return _model_update(
            await self._model.acomplete(read_conversation(messages), self._tools.specs, (), config), is_last, messages
        )

    def use(self, call: PlainDict, config: RunnableConfig) -> PlainDict:
        """Run a requested tool call."""
        prepared = self._prepare(call)
        return _tool_update(call, prepared.perform(config) if isinstance(prepared, ToolCallEffect) else prepared)

    async def ause(self, call: dict[str, object], config: RunnableConfig) -> dict[str, object]:
        """Async version of `use`."""
        prepared = self._prepare(call)
        return _tool_update(call, await prepared.aperform(config) if isinstance(prepared, ToolCallEffect) else prepared)

    def _prepare(self, call: PlainDict) -> ToolCallEffect | ToolOutcome:
        prepared = self._tools.prepare_call(call["name"], call["args"])
        if not isinstance(prepared, PreparedCall):
            return prepared
        assert isinstance(prepared.effect, ToolCallEffect)  # none of its tools runs a body
        return prepared.effect

    def answer(self, state: MessagesState) -> PlainDict:
        """Return a tool's result as the answer."""
        final = next(message for message in reversed(state["messages"]) if _is_final(message))
        return {"messages": [AIMessage(final.content)]}

    def _next_request(self, messages: Sequence[AnyMessage]) -> tuple[bool, list[BaseMessage]]:
        """Return whether the model must answer now, and the messages to send."""
        requests = sum(isinstance(message, AIMessage) for message in messages) - _answers_before(messages)
        if requests < self._max_requests:
            return False, list(messages)
        return True, [*messages, HumanMessage(self._book.error("force_final_answer"))]


class _Node(Runnable[Any, Any]):
    """A node with a sync and an async function; see `BodyNode` for why it is a Runnable."""

    def __init__(self, name: str, ask: Callable[..., object], aask: Callable[..., Awaitable[object]]) -> None:
        self.name = name
        self._ask, self._aask = ask, aask

    def invoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return self._ask(input, ensure_config(config))

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> Any:
        return await self._aask(input, ensure_config(config))


def _answers_before(messages: Sequence[BaseMessage]) -> int:
    """Return how many of the model's messages were part of the input."""
    question = max((n for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0)
    return sum(isinstance(message, AIMessage) for message in messages[:question])


def read_conversation(messages: Sequence[BaseMessage]) -> list[Message]:
    """Return LangChain messages as plain data, with the provider data to send back."""
    converted = read_messages(messages)
    for message, source in zip(converted, messages, strict=True):
        if message["role"] == "assistant" and source.additional_kwargs:
            message["extra"] = dict(source.additional_kwargs)
    return converted


def _model_update(reply: Reply, is_last: bool, sent: Sequence[BaseMessage]) -> dict[str, object]:
    calls = [] if is_last else reply["tool_calls"]
    message = AIMessage(
        reply["content"],
        additional_kwargs=reply["extra"],
        tool_calls=[
            {"id": call["id"], "name": call["name"], "args": as_arguments(call["args"]), "type": "tool_call"}
            for call in calls
        ],
        usage_metadata=langchain_usage(reply["usage"]),
    )
    return {"messages": [*sent[-1:], message] if is_last else [message]}


def as_arguments(args: PlainDict | str) -> PlainDict:
    """Return the arguments of a call in LangChain's form, also those that were no JSON."""
    return args if isinstance(args, dict) else {"arguments": args}


def _tool_update(call: dict[str, object], outcome: ToolOutcome) -> dict[str, object]:
    refuse_commands([outcome])
    message = ToolMessage(
        outcome["text"],
        tool_call_id=call["id"],
        name=call["name"],
        status="error" if outcome["failed"] else "success",
        additional_kwargs={_FINAL: True} if outcome["final"] else {},
    )
    return {"messages": [message]}


def _after_model(state: MessagesState) -> list[Send] | str:
    message = state["messages"][-1]
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return [Send("tools", dict(call)) for call in calls] or END


def _after_tools(state: MessagesState) -> str:
    last_reply = max(n for n, message in enumerate(state["messages"]) if isinstance(message, AIMessage))
    return "answer" if any(_is_final(message) for message in state["messages"][last_reply:]) else "model"


def _is_final(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) and bool(message.additional_kwargs.get(_FINAL))
