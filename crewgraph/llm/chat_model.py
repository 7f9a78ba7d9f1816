"""The adapter to LangChain chat models: a `crewgraph.core.protocols.Model` around one.

Models that may be asked from several event loops.

Answers that come in pieces: who sees the pieces, and that their tokens are still counted.
"""

import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from crewgraph.core.files import aexpanded, expanded
from crewgraph.core.loops.transport import LoopTransport
from crewgraph.core.messages import Message, Reply, ToolRequest, ToolSpec, Usage
from crewgraph.errors import ModelError
from crewgraph.extras import load
from crewgraph.llm.call_model import as_plain_data, cut_at, read_answer
from crewgraph.llm.capabilities import supports_stop_words
from crewgraph.llm.conversation import openai_tool, text_of
from crewgraph.llm.errors import ProviderErrors
from crewgraph.llm.usage import read_usage

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["ChatModel", "across_event_loops", "with_streamed_usage"]


def across_event_loops(model: Any) -> Any:
    """A LangChain model that may be asked from several event loops, one after the other or at once.

    Only models that are asked through the openai package are helped, and not those with an HTTP client
    of their own. The given model is not changed.
    """
    module = sys.modules.get("langchain_openai.chat_models.base")  # without it, it cannot be one
    if module is None or not isinstance(model, module.BaseChatOpenAI):
        return model
    ours: Any = model
    if ours.http_async_client is not None or ours.root_async_client is None:
        return ours
    make_client = load("openai").DefaultAsyncHttpxClient
    client = ours.root_async_client.with_options(http_client=make_client(transport=LoopTransport(make_client)))
    return ours.model_copy(update={"root_async_client": client, "async_client": client.chat.completions})


def with_streamed_usage(model: Any) -> Any:
    """A LangChain model that reports its usage, too, where its answer is streamed because somebody looks at the run.

    langchain-openai leaves the report out for servers other than OpenAI's. Who switches streaming or its report on or off
    keeps what they chose. The given model is not changed.
    """
    module = sys.modules.get("langchain_openai.chat_models.base")  # without it, it cannot be one
    if module is None or not isinstance(model, module.BaseChatOpenAI):
        return model
    ours: Any = model
    if ours.stream_usage is not None or ours.streaming:
        return ours
    return ours.model_copy(update={"stream_usage": True})


_PROBE: ToolSpec = {
    "name": "probe",
    "description": "probe",
    "parameters": {"type": "object", "properties": {}},
}
_CACHED_BINDINGS = 64
_RETRIES = 2
_CACHED_MESSAGES = 512
_HANDLED_KEYS = {"tool_calls", "function_call", "parsed", "refusal"}
_EXCLUDED_PARAMETERS = (  # words in the names of parameters that change no answer, or that nobody else is to read
    *("key", "token", "secret", "password", "url", "base", "endpoint", "header", "credential", "client"),
    *("model_name", "stream", "retries", "timeout", "callback"),
)


class ChatModel:
    """A LangChain chat model, or a Runnable that ends in one, as a model of ours."""

    source: Any
    """The Runnable that is asked."""

    def __init__(
        self,
        source: Any,
        *,
        native_tools: bool | None = None,
        stop: Sequence[str] = (),
        response_format: type[BaseModel] | Mapping[str, Any] | None = None,
        on_answer: Callable[[Any, Usage | None], None] | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Wrap a model.

        Args:
            source: the chat model, bare or behind `bind`, `with_retry`, `with_fallbacks` or a sequence that
                ends in it.
            native_tools: whether tools are offered to it; None asks the model.
            stop: stop words of every request.
            response_format: the form of answers, where no tools are offered.
            on_answer: told of every answered request: LangChain's message, and what it used.
            parameters: what it was made with, where the model's class does not tell all of it.
        """
        self.source = source
        self._offers_tools = native_tools
        self._response_format = response_format
        self._on_answer = on_answer
        self._extra_parameters = parameters or {}
        self._base, kwargs = _base_of(source)
        self._stop = list(dict.fromkeys([*stop, *(kwargs.get("stop") or _own_stop(self._base))]))
        self._names = [_name_of(one) for one in _models_of(source)]
        self._takes_stop = supports_stop_words(self.name) and getattr(self._base, "use_responses_api", None) is not True
        self._bindings: dict[tuple[str, bool], Any] = {}
        self._identity: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The model's name as its provider knows it."""
        return _name_of(self._base)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Class, name and parameters; neither keys nor addresses, which change no answer."""
        if self._identity is None:
            self._identity = self._build_identity()
        return self._identity

    def _build_identity(self) -> Mapping[str, Any]:
        parameters = {**self._extra_parameters, **_parameters(self._base), **_base_of(self.source)[1]}
        told = {key: as_plain_data(value) for key, value in parameters.items() if not _is_excluded(key)}
        told = {key: value for key, value in told.items() if value not in (None, [], {})}
        if self._stop:
            told["stop"] = self._stop
        if self._response_format is not None:
            told["response_format"] = _response_schema(self._response_format)
        return {**told, "class": type(self._base).__name__, "model": self.name}

    @property
    def native_tools(self) -> bool:
        """Whether tool calls are a part of the model's protocol."""
        if self._offers_tools is None:
            self._offers_tools = _binds_tools(self.source, self._base)
        return self._offers_tools

    @property
    def retries(self) -> int:
        """How often its client makes a failed request again; what it does by default where it does not say."""
        found = getattr(self._base, "max_retries", None)
        return found if isinstance(found, int) else _RETRIES

    def with_response_format(self, response_format: type[BaseModel] | Mapping[str, Any] | None) -> "ChatModel":
        """The same model with answers of another form."""
        return ChatModel(
            self.source,
            native_tools=self._offers_tools,
            stop=self._stop,
            response_format=response_format,
            on_answer=self._on_answer,
            parameters=self._extra_parameters,
        )

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation."""
        asked = self._runnable_for(tools)
        with ProviderErrors(self.name):
            answer = asked.invoke(
                _message_cache.convert(expanded(messages)), self._run_config(config), **self._stop_keywords(stop)
            )
        return self._reply(answer, stop, forms=not tools)

    async def acomplete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation."""
        asked = self._runnable_for(tools, across_loops=True)
        with ProviderErrors(self.name):
            answer = await asked.ainvoke(
                _message_cache.convert(await aexpanded(messages)), self._run_config(config), **self._stop_keywords(stop)
            )
        return self._reply(answer, stop, forms=not tools)

    def _run_config(self, config: "RunnableConfig") -> "RunnableConfig":
        named: RunnableConfig = {**config, "run_name": self.name}  # in the trace the model, not its class
        return named

    def _runnable_for(self, tools: Sequence[ToolSpec], *, across_loops: bool = False) -> Any:
        key = (json.dumps(tools, sort_keys=True, default=str) if tools else "", across_loops)
        if key not in self._bindings:
            if len(self._bindings) >= _CACHED_BINDINGS:
                self._bindings.clear()
            source = _map_model(self.source, with_streamed_usage)
            source = _map_model(source, across_event_loops) if across_loops else source
            self._bindings[key] = self._bind(source, tools)
        return self._bindings[key]

    def _bind(self, source: Any, tools: Sequence[ToolSpec]) -> Any:
        if tools:
            return _map_model(source, _tool_binder(tools))
        if self._response_format is None:
            return source
        if isinstance(self._response_format, Mapping):
            return source.bind(response_format=dict(self._response_format))
        form = self._response_format.model_json_schema()
        return _without_parser(source.with_structured_output(form, include_raw=True))

    def _stop_keywords(self, stop: Sequence[str]) -> dict[str, Any]:
        words = list(dict.fromkeys([*self._stop, *stop]))
        return {"stop": words} if stop and self._takes_stop else {}

    def _reply(self, answer: Any, stop: Sequence[str], *, forms: bool) -> Reply:
        raw: Any = cast("dict[str, Any]", answer).get("raw") if isinstance(answer, dict) else None
        message = cast("Any", answer) if raw is None else raw
        reply = _read_message(message)
        if len(self._names) > 1 and (by := _answering_model(message, self._names)) != self.name:
            reply["model"] = by
        if forms and isinstance(self._response_format, type):
            reply = _structured_reply(reply)
        if self._on_answer is not None:
            self._on_answer(message, reply["usage"])
        if self._takes_stop:
            return reply
        return {**reply, "content": cut_at(reply["content"], [*self._stop, *stop])}


def _base_of(source: Any) -> tuple[Any, dict[str, Any]]:
    """The model at the end of a Runnable, and the keywords that are bound on the way."""
    runnables = load("langchain_core.runnables")
    bound: dict[str, Any] = {}
    while True:
        if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
            bound = {**source.kwargs, **bound}
            source = source.bound
        elif isinstance(source, runnables.RunnableWithFallbacks):
            source = source.runnable
        elif isinstance(source, runnables.RunnableSequence):
            source = source.last
        elif isinstance(source, load("langchain_core.runnables.configurable").DynamicRunnable):
            source = source.default
        else:
            return source, bound


def _models_of(source: Any) -> list[Any]:
    """The models that may answer, the first one first."""
    runnables = load("langchain_core.runnables")
    if isinstance(source, runnables.RunnableWithFallbacks):
        return [model for one in (source.runnable, *source.fallbacks) for model in _models_of(one)]
    if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
        return _models_of(source.bound)
    return _models_of(source.last) if isinstance(source, runnables.RunnableSequence) else [source]


def _name_of(model: Any) -> str:
    for attribute in ("model_name", "model", "model_id", "deployment_name", "azure_deployment"):
        if isinstance(found := getattr(model, attribute, None), str) and found:
            return found
    return str(getattr(model, "_llm_type", None) or type(model).__name__)


def _answering_model(answer: Any, names: Sequence[str]) -> str:
    """Which of several models an answer says it is of; providers add a date to the name."""
    told: Mapping[str, Any] = getattr(answer, "response_metadata", None) or {}
    found = str(told.get("model_name") or told.get("model") or names[0])
    return max((name for name in names if found.startswith(name)), key=len, default=found)


def _own_stop(base: Any) -> list[str]:
    found: object = getattr(base, "stop", None) or getattr(base, "stop_sequences", None)
    if isinstance(found, str):
        return [found]
    return [str(word) for word in cast("list[object]", found)] if isinstance(found, (list, tuple)) else []


def _parameters(base: Any) -> Mapping[str, Any]:
    found = getattr(base, "_identifying_params", None)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _is_excluded(parameter: str) -> bool:
    return parameter.startswith("_") or (
        "tokens" not in parameter and any(word in parameter.lower() for word in _EXCLUDED_PARAMETERS)
    )


def _response_schema(form: type[BaseModel] | Mapping[str, Any]) -> Any:
    return as_plain_data(form) if isinstance(form, Mapping) else form.model_json_schema()


def _bind_tools(owner: Any) -> Any:
    return getattr(owner, "bind_tools", None)


def _without_parser(forming: Any) -> Any:
    """The model in a chain that gives its answer beside the reading of it, which is done here."""
    steps: Any = getattr(getattr(forming, "first", None), "steps__", None) or {}
    return steps.get("raw", forming)


def _binds_tools(source: Any, base: Any) -> bool:
    chat = load("langchain_core.language_models").BaseChatModel
    if isinstance(base, chat) and _bind_tools(type(base)) is chat.bind_tools:
        return False
    if not hasattr(base, "bind_tools"):
        return False
    try:
        _map_model(source, _tool_binder([_PROBE]))
    except NotImplementedError:
        return False
    return True


def _tool_binder(tools: Sequence[ToolSpec]) -> Callable[[Any], Any]:
    listed = [openai_tool(tool) for tool in tools]
    return lambda model: model.bind_tools(listed)


def _map_model(source: Any, change: Callable[[Any], Any]) -> Any:
    """A Runnable whose model at the end, fallbacks included, is changed; what stands in front of it stays."""
    runnables = load("langchain_core.runnables")
    if isinstance(source, runnables.RunnableWithFallbacks):
        others = [_map_model(fallback, change) for fallback in source.fallbacks]
        return source.model_copy(update={"runnable": _map_model(source.runnable, change), "fallbacks": others})
    if isinstance(source, runnables.RunnableSequence):
        return runnables.RunnableSequence(*source.steps[:-1], _map_model(source.last, change), name=source.name)
    if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
        return source.model_copy(update={"bound": _map_model(source.bound, change)})
    return change(source)


class _MessageCache:
    """LangChain's forms of the messages of the latest conversations: a loop asks with the same ones again and again."""

    def __init__(self) -> None:
        self._lock = Lock()
        # The message itself is kept, so that no other one gets its id.
        self._known: OrderedDict[int, tuple[Message, Any, Any]] = OrderedDict()

    def convert(self, messages: Sequence[Message]) -> list[Any]:
        kinds = load("langchain_core.messages")
        return [self._convert(kinds, message) for message in messages]

    def _convert(self, kinds: Any, message: Message) -> Any:
        known = self._known.get(id(message))
        if known is None or known[0] is not message or known[1] is not message["content"]:
            known = message, message["content"], _langchain_message(kinds, message)
            with self._lock:
                self._known[id(message)] = known
                if len(self._known) > _CACHED_MESSAGES:
                    self._known.popitem(last=False)
        return known[2]


_message_cache = _MessageCache()


def _langchain_message(kinds: Any, message: Message) -> Any:
    content = message["content"]
    match message["role"]:
        case "system":
            return kinds.SystemMessage(content)
        case "user":
            return kinds.HumanMessage(content)
        case "assistant":
            calls = [_langchain_call(request) for request in message.get("tool_calls", ())]
            return kinds.AIMessage(content, tool_calls=calls, additional_kwargs=message.get("extra", {}))
        case "tool":
            return kinds.ToolMessage(content, tool_call_id=message.get("tool_call_id", ""), name=message.get("name"))
        case role:
            raise ModelError(f"A message has the role `{role}`. Known are: system, user, assistant, tool.")


def _langchain_call(request: ToolRequest) -> dict[str, Any]:
    args = request["args"]
    # a call that was no JSON goes back in a form that every provider accepts next to the answer to it
    return {
        "id": request["id"],
        "name": request["name"],
        "args": {"invalid": args} if isinstance(args, str) else args,
    }


def _read_message(answer: Any) -> Reply:
    if not hasattr(answer, "usage_metadata"):
        return read_answer(answer)  # a text completion model's string
    usage = read_usage(answer.usage_metadata)
    if usage is None:
        metadata = answer.response_metadata
        usage = read_usage(metadata.get("token_usage")) or read_usage(metadata.get("usage"))
    wanted = [*answer.tool_calls, *answer.invalid_tool_calls]
    kept = {name: as_plain_data(value) for name, value in answer.additional_kwargs.items() if name not in _HANDLED_KEYS}
    return {
        "content": as_plain_data(answer.content),
        "tool_calls": [_request(call, number) for number, call in enumerate(wanted)],
        "usage": usage,
        "extra": {name: value for name, value in kept.items() if value is not None},
    }


def _request(call: Mapping[str, Any], number: int) -> ToolRequest:
    args: Any = call.get("args")
    return {
        "id": call.get("id") or f"call_{number}",
        "name": call.get("name") or "",
        "args": as_plain_data(cast("dict[str, Any]", args)) if isinstance(args, dict) else str(args or ""),
    }


def _structured_reply(reply: Reply) -> Reply:
    """A structured answer as its JSON text; some providers give it as the arguments of a tool call."""
    if reply["tool_calls"] and not text_of(reply["content"]).strip():
        args = reply["tool_calls"][0]["args"]
        reply = {**reply, "content": args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)}
    return {**reply, "tool_calls": []}
