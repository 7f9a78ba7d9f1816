"""Adapts objects with `.call`, such as `BaseLLM` subclasses, to `crewgraph.core.protocols.Model`.

`CallModel` is the adapter, `read_answer` parses what `call` returned,
`as_plain_data` reduces provider objects to plain data, and `with_bytes` restores the bytes in it.
"""

import inspect
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from functools import cache
from types import TracebackType
from typing import Any, Literal, Self, cast

from pydantic import BaseModel

from crewgraph.core.current import is_traced
from crewgraph.core.loops.bridge import acall, resolved
from crewgraph.core.messages import Content, Message, Reply, ToolRequest, ToolSpec, Usage
from crewgraph.core.protocols import Config
from crewgraph.extras import load
from crewgraph.llm.base import BaseLLM, WatchedModel, accepted_arguments
from crewgraph.llm.conversation import (
    aexpanded,
    expanded,
    openai_messages,
    openai_tool,
    plain_messages,
    read_messages,
    text_of,
)
from crewgraph.llm.current_call import CALL, CurrentCall, OngoingCall
from crewgraph.llm.errors import ProviderErrors
from crewgraph.llm.provider_fields import MESSAGE_FIELDS, add_fields
from crewgraph.llm.reasoning import without_reasoning
from crewgraph.llm.replies import Limit, said_ending, whole_reply
from crewgraph.llm.usage import langchain_usage
from crewgraph.redaction import SecretRedactor, redact_error, secrets_of
from crewgraph.schema import PlainDict, PlainMapping, get_field, is_list, is_mapping, is_object
from crewgraph.scoped import give_back


def read_answer(returned: object, usage: Usage | None = None) -> Reply:
    """Convert the return value of `call` to a reply.

    Args:
        returned: A string, None (an empty answer), a pydantic model (dumped as JSON), tool calls in OpenAI's or
            LangChain's format, or a message with text and tool calls. Other dicts and lists are dumped as JSON,
            other objects converted with `str()`.
        usage: The usage of the call, if known.
    """
    message = _read_returned(returned)
    requests = message.get("tool_calls", [])
    if requests:
        requests = [
            ToolRequest({**request, "id": request["id"] or f"call_{number}"}) for number, request in enumerate(requests)
        ]
    return {"content": message["content"], "tool_calls": requests, "usage": usage, "extra": message.get("extra", {})}


def _read_returned(returned: object) -> Message:
    if returned is None or isinstance(returned, str):
        return {"role": "assistant", "content": returned or ""}
    if isinstance(returned, Sequence) and not isinstance(returned, (bytes, bytearray)):
        items = cast("Sequence[object]", returned)  # a list of tool calls may have `extra`
        if items and all(_is_call(entry) for entry in items):
            return _as_message({"tool_calls": items})
        return {"role": "assistant", "content": _answer_text(list(items))}
    if _is_call(returned):
        return _as_message({"tool_calls": [returned]})
    if _is_message(returned):
        wanted = {name: as_plain_data(get_field(returned, name)) for name in MESSAGE_FIELDS}
        return _as_message({**wanted, **{name: get_field(returned, name) for name in ("content", "tool_calls")}})
    return {"role": "assistant", "content": _answer_text(returned)}


def _as_message(fields: PlainMapping) -> Message:
    return read_messages([{"role": "assistant", **fields}])[0]


def _is_answer(returned: object) -> bool:
    return returned is None or isinstance(returned, (str, Mapping, Sequence, BaseModel)) or _is_message(returned)


def _is_call(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return "function" in entry or ("name" in entry and ("args" in entry or "arguments" in entry))
    function = getattr(entry, "function", None)
    return isinstance(getattr(function, "name", None), str) and hasattr(function, "arguments")


def _is_message(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return entry.get("role") == "assistant" or "tool_calls" in entry  # pyright: ignore[reportUnknownVariableType]
    is_readable = isinstance(getattr(entry, "content", None), (str, list, type(None))) and hasattr(entry, "content")
    return is_readable and (hasattr(entry, "tool_calls") or hasattr(entry, "type"))


def _answer_text(value: object) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, (Mapping, list)):
        return json.dumps(
            value,
            ensure_ascii=False,
            default=lambda part: part.model_dump(mode="json") if isinstance(part, BaseModel) else str(part),
        )
    return str(value)


def cut_at(content: Content, stop: Sequence[str]) -> Content:
    """Truncate content at the first stop word, which a model or its server did not stop at."""
    if not isinstance(content, str):
        blocks: list[Any] = []
        for block in content:
            text = block if isinstance(block, str) else block.get("text")
            cut = cut_at(text, stop) if isinstance(text, str) else text
            blocks.append(cut if isinstance(block, str) else block if cut == text else {**block, "text": cut})
            if cut != text:
                break
        return blocks
    end = len(content)
    for stop_word in stop:
        if stop_word and 0 <= (position := content.find(stop_word)) < end:
            end = position
    return content[:end].rstrip() if end < len(content) else content


_BYTES = "base64 bytes"


def as_plain_data(value: object) -> Any:
    """Reduce a value to strings, numbers, lists and dicts; bytes become a dict, anything else None."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_mapping(value):
        return {str(name): as_plain_data(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(map(as_plain_data, cast("list[object]", value)))
    return None


def with_bytes(data: Any) -> Any:
    """Return plain data with the bytes that `as_plain_data` wrote as dicts, such as encrypted reasoning of Bedrock."""
    if is_object(data):
        if data.keys() == {_BYTES}:
            return b64decode(data[_BYTES])
        return {name: with_bytes(value) for name, value in data.items()}
    return list(map(with_bytes, data)) if is_list(data) else data


_NEVER_FORWARDED = frozenset({"response_model", "stop"})
_NOT_SET: Mapping[str, object] = {"callbacks": None, "available_functions": None}
"""Arguments that CrewAI does not pass, so they must not reach a `**kwargs` that is forwarded to a provider."""

_PARAMETERS = ("temperature", "max_tokens", "top_p", "seed", "stop", "additional_params")


class CallModel(WatchedModel):
    """Adapter from an object with `.call(messages)` to `Model`; the object is never modified."""

    source: Any
    """The wrapped object."""

    def __init__(self, source: object, *, traced: bool = True, response_model: type[BaseModel] | None = None) -> None:
        """Wrap an object.

        Args:
            source: The object with `.call`.
            traced: Whether each call is reported to callback handlers; False if an underlying LangChain model
                already does so.
            response_model: The pydantic model that answers are asked to be instances of.
        """
        self.source = source
        self._request_source = (source, True)
        self.traced = traced
        """Whether each call is reported to callback handlers."""
        self._response_model = response_model

    @property
    def name(self) -> str:
        """The name of the model, or of its class if it has none."""
        name = getattr(self.source, "model", None) or getattr(self.source, "model_name", None)
        return name if isinstance(name, str) else type(self.source).__name__

    @property
    def identity(self) -> PlainMapping:
        """Class, name and common parameters."""
        known: PlainDict = {}
        for key in _PARAMETERS:
            value: object = getattr(self.source, key, None)
            if value is not None and (parameter := as_plain_data(value)) not in (None, [], {}):
                known[key] = parameter
        if self._response_model is not None:
            known["response_format"] = self._response_model.model_json_schema()
        return {**known, "class": type(self.source).__name__, "model": self.name}

    def redactor(self) -> SecretRedactor:
        """Return what replaces the secrets of the wrapped object in an error."""
        return SecretRedactor(secrets=secrets_of(self.source))

    def for_structure(self, structure: type[BaseModel]) -> "CallModel | None":
        """Return a copy that asks for an instance of a pydantic model; None if `call` has no parameter `response_model`."""
        if not accepted_arguments(
            self.source, "call", {"response_model": structure}, named_only=frozenset({"response_model"})
        ):
            return None
        return CallModel(self.source, traced=self.traced, response_model=structure)

    @property
    def native_tools(self) -> bool:
        """Whether the object supports function calling."""
        supports_function_calling = getattr(self.source, "supports_function_calling", None)
        supported: object = supports_function_calling() if callable(supports_function_calling) else False
        return isinstance(supported, int) and bool(supported)  # a mock returns a mock

    def _complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        arguments = self._arguments("call", tools, stop)
        with _Call(self, (messages, tools), config) as asked:
            answer = self.source.call(self._conversation(expanded(messages)), **arguments)
            return asked.read(answer if isinstance(answer, str) else resolved(answer), stop)

    async def _acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        with _Call(self, (messages, tools), config) as asked:
            return asked.read(await self._acall(messages, tools, stop), stop)

    async def _acall(self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str]) -> object:
        messages = await aexpanded(messages)
        if inspect.iscoroutinefunction(getattr(self.source, "acall", None)):
            arguments = self._arguments("acall", tools, stop)
            answer = await acall(self.source.acall, self._conversation(messages), **arguments)
            if hasattr(type(cast("object", self.source)), "acall") or _is_answer(answer):
                return answer  # a mock of an `LLM` has an `acall` that answers with a mock
        arguments = self._arguments("call", tools, stop)
        return await acall(self.source.call, self._conversation(messages), **arguments)

    def _conversation(self, messages: Sequence[Message]) -> list[dict[str, object]]:
        if not self.native_tools:
            return list(map(dict[str, object], plain_messages(messages)))
        entries = openai_messages(messages)
        add_fields(entries, [message.get("extra", {}) for message in messages], self.name, lambda: (self.name, ""))
        return entries

    def _arguments(self, method: str, tools: Sequence[ToolSpec], stop: Sequence[str]) -> dict[str, object]:
        agent, task = CALL.get().caller or (None, None)
        arguments: dict[str, object] = {
            **_NOT_SET,
            "response_model": self._response_model,
            "tools": [openai_tool(tool) for tool in tools] if tools and self.native_tools else None,
            "stop": list(stop) or None,
            "from_task": task,
            "from_agent": agent,
        }
        return accepted_arguments(self.source, method, arguments, named_only=_NEVER_FORWARDED)

    @property
    def provider(self) -> str:
        """The provider if one is set explicitly, else a name derived from the class, as LangChain does."""
        classes = [vars(base) for base in type(self.source).__mro__ if base is not BaseLLM]
        holders: list[Mapping[str, object]] = [getattr(self.source, "__dict__", {}), *classes]
        provider = next((holder["_provider"] for holder in holders if "_provider" in holder), None)
        class_name = type(self.source).__name__
        return provider if isinstance(provider, str) else class_name.removesuffix("LLM").lower() or class_name.lower()


@cache
def _current_config() -> ContextVar[Any]:
    return load("langchain_core.runnables.config").var_child_runnable_config


class _Call:
    """Context of one call: collects usage, converts errors and, if traced, reports a LangChain callback run of type "llm"."""

    def __init__(self, model: CallModel, request: tuple[Sequence[Message], Sequence[ToolSpec]], config: Config) -> None:
        self._ongoing = OngoingCall(observed=True)
        self._model, self._request, self._config = model, request, config
        self._run: Any = None
        self._streamed = False

    def __enter__(self) -> Self:
        config = self._config
        if self._model.traced and is_traced(config):
            config = self._start(config)
            self._ongoing.on_text = self._text
        self._tokens: tuple[Token[Any], ...] = (CALL.set(CurrentCall(self._ongoing, *CALL.get()[1:])),)
        if config:  # makes runs of LangChain models that the object calls children of this one
            self._tokens += (_current_config().set(config),)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        give_back(*self._tokens)
        if error is None:
            return False
        if self._run is not None and not isinstance(error, GeneratorExit):
            redact_error(error, self._model.redactor())
            self._run.on_llm_error(error)
        return ProviderErrors(self._model.name, self._model.redactor).__exit__(kind, error, trace)

    def read(self, returned: object, stop: Sequence[str]) -> Reply:
        """Convert the returned value to a reply, truncated at the first stop word."""
        reply = without_reasoning(read_answer(returned, self._ongoing.usage if self._ongoing.used else None))
        if not (returned is None or isinstance(returned, (str, list))):
            limit: object = getattr(self._model.source, "max_tokens", None)
            limited: Limit | None = ("max_tokens", limit) if isinstance(limit, int) else None
            reply = whole_reply(reply, said_ending(returned), self._model.name, limit=limited)
        if stop:
            reply["content"] = cut_at(reply["content"], stop)
        if self._run is not None:
            self._end(reply)
        return reply

    def _start(self, config: Config) -> Config:
        """Start the run and return the config for child runs."""
        name, (messages, tools) = self._model.name, self._request
        callbacks = load("langchain_core.callbacks")
        manager = callbacks.CallbackManager.configure(
            inheritable_callbacks=config.get("callbacks"),
            inheritable_tags=config.get("tags"),
            inheritable_metadata=config.get("metadata"),
            local_metadata={"ls_provider": self._model.provider, "ls_model_name": name, "ls_model_type": "chat"},
        )
        parameters: dict[str, object] = {"model": name}
        if tools:
            parameters["tools"] = [openai_tool(tool) for tool in tools]
        self._run = manager.on_chat_model_start(
            {"name": name, "id": ["crewgraph", "llm", name]},
            [load("langchain_core.messages").convert_to_messages(openai_messages(messages))],
            name=name,
            invocation_params=parameters,
        )[0]
        child_manager = callbacks.CallbackManager(handlers=[], parent_run_id=self._run.run_id)
        child_manager.set_handlers(self._run.inheritable_handlers)
        child_manager.add_tags(self._run.inheritable_tags)
        child_manager.add_metadata(self._run.inheritable_metadata)
        return {**config, "callbacks": child_manager}

    def _text(self, piece: str) -> None:
        """Report a chunk of the answer."""
        self._streamed = True
        self._show(piece)

    def _show(self, piece: str, **fields: Any) -> None:
        message = load("langchain_core.messages").AIMessageChunk(piece, id=f"run-{self._run.run_id}", **fields)
        chunk = load("langchain_core.outputs").ChatGenerationChunk(message=message)
        self._run.on_llm_new_token(piece, chunk=chunk)

    def _end(self, reply: Reply) -> None:
        """End the run with a reply."""
        outputs, usage = load("langchain_core.outputs"), langchain_usage(reply["usage"])
        reply["id"] = f"run-{self._run.run_id}"
        if self._streamed:
            self._show("", usage_metadata=usage, chunk_position="last")
        message = load("langchain_core.messages").AIMessage(
            reply["content"],
            id=reply["id"],
            tool_calls=[call for call in reply["tool_calls"] if isinstance(call["args"], dict)],
            usage_metadata=usage,
        )
        generation = outputs.ChatGeneration(message=message, text=text_of(reply["content"]))
        self._run.on_llm_end(outputs.LLMResult(generations=[[generation]]))
