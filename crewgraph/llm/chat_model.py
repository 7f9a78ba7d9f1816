"""The adapter to LangChain chat models: a `crewgraph.core.ports.Model` around one."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from crewgraph.core.messages import Message, Reply, ToolRequest, ToolSpec, Usage
from crewgraph.errors import ModelError
from crewgraph.extras import load
from crewgraph.llm.answer import cut_at, read_answer
from crewgraph.llm.capabilities import takes_stop
from crewgraph.llm.conversation import openai_tool, text_of
from crewgraph.llm.errors import ProviderErrors
from crewgraph.llm.plain import plain
from crewgraph.llm.usage import read_usage

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["ChatModel"]

_PROBE: ToolSpec = {
    "name": "probe",
    "description": "probe",
    "parameters": {"type": "object", "properties": {}},
}
_CACHED_BINDINGS = 64
_NO_ANSWER = {"model_name", "stream", "streaming"}  # parameters that change no answer
_SENT_OTHERWISE = {"tool_calls", "function_call", "parsed", "refusal"}
_NO_PARAMETER = (
    "key",
    "token",
    "secret",
    "password",
    "url",
    "base",
    "endpoint",
    "header",
    "credential",
    "client",
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
        on_usage: Callable[[Usage | None], None] | None = None,
    ) -> None:
        """Wrap a model.

        Args:
            source: the chat model, bare or behind `bind`, `with_retry`, `with_fallbacks` or a sequence that
                ends in it.
            native_tools: whether tools are offered to it; None asks the model.
            stop: stop words of every request.
            response_format: the form of answers, where no tools are offered.
            on_usage: told of every answered request.
        """
        self.source = source
        self._offers_tools = native_tools
        self._response_format = response_format
        self._on_usage = on_usage
        self._base, kwargs = _base_of(source)
        self._stop = [*stop, *(kwargs.get("stop") or _own_stop(self._base))]
        self._bindings: dict[str, Any] = {}
        self._identity: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The model's name as its provider knows it."""
        for attribute in ("model_name", "model", "model_id", "deployment_name", "azure_deployment"):
            if isinstance(found := getattr(self._base, attribute, None), str) and found:
                return found
        return str(getattr(self._base, "_llm_type", None) or type(self._base).__name__)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Class, name and parameters; neither keys nor addresses, which change no answer."""
        if self._identity is None:
            self._identity = self._told_identity()
        return self._identity

    def _told_identity(self) -> Mapping[str, Any]:
        parameters = {**_parameters(self._base), **_base_of(self.source)[1]}
        told = {key: plain(value) for key, value in parameters.items() if not _hides(key)}
        if self._stop:
            told["stop"] = self._stop
        if self._response_format is not None:
            told["response_format"] = _schema(self._response_format)
        return {**told, "class": type(self._base).__name__, "model": self.name}

    @property
    def native_tools(self) -> bool:
        """Whether tool calls are a part of the model's protocol."""
        if self._offers_tools is None:
            self._offers_tools = _binds_tools(self.source, self._base)
        return self._offers_tools

    def answering(self, response_format: type[BaseModel] | Mapping[str, Any] | None) -> "ChatModel":
        """The same model with answers of another form."""
        return ChatModel(
            self.source,
            native_tools=self._offers_tools,
            stop=self._stop,
            response_format=response_format,
            on_usage=self._on_usage,
        )

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation."""
        asked = self._asked(tools)
        with ProviderErrors(self.name):
            answer = asked.invoke(_langchain_messages(messages), config, **self._keywords(stop))
        return self._reply(answer, stop)

    async def acomplete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation."""
        asked = self._asked(tools)
        with ProviderErrors(self.name):
            answer = await asked.ainvoke(_langchain_messages(messages), config, **self._keywords(stop))
        return self._reply(answer, stop)

    def _asked(self, tools: Sequence[ToolSpec]) -> Any:
        if not tools and self._response_format is None:
            return self.source
        key = json.dumps(tools, sort_keys=True, default=str) if tools else ""
        if key not in self._bindings:
            if len(self._bindings) >= _CACHED_BINDINGS:
                self._bindings.clear()
            self._bindings[key] = self._bound(tools)
        return self._bindings[key]

    def _bound(self, tools: Sequence[ToolSpec]) -> Any:
        if tools:
            return _with_tools(self.source, [openai_tool(tool) for tool in tools])
        if isinstance(self._response_format, Mapping):
            return self.source.bind(response_format=dict(self._response_format))
        form = cast("type[BaseModel]", self._response_format).model_json_schema()
        return self.source.with_structured_output(form, include_raw=True)

    def _keywords(self, stop: Sequence[str]) -> dict[str, Any]:
        words = list(dict.fromkeys([*self._stop, *stop]))
        return {"stop": words} if stop and takes_stop(self.name) else {}

    def _reply(self, answer: Any, stop: Sequence[str]) -> Reply:
        if isinstance(answer, dict) and "raw" in answer:
            reply = _formed(_read(cast("dict[str, Any]", answer)["raw"]))
        else:
            reply = _read(answer)
        if self._on_usage is not None:
            self._on_usage(reply["usage"])
        if takes_stop(self.name):
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


def _own_stop(base: Any) -> list[str]:
    found: object = getattr(base, "stop", None) or getattr(base, "stop_sequences", None)
    if isinstance(found, str):
        return [found]
    return [str(word) for word in cast("list[object]", found)] if isinstance(found, (list, tuple)) else []


def _parameters(base: Any) -> Mapping[str, Any]:
    found = getattr(base, "_identifying_params", None)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def _hides(parameter: str) -> bool:
    return (
        parameter.startswith("_")
        or parameter in _NO_ANSWER
        or ("tokens" not in parameter and any(word in parameter.lower() for word in _NO_PARAMETER))
    )


def _schema(form: type[BaseModel] | Mapping[str, Any]) -> Any:
    return plain(form) if isinstance(form, Mapping) else form.model_json_schema()


def _binds_tools(source: Any, base: Any) -> bool:
    chat = load("langchain_core.language_models").BaseChatModel
    if isinstance(base, chat) and getattr(type(base), "bind_tools", None) is chat.bind_tools:
        return False
    if not hasattr(base, "bind_tools"):
        return False
    try:
        _with_tools(source, [openai_tool(_PROBE)])
    except NotImplementedError:
        return False
    return True


def _with_tools(source: Any, tools: list[dict[str, Any]]) -> Any:
    """A Runnable whose model at the end, fallbacks included, is offered tools; bound keywords stay."""
    runnables = load("langchain_core.runnables")
    if isinstance(source, runnables.RunnableWithFallbacks):
        others = [_with_tools(fallback, tools) for fallback in source.fallbacks]
        return source.model_copy(update={"runnable": _with_tools(source.runnable, tools), "fallbacks": others})
    if isinstance(source, runnables.RunnableSequence):
        return runnables.RunnableSequence(*source.steps[:-1], _with_tools(source.last, tools), name=source.name)
    if isinstance(source, load("langchain_core.runnables.base").RunnableBindingBase):
        return source.model_copy(update={"bound": _with_tools(source.bound, tools)})
    return source.bind_tools(tools)


def _langchain_messages(messages: Sequence[Message]) -> list[Any]:
    kinds = load("langchain_core.messages")
    return [_langchain_message(kinds, message) for message in messages]


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


def _read(answer: Any) -> Reply:
    if not hasattr(answer, "usage_metadata"):
        return read_answer(answer)  # a text completion model's string
    usage = read_usage(answer.usage_metadata)
    if usage is None:
        metadata = answer.response_metadata
        usage = read_usage(metadata.get("token_usage")) or read_usage(metadata.get("usage"))
    wanted = [*answer.tool_calls, *answer.invalid_tool_calls]
    kept = {name: plain(value) for name, value in answer.additional_kwargs.items() if name not in _SENT_OTHERWISE}
    return {
        "content": plain(answer.content),
        "tool_calls": [_request(call, number) for number, call in enumerate(wanted)],
        "usage": usage,
        "extra": {name: value for name, value in kept.items() if value is not None},
    }


def _request(call: Mapping[str, Any], number: int) -> ToolRequest:
    args: Any = call.get("args")
    return {
        "id": call.get("id") or f"call_{number}",
        "name": call.get("name") or "",
        "args": cast("dict[str, Any]", plain(args)) if isinstance(args, dict) else str(args or ""),
    }


def _formed(reply: Reply) -> Reply:
    """A structured answer as its JSON text; some providers give it as the arguments of a tool call."""
    if reply["tool_calls"] and not text_of(reply["content"]).strip():
        args = reply["tool_calls"][0]["args"]
        reply = {**reply, "content": args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)}
    return {**reply, "tool_calls": []}
