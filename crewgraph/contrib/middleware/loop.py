"""The loop of an agent with middleware: LangChain's `create_agent` around the agent's own model and tools.

The graph runs inside one recorded effect, and its steps are checkpoints of the run. Requests and tool calls within a step are
recorded on their own, as those of the built-in loop are, so that a resumed run repeats none of them.
"""

import operator
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Annotated, Any, NotRequired, cast
from uuid import UUID, uuid4

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    hook_config,
)
from langchain.agents.middleware.types import OmitFromSchema, ToolCallRequest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command
from pydantic import Field

from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.executor import UsageCallback, read_conversation
from crewgraph.compiler.agent.protocol import Action, Actions, final_text, reply_text
from crewgraph.compiler.agent.react import (
    ReActContext,
    request_reply,
    result_id,
    result_number,
    run_step_callback,
    run_tools,
    shown_outcome,
)
from crewgraph.compiler.agent.toolbox import ToolOutcome
from crewgraph.contrib.middleware.checks import has_any, has_only
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, Call
from crewgraph.core.interpreter import run_body
from crewgraph.core.journal import Journal
from crewgraph.core.messages import Hooked, Message, Reply, ToolSpec
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.last_run import AgentFinish
from crewgraph.errors import ModelError, OutputInvalid, RunError, ToolFailed
from crewgraph.llm.chat_model import ChatModel
from crewgraph.llm.conversation import openai_messages, read_messages, read_tools, text_of
from crewgraph.llm.current_call import CALL
from crewgraph.llm.fallback import FallbackModel
from crewgraph.llm.requested import RequestedModel
from crewgraph.llm.runnables import leaves
from crewgraph.llm.usage import UsageLedger, langchain_usage, read_langchain_usage
from crewgraph.schema import PlainDict, PlainMapping, is_list
from crewgraph.scoped import scoped
from crewgraph.tools.adapt import is_provider_tool, provider_tool
from crewgraph.tools.failure import RAISED, ToolFailureReason

Request = Callable[
    [Sequence[BaseMessage], tuple[ToolSpec, ...], PlainMapping, RunnableConfig], Program[tuple[Reply, str | None]]
]
"""Makes a request of messages, tools and settings; returns the reply, and the id of LangChain's message if there is one."""


class LoopModel(BaseChatModel):
    """A chat model whose requests are those of the agent: recorded, with its events, hooks, limits and retries.

    It opens no run in the trace: the underlying model does.
    """

    model_name: str
    """The name of the model at its provider."""

    request: Any = Field(repr=False)
    """Performs the requests: a `Request`."""

    specs: dict[str, Any] = Field(repr=False)
    """The specs of the agent's tools, by name."""

    @property
    def _llm_type(self) -> str:
        return "crewgraph"

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Return the model with tools."""
        settings = {"tool_choice": tool_choice, **kwargs} if tool_choice is not None else kwargs
        return cast("Runnable[Any, AIMessage]", self.bind(tools=[self._spec(tool) for tool in tools], **settings))

    def _spec(self, tool: Any) -> ToolSpec:
        if is_provider_tool(tool):
            return provider_tool(tool)
        own: ToolSpec | None = self.specs.get(tool.name) if isinstance(tool, BaseTool) else None
        if own is None or own["description"] != tool.description:
            own = read_tools([convert_to_openai_tool(tool)])[0]
        extras: PlainDict | None = getattr(tool, "extras", None)
        return {**own, "extras": extras} if extras else own

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, *, stop: list[str] | None = None, **kwargs: Any
    ) -> AIMessage:
        config = ensure_config(config)
        return self._message(drive(self._requested(input, config, stop, kwargs)))

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, *, stop: list[str] | None = None, **kwargs: Any
    ) -> AIMessage:
        config = ensure_config(config)
        return self._message(await adrive(self._requested(input, config, stop, kwargs)))

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.invoke(messages, stop=stop, **kwargs))])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        message = await self.ainvoke(messages, stop=stop, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _requested(
        self, input: Any, config: RunnableConfig, stop: list[str] | None, kwargs: dict[str, Any]
    ) -> Program[tuple[Reply, str | None]]:
        tools: list[ToolSpec] = kwargs.pop("tools", None) or []
        settings = {**kwargs, "stop": stop} if stop else kwargs
        messages = self._convert_input(input).to_messages()
        return cast("Request", self.request)(messages, tuple(tools), settings, config)

    def _message(self, answered: tuple[Reply, str | None]) -> AIMessage:
        reply, message_id = answered
        return AIMessage(
            reply["content"],
            id=message_id,
            additional_kwargs=reply["extra"],
            response_metadata={"model_name": reply.get("model", self.model_name)},
            tool_calls=[
                {
                    "id": call["id"],
                    "name": call["name"],
                    "args": args if isinstance(args := call["args"], dict) else {"arguments": args},
                    "type": "tool_call",
                }
                for call in reply["tool_calls"]
            ],
            usage_metadata=langchain_usage(reply["usage"]),
        )


_NAME = "create_agent"
_FINAL = "crewgraph_final"
"""The key of a tool message whose text is the answer."""

_WHOLE = "crewgraph_whole"
"""The key of the whole text in a tool message that shows its beginning."""

_MOST_STEPS = 10_000
"""The steps of the graph that LangGraph allows; `max_iter` ends the loop long before."""


def middleware_loop(
    context: ReActContext,
    dialogue: Dialogue,
    middleware: Sequence[Any],
    configured: Callable[[PlainMapping, object], Model | None],
) -> Body[str]:
    """Return the answer to the last message of a conversation; replies and tool results are added to it.

    Args:
        context: the agent's settings and tools.
        dialogue: the conversation.
        middleware: LangChain's middleware around the loop.
        configured: returns the agent's model, or the one that middleware has put in its place, with further keywords for its
            requests; None if it takes none.

    Raises:
        ModelError: middleware sets keywords of requests, and the model takes none.
        OutputInvalid: the loop ends without a text.
        RunError: middleware asks a person, and the run is not checkpointed.
    """
    loop = _Loop(context, middleware, configured)
    messages = dialogue.transcript.messages
    result: PlainDict = yield Call(
        function=loop.arun if loop.is_only_async else loop.run,
        afunction=loop.run if loop.is_only_sync else loop.arun,
        args=(messages,),
        name=_NAME,
        kind="agent",
        about=[messages],
    )
    for entry in result["usage"]:
        context.usage.add(entry)
    context.usage.message = result["message"]
    for tree in result.get("other_usage", ()):
        context.usage.add_tree(tree)
    if "hooked" in result:
        dialogue.apply_hooks(result["hooked"])
    for message in result["added"]:
        dialogue.add(message)
    answer: str = result["answer"]
    step = AgentFinish(thought="", output=answer, text=answer)
    yield from run_step_callback(context.report.step, context.step_callback, step, result["steps"])
    return answer


class _LoopState(AgentState[Any]):
    """The state of the graph: LangChain's, the usage, and what hooks have changed."""

    crewgraph_usage: NotRequired[Annotated[list[PlainDict], OmitFromSchema(input=True, output=False), operator.add]]
    """The usage of each step of the model."""

    crewgraph_other_usage: NotRequired[
        Annotated[list[PlainDict], OmitFromSchema(input=True, output=False), operator.add]
    ]
    """The usage of tool calls, coworkers and the middleware's own models, as `UsageLedger.to_tree` returns it."""

    crewgraph_hooked: NotRequired[Annotated[bool, OmitFromSchema(input=True, output=False)]]
    """Whether hooks have changed the conversation."""

    crewgraph_system: NotRequired[Annotated[Any, OmitFromSchema(input=True, output=False)]]
    """The content of the system prompt, if hooks have changed it; empty if they took it away."""


class _Loop:
    """One answer of an agent with middleware."""

    def __init__(
        self,
        context: ReActContext,
        middleware: Sequence[Any],
        configured: Callable[[PlainMapping, object], Model | None],
    ) -> None:
        self.context, self._middleware, self._configured = context, middleware, configured
        self._usage = UsageLedger()
        self._positions: dict[str, Callable[[], int]] = {}
        self._callback = UsageCallback(context.binding.agent.role, counts_agents_own=False)
        self.shown: BaseChatModel = _chat_model(context.model) or self.asking(None)
        """The model that middleware sees."""
        self.raised: dict[str, tuple[Exception, ToolMessage]] = {}
        """Errors of tools that middleware may handle, by the id of the call, with what the model sees otherwise."""
        self.used_by_calls: dict[str, list[PlainDict]] = {}
        """What tool calls used, by the id of the call."""
        self.system: Any = None
        """The content of the system prompt."""
        self.hooked: tuple[Sequence[BaseMessage], Hooked] | None = None
        """The last request and what hooks changed in its messages; None if nothing."""

    @property
    def is_only_async(self) -> bool:
        """Whether the middleware has hooks without a sync version."""
        return any(
            has_only(one, ("before_agent", "before_model", "after_model", "after_agent", *_WRAPPERS), asynchronous=True)
            for one in self._middleware
        )

    @property
    def is_only_sync(self) -> bool:
        """Whether the middleware wraps calls without an async version."""
        return any(has_only(one, _WRAPPERS, asynchronous=False) for one in self._middleware)

    def run(self, messages: Sequence[Message]) -> PlainDict:
        """Run the graph; return the answer, the messages on the way and the usage, as plain data."""
        graph, graph_input = self._graph(messages)
        return self._result(graph.invoke(graph_input, self._config), len(graph_input["messages"]))

    async def arun(self, messages: Sequence[Message]) -> PlainDict:
        """Async version of `run`."""
        graph, graph_input = self._graph(messages)
        return self._result(await graph.ainvoke(graph_input, self._config), len(graph_input["messages"]))

    @property
    def _calls(self) -> "_CrewgraphCalls":
        counts = any(has_any(one, "before_model") for one in self._middleware)
        return _CrewgraphCallsCountedBefore(self) if counts else _CrewgraphCalls(self)

    @property
    def _config(self) -> RunnableConfig:
        return {**self._callback.config, "run_name": _NAME, "recursion_limit": _MOST_STEPS}

    def _graph(self, messages: Sequence[Message]) -> tuple[Any, PlainDict]:
        """Return the graph and its input: the conversation, whose first message is the system prompt of the graph."""
        context, system = self.context, None
        converted = convert_to_messages(openai_messages(messages))
        if converted and converted[0].type == "system":
            system, *converted = converted
            self.system = cast(Any, system.content)
        graph: Any = create_agent(
            self.shown,
            [spec["native"] if "native" in spec else _offered(spec) for spec in context.tools.specs],
            system_prompt=cast(Any, system),
            middleware=[_CrewgraphResults(self), *self._middleware, self._calls],
        )
        return graph, {"messages": converted}

    def _result(self, state: PlainMapping, conversation_length: int) -> PlainDict:
        context = self.context
        if "__interrupt__" in state:
            raise RunError(
                f"{context.where}: its middleware asks a person, and the run is not checkpointed, so it cannot wait. Run it with "
                "a checkpointer (a crew without `checkpointer=False`, a graph with a checkpointer)."
            )
        messages: list[BaseMessage] = state["messages"]
        replies = [message for message in messages if isinstance(message, AIMessage)]
        answer = (
            final_text(Reply(content=str(replies[-1].text), tool_calls=[], usage=None, extra={})) if replies else ""
        )
        if not answer.strip():
            raise OutputInvalid(
                f"{context.where}: its loop with middleware ended without an answer. The last message is "
                f"{messages[-1]!r:.200}; middleware that ends the loop has to add an `AIMessage` with a text."
            )
        steps: list[PlainDict] = state.get("crewgraph_usage", [])
        more: PlainDict = {"other_usage": state["crewgraph_other_usage"]} if "crewgraph_other_usage" in state else {}
        if state.get("crewgraph_hooked"):
            system = state.get("crewgraph_system", self.system)
            opening = [SystemMessage(system)] if system else []
            more["hooked"] = Hooked(kept=0, then=read_conversation([*opening, *messages[:-1]]))
            conversation_length = len(messages)
        added = read_conversation(messages[conversation_length:-1]) if messages[-1] is replies[-1] else []
        return {
            "answer": answer,
            "message": [replies[-1].id, read_langchain_usage(replies[-1].usage_metadata)],
            "usage": [*steps, self.take_usage()],
            "steps": len(steps),
            "added": [message for message in added if message["role"] != "system"],
            **more,
        }

    def asking(self, model: BaseChatModel | None) -> BaseChatModel:
        """Return the model whose requests are those of the agent, to the one that middleware chose; None is its own."""
        if isinstance(model, LoopModel):
            return model
        chosen = None if model is None or model is self.shown else model
        return LoopModel(
            model_name=self.context.model.name,
            request=partial(self.request, chosen),
            specs={spec["name"]: spec for spec in self.context.tools.specs},
        )

    def take_usage(self) -> PlainDict:
        """Return the usage since the last call, by the agent's model and by those of the middleware."""
        taken, self._usage = self._usage, UsageLedger()
        others, self._callback.usage = self._callback.usage, UsageLedger()
        taken.add(others.to_plain())
        return taken.to_plain()

    def other_usage(self) -> dict[str, object] | None:
        """Return the update of the state by what hooks of the middleware used since the last call; None if nothing."""
        used = self.take_usage()
        return {"crewgraph_other_usage": [{"models": used}]} if used else None

    def request(
        self,
        chosen: object,
        sent: Sequence[BaseMessage],
        specs: tuple[ToolSpec, ...],
        settings: PlainMapping,
        config: RunnableConfig,
    ) -> Program[tuple[Reply, str | None]]:
        """Make a request of the agent's model, or of the one that middleware chose; see `Request`."""
        context, seen = self.context, _MessageId()
        stop = (*context.stop, *(settings.get("stop") or ()))
        context = replace(context, model=self._model(settings, chosen), usage=self._usage)
        body = request_reply(context, context.model, Transcript(read_conversation(sent)), specs, stop)
        reply: Reply = yield from run_body(
            body, Journal(merge_configs(config, {"callbacks": [seen]})), self._path(config)
        )
        self.hooked = (sent, reply["hooked"]) if "hooked" in reply else None
        return reply, seen.id

    def hooked_state(self, state: PlainMapping, replies: Sequence[AnyMessage]) -> PlainDict:
        """Return the update of the state by what hooks changed in the last request; empty if nothing.

        Messages that were sent and are not in the state, such as those that middleware made for this request, stay out of it.
        """
        if self.hooked is None:
            return {}
        (sent, changed), self.hooked = self.hooked, None
        messages: list[AnyMessage] = state["messages"]
        known = {message.id for message in messages}
        rest = list(zip(read_messages(openai_messages(read_conversation(sent))), sent, strict=True))[changed["kept"] :]
        replaced = {source.id for _, source in rest}
        then: list[BaseMessage] = []
        system: Any = None if changed["kept"] or not sent or sent[0].type != "system" else ""
        for message in changed["then"]:
            number = next((number for number, (plain, _) in enumerate(rest) if plain == message), None)
            if number is not None:
                source = rest[number][1]
                del rest[: number + 1]
                if source.id in known:
                    then.append(source)
                elif source.type == "system":
                    system = None
            elif message["role"] == "system" and system == "":
                system = message["content"]
            else:
                then += convert_to_messages(openai_messages([message]))
        for reply in replies:
            reply.id = reply.id or str(uuid4())  # it is written twice
        kept = [message for message in messages if message.id not in replaced]
        update: PlainDict = {
            "messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *kept, *then, *replies],
            "crewgraph_hooked": True,
        }
        if system is not None and sent[0].content == state.get("crewgraph_system", self.system):
            update["crewgraph_system"] = system
        return update

    def _model(self, settings: PlainMapping, chosen: object) -> Model:
        keywords = {name: value for name, value in settings.items() if name != "stop"}
        if not keywords and chosen is None:
            return self.context.model
        model = self._configured(keywords, chosen)
        if model is None:
            raise ModelError(
                f"{self.context.where}: middleware sets `{'`, `'.join(keywords)}` for a request, and its model "
                f"`{self.context.model.name}` takes no such settings. Use an `LLM` or a LangChain chat model."
            )
        return model

    def use(self, request: ToolCallRequest) -> Program[ToolMessage]:
        """Run a tool call; return the message with its result.

        Raises:
            Exception: what the tool raised, for middleware that handles it.
        """
        call, state = request.tool_call, cast("PlainMapping", request.state)
        messages: list[BaseMessage] = state["messages"]
        reply = next((message for message in reversed(messages) if isinstance(message, AIMessage)), AIMessage(""))
        text = reply_text(cast(Any, reply.content))
        action = Action(tool=call["name"], args=call["args"], call_id=call["id"])
        dialogue = Dialogue(partial(_fixed, read_conversation(messages)), "")
        asked = Reply(content=text, tool_calls=[], usage=None, extra={}, id=reply.id or "")
        actions, step = Actions(actions=(action,), thought=text, text=text), len(state.get("crewgraph_usage", ()))
        config, raised, usage = request.runtime.config, list[Exception](), UsageLedger()
        context = replace(self.with_long_results(messages), usage=usage)
        current = CALL.get()._replace(replaced=(self.context.usage, usage))
        with scoped(RAISED, raised), scoped(CALL, current):
            body = run_tools(context, dialogue, asked, actions, step)
            (outcome,) = yield from run_body(body, Journal(config), self._path(config))
        if used := usage.to_tree():
            self.used_by_calls.setdefault(str(call["id"]), []).append(used)
        shown = shown_outcome(context, action, outcome)
        message = _tool_message(shown, call["name"], call["id"], result_id(reply.id, call["id"]))
        if shown is not outcome:
            message.additional_kwargs[_WHOLE] = outcome["text"]
        if outcome.get("failure", {}).get("reason") == ToolFailureReason.EXCEPTION.value:
            error = raised[-1] if raised else ToolFailed(outcome["text"])
            self.raised[str(call["id"])] = error, message
            raise error
        return message

    def with_long_results(self, messages: Sequence[BaseMessage]) -> ReActContext:
        """Return the context with the results that messages hold only the beginning of, and the tool that reads them."""
        context = self.context
        wholes: list[str] = [
            message.additional_kwargs[_WHOLE] for message in messages if _WHOLE in message.additional_kwargs
        ]
        if not wholes or context.reading_tool is None:
            return replace(context, long_results={})
        texts = {result_number(text): text for text in wholes}
        return replace(context, long_results=texts, tools=context.tools.adding(context.reading_tool(texts)))

    def _path(self, config: RunnableConfig) -> str:
        """Return the prefix of a body's paths: a node may make several requests, and repeat tool calls."""
        task = str((config.get("configurable") or {}).get("checkpoint_ns", ""))
        return f"{self._positions.setdefault(task, count().__next__)()}."


_WRAPPERS = ("wrap_model_call", "wrap_tool_call")


def _chat_model(model: Model) -> BaseChatModel | None:
    """Return the LangChain model that answers first, in which all that it is wrapped in is left out; None if there is none."""
    inner = model.model if isinstance(model, RequestedModel) else model
    if isinstance(inner, FallbackModel):
        return _chat_model(inner.models[0])
    found = leaves(inner.source)[0].model if isinstance(inner, ChatModel) else None
    return found if isinstance(found, BaseChatModel) else None


def _offered(spec: ToolSpec) -> StructuredTool:
    """Return a tool in the graph's form; `_CrewgraphCalls` performs its calls."""
    return StructuredTool(
        name=spec["name"],
        description=spec["description"],
        args_schema=spec["parameters"],
        func=_never_called,
        coroutine=_never_called,
    )


def _never_called(**_args: object) -> Any:
    raise RunError("the tool was called without the middleware that performs its calls")


def _fixed(messages: Sequence[Message], _context: str, _summary: str) -> Sequence[Message]:
    return messages


def _tool_message(outcome: ToolOutcome, name: str, call_id: str | None, message_id: str | None) -> ToolMessage:
    return ToolMessage(
        outcome["text"],
        id=message_id,
        tool_call_id=call_id or "",
        name=name,
        status="error" if outcome["failed"] else "success",
        additional_kwargs={
            **({_FINAL: True} if outcome["final"] else {}),
            **({"from_cache": True} if outcome.get("from_cache") else {}),
        },
        artifact=outcome.get("shown"),
    )


class _MessageId(BaseCallbackHandler):
    """Notes the id under which a model's answer was streamed, so that streams do not show it twice."""

    run_inline = True
    id: str | None = None

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        """Called with a model's answer."""
        first = next((generations[0] for generations in response.generations if generations), None)
        self.id = getattr(getattr(first, "message", None), "id", None)


_Requests = Generator[ModelRequest[Any], ModelResponse[Any], ModelResponse[Any]]


class _CrewgraphCalls(AgentMiddleware[Any, Any]):
    """The innermost middleware, next to the model and the tools."""

    def __init__(self, loop: _Loop) -> None:
        self._loop = loop

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        requests = self._requests(request)
        response: Any = None
        try:
            while True:
                response = handler(requests.send(response))
        except StopIteration as stop:
            return stop.value

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        requests = self._requests(request)
        response: Any = None
        try:
            while True:
                response = await handler(requests.send(response))
        except StopIteration as stop:
            return stop.value

    def _requests(self, request: ModelRequest[Any]) -> _Requests:
        """Make a request; after `max_iter` of them, demand the answer."""
        context, state = self._loop.context, cast("PlainMapping", request.state)
        request = request.override(messages=_with_media(request.messages), model=self._loop.asking(request.model))
        if request.tools and (reader := self._loop.with_long_results(state["messages"]).specs[len(context.specs) :]):
            request = request.override(tools=[*request.tools, *map(_offered, reader)])
        system = request.system_message
        if "crewgraph_system" in state and system is not None and cast(Any, system.content) == self._loop.system:
            changed = state["crewgraph_system"]
            request = request.override(system_message=SystemMessage(changed) if changed else None)
        if len(state.get("crewgraph_usage", ())) < context.max_iter:
            return (yield request)
        demand = HumanMessage(context.book.error("force_final_answer"))
        request = request.override(messages=[*request.messages, demand])
        # Some providers reject tool calls in a request without tools, so tools are offered; if the model calls one, they are not.
        response = yield request
        if not response.result[-1].text and request.tools:
            response = yield request.override(tools=[])
        reply = response.result[-1]
        return ModelResponse(
            result=[
                AIMessage(
                    reply.content,
                    id=reply.id,
                    usage_metadata=reply.usage_metadata if isinstance(reply, AIMessage) else None,
                )
            ]
        )

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        return drive(self._loop.use(request)) if self._is_own(request) else handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        return await (adrive(self._loop.use(request)) if self._is_own(request) else handler(request))

    def _is_own(self, request: ToolCallRequest) -> bool:
        """Whether a call is for the agent's tools or an unknown tool, rather than for a tool of the middleware."""
        return request.tool is None or self._loop.context.tools.find(request.tool.name) is not None


def _with_media(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with what tools have shown, in a message behind their results, which hold text only."""
    shown: list[Any] = []
    result: list[AnyMessage] = []
    for message in messages:
        if shown and not isinstance(message, ToolMessage):
            result.append(HumanMessage(shown))
            shown = []
        result.append(message)
        if isinstance(message, ToolMessage) and is_list(message.artifact):
            shown += message.artifact
    return [*result, HumanMessage(shown)] if shown else result


class _CrewgraphCallsCountedBefore(_CrewgraphCalls):
    """The same behind hooks that may ask models: what these used is stored before the agent's model is asked."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, object] | None:
        return self._loop.other_usage()

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, object] | None:
        return self._loop.other_usage()


class _CrewgraphResults(AgentMiddleware[Any, Any]):
    """The outermost middleware: usage, tools that end the loop, and unhandled errors."""

    state_schema = _LoopState

    def __init__(self, loop: _Loop) -> None:
        self._loop = loop

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        return self._with_usage(request, handler(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ExtendedModelResponse[Any]:
        return self._with_usage(request, await handler(request))

    def _with_usage(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
        """Add the usage and what hooks changed to the update of the step, so that it is stored with the reply."""
        changed = self._loop.hooked_state(cast("PlainMapping", request.state), cast(Any, response.result))
        update = {"crewgraph_usage": [self._loop.take_usage()], **changed}
        return ExtendedModelResponse(response, Command(update=update))

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: Any, runtime: Any) -> dict[str, object] | None:
        for message in reversed(state["messages"]):
            if not isinstance(message, ToolMessage):
                break
            if message.additional_kwargs.get(_FINAL):
                return {"messages": [AIMessage(text_of(cast(Any, message.content)))], "jump_to": "end"}
        return self._loop.other_usage()

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, object] | None:
        return self.before_model(state, runtime)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        try:
            result = handler(request)
        except Exception as error:  # noqa: BLE001 - shown to the model, or raised again
            result = self._shown(request, error)
        return self._with_used_by(request, result)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        try:
            result = await handler(request)
        except Exception as error:  # noqa: BLE001 - shown to the model, or raised again
            result = self._shown(request, error)
        return self._with_used_by(request, result)

    def _with_used_by(self, request: ToolCallRequest, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        """Add what a call and the coworkers that it asked used to the update of the step."""
        used = self._loop.used_by_calls.pop(str(request.tool_call["id"]), None)
        if not used:
            return result
        if isinstance(result, ToolMessage):
            return Command(update={"messages": [result], "crewgraph_other_usage": used})
        update: Any = result.update or {}
        more = {"crewgraph_other_usage": used}
        return replace(result, update={**update, **more} if isinstance(update, dict) else [*update, *more.items()])

    def _shown(self, request: ToolCallRequest, error: Exception) -> ToolMessage:
        """Return what the model sees of an error of a tool; raise any other."""
        raised, message = self._loop.raised.pop(str(request.tool_call["id"]), (None, None))
        if message is None or raised is not error:
            raise error
        return message
