"""The adapter to BaseLLM subclasses and any object with `.call`: each as a `crewgraph.core.protocols.Model`.

One LangChain run of type llm around a model that is no LangChain model, for whoever listens.

What somebody's `call` returned, read as a reply.

Plain data out of whatever a provider's library hands over.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import BaseModel

from crewgraph.core.files import aexpanded, expanded
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Content, Message, Reply, ToolRequest, ToolSpec, Usage
from crewgraph.core.replay import is_traced
from crewgraph.extras import load
from crewgraph.llm.base import BaseLLM, accepted_arguments
from crewgraph.llm.conversation import openai_messages, openai_tool, plain_messages, read_messages, text_of
from crewgraph.llm.current_call import CALLER, ONGOING, OngoingCall
from crewgraph.llm.errors import ProviderErrors

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["CallModel", "TracedCall", "as_plain_data", "cut_at", "read_answer"]


class TracedCall:
    """A run of LangChain's callbacks: started, shown piece by piece, and ended by the answer or an error.

    Args:
        name: the model's name.
        provider: who serves it, by the name that prices are looked up under.
        asked: the conversation and the tools.
        config: the caller's.
    """

    def __init__(
        self,
        name: str,
        provider: str,
        asked: tuple[Sequence[Message], Sequence[ToolSpec]],
        config: "RunnableConfig",
    ) -> None:
        self._name, self._provider = name, provider
        self._messages, self._tools = asked
        self._config = config
        self._run: Any = None

    def start(self) -> "RunnableConfig":
        """Open the run; returns the config for what runs below it."""
        managers = load("langchain_core.callbacks")
        manager = managers.CallbackManager.configure(
            inheritable_callbacks=self._config.get("callbacks"),
            inheritable_tags=self._config.get("tags"),
            inheritable_metadata=self._config.get("metadata"),
            local_metadata={"ls_provider": self._provider, "ls_model_name": self._name, "ls_model_type": "chat"},
        )
        given = load("langchain_core.messages").convert_to_messages(openai_messages(self._messages))
        parameters: dict[str, Any] = {"model": self._name}
        if self._tools:
            parameters["tools"] = [openai_tool(tool) for tool in self._tools]
        self._run = manager.on_chat_model_start(
            {"name": self._name, "id": ["crewgraph", "llm", self._name]},
            [given],
            name=self._name,
            invocation_params=parameters,
        )[0]
        below = managers.CallbackManager(handlers=[], parent_run_id=self._run.run_id)
        below.set_handlers(self._run.inheritable_handlers)
        below.add_tags(self._run.inheritable_tags)
        below.add_metadata(self._run.inheritable_metadata)
        return {**self._config, "callbacks": below}

    def text(self, piece: str) -> None:
        """Pass a piece of the answer on."""
        message = load("langchain_core.messages").AIMessageChunk(piece, id=self._message_id)
        chunk = load("langchain_core.outputs").ChatGenerationChunk(message=message)
        self._run.on_llm_new_token(piece, chunk=chunk)

    def end(self, reply: Reply) -> None:
        """Pass the answer on."""
        outputs = load("langchain_core.outputs")
        message = load("langchain_core.messages").AIMessage(
            reply["content"],
            id=self._message_id,
            tool_calls=[call for call in reply["tool_calls"] if isinstance(call["args"], dict)],
            usage_metadata=reply["usage"] and _langchain_usage(reply["usage"]),
        )
        generation = outputs.ChatGeneration(message=message, text=text_of(reply["content"]))
        self._run.on_llm_end(outputs.LLMResult(generations=[[generation]]))

    def fail(self, error: BaseException) -> None:
        """Pass an error on."""
        self._run.on_llm_error(error)

    @property
    def _message_id(self) -> str:
        return f"run-{self._run.run_id}"


def _langchain_usage(usage: Usage) -> dict[str, Any]:
    """Tokens in LangChain's words."""
    return {
        "input_tokens": usage["prompt_tokens"],
        "output_tokens": usage["completion_tokens"],
        "total_tokens": usage["total_tokens"],
        "input_token_details": {
            "cache_read": usage["cached_prompt_tokens"],
            "cache_creation": usage["cache_creation_tokens"],
        },
        "output_token_details": {"reasoning": usage["reasoning_tokens"]},
    }


def read_answer(returned: object, usage: Usage | None = None) -> Reply:
    """The reply in a returned value.

    Args:
        returned: a text, None (an empty answer), a pydantic model (its JSON), tool calls in OpenAI's or
            LangChain's form, a message with text and tool calls, or anything else by its `str()`; a dict or a
            list without tool calls becomes JSON.
        usage: what the call used, where that is known.
    """
    content, requests = _read_returned(returned)
    numbered = [_with_id(request, number) for number, request in enumerate(requests)]
    return {"content": content, "tool_calls": numbered, "usage": usage, "extra": {}}


def _read_returned(returned: object) -> tuple[Content, list[ToolRequest]]:
    if returned is None or isinstance(returned, str):
        return returned or "", []
    if isinstance(returned, Sequence) and not isinstance(returned, (bytes, bytearray)):
        listed = list(cast("Sequence[object]", returned))
        if listed and all(_is_call(entry) for entry in listed):
            return "", _requests(listed)
        return _as_text(listed), []
    if _is_call(returned):
        return "", _requests([returned])
    if _is_message(returned):
        spoken = {name: _part(returned, name) for name in ("content", "tool_calls")}
        message = read_messages([{"role": "assistant", **spoken}])[0]
        return message["content"], message.get("tool_calls", [])
    return _as_text(returned), []


def _part(holder: object, name: str) -> object:
    return (
        cast("Mapping[str, object]", holder).get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    )


def _requests(listed: list[object]) -> list[ToolRequest]:
    return read_messages([{"role": "assistant", "tool_calls": listed}])[0].get("tool_calls", [])


def _is_call(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return "function" in entry or ("name" in entry and ("args" in entry or "arguments" in entry))
    function = getattr(entry, "function", None)
    return function is not None and hasattr(function, "name") and hasattr(function, "arguments")


def _is_message(entry: object) -> bool:
    if isinstance(entry, Mapping):
        return entry.get("role") == "assistant" or "tool_calls" in entry  # pyright: ignore[reportUnknownVariableType]
    return hasattr(entry, "content") and (hasattr(entry, "tool_calls") or hasattr(entry, "type"))


def _as_text(value: object) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, (Mapping, list)):
        return json.dumps(value, ensure_ascii=False, default=_json_default)
    return str(value)


def _json_default(value: object) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def _with_id(request: ToolRequest, number: int) -> ToolRequest:
    return {**request, "id": request["id"] or f"call_{number}"}


def _cut_blocks(content: Sequence[Any], stop: Sequence[str]) -> list[Any]:
    left: list[Any] = []
    for part in content:
        text = part if isinstance(part, str) else part.get("text")
        cut = cut_at(text, stop) if isinstance(text, str) else text
        left.append(cut if isinstance(part, str) else part if cut == text else {**part, "text": cut})
        if cut != text:
            break
    return left


def cut_at(content: Content, stop: Sequence[str]) -> Content:
    """A content up to the first of some texts, for models that did not stop there themselves."""
    if not isinstance(content, str):
        return _cut_blocks(content, stop)
    ends = [found for mark in stop if mark and (found := content.find(mark)) >= 0]
    return content[: min(ends)] if ends else content


def as_plain_data(value: object) -> Any:
    """A value as text, numbers, bytes, lists and dicts; what is none of these is left out (None)."""
    if value is None or isinstance(value, (str, int, float, bool, bytes)):
        return value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(name): as_plain_data(held) for name, held in cast("Mapping[Any, object]", value).items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_plain_data(held) for held in cast("list[object]", value)]
    return None


_NEVER_FORWARDED = frozenset({"stop"})
"""What CrewAI does not pass: a `**kwargs` that is sent on to a provider is not to hold it."""

_PARAMETERS = ("temperature", "max_tokens", "top_p", "seed", "stop", "additional_params")


class CallModel:
    """An object with `.call(messages)` as a model of ours; the object is never changed."""

    source: Any
    """The object that is called."""

    def __init__(self, source: Any, *, traced: bool = True) -> None:
        """Wrap a model.

        Args:
            source: the object.
            traced: whether a call is a run of its own for callback handlers; not where a LangChain model
                below makes one anyway.
        """
        self.source = source
        self._traced = traced

    @property
    def name(self) -> str:
        """The model's name, else that of its class."""
        found = getattr(self.source, "model", None) or getattr(self.source, "model_name", None)
        return found if isinstance(found, str) else type(self.source).__name__

    @property
    def identity(self) -> Mapping[str, Any]:
        """Class, name and the parameters that models commonly have."""
        told = {key: as_plain_data(getattr(self.source, key, None)) for key in _PARAMETERS}
        kept = {key: value for key, value in told.items() if value not in (None, [], {})}
        return {**kept, "class": type(self.source).__name__, "model": self.name}

    @property
    def native_tools(self) -> bool:
        """Whether the object says that it calls functions."""
        asked = getattr(self.source, "supports_function_calling", None)
        return bool(asked()) if callable(asked) else False

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation."""
        arguments = self._arguments("call", tools, stop)
        with _Call(self, (messages, tools), config) as call:
            return call.read(self.source.call(self._conversation(expanded(messages)), **arguments), stop)

    async def acomplete(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        stop: Sequence[str],
        config: "RunnableConfig",
    ) -> Reply:
        """Answer a conversation: by the object's own `acall`, else by its `call` in a thread."""
        with _Call(self, (messages, tools), config) as call:
            return call.read(await self._acall(messages, tools, stop), stop)

    async def _acall(self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str]) -> Any:
        messages = await aexpanded(messages)
        if inspect.iscoroutinefunction(getattr(self.source, "acall", None)):
            return await self.source.acall(self._conversation(messages), **self._arguments("acall", tools, stop))
        arguments = self._arguments("call", tools, stop)
        return await in_thread(partial(self.source.call, self._conversation(messages), **arguments))

    def _conversation(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        return openai_messages(messages) if self.native_tools else plain_messages(messages)

    def _arguments(self, method: str, tools: Sequence[ToolSpec], stop: Sequence[str]) -> dict[str, Any]:
        agent, task = CALLER.get()
        offered: dict[str, Any] = {
            "tools": [openai_tool(tool) for tool in tools] if tools and self.native_tools else None,
            "stop": list(stop) or None,
            "from_task": task,
            "from_agent": agent,
            **dict.fromkeys(("callbacks", "available_functions", "response_model")),
        }
        return accepted_arguments(self.source, method, offered, named_only=_NEVER_FORWARDED)

    @property
    def provider(self) -> str:
        """Who serves the model, where somebody said so; else its class, in the form of LangChain's own names."""
        told = next((kept["_provider"] for kept in _attribute_sources(self.source) if "_provider" in kept), None)
        kind = type(self.source).__name__
        return told if isinstance(told, str) else kind.removesuffix("LLM").lower() or kind.lower()

    @property
    def traced(self) -> bool:
        """Whether a call is a run of its own for callback handlers."""
        return self._traced


def _attribute_sources(source: Any) -> list[Mapping[str, Any]]:
    """What an object and its classes hold, without what they take over from BaseLLM."""
    classes = [vars(kind) for kind in type(source).__mro__ if kind is not BaseLLM]
    return [getattr(source, "__dict__", {}), *classes]


class _Call:
    """One call: its usage, its errors and, where someone listens, its run."""

    def __init__(
        self, model: CallModel, asked: tuple[Sequence[Message], Sequence[ToolSpec]], config: "RunnableConfig"
    ) -> None:
        self._ongoing = OngoingCall(observed=True)
        self._errors = ProviderErrors(model.name)
        self._config = config
        watched = model.traced and is_traced(config)
        self._run = TracedCall(model.name, model.provider, asked, config) if watched else None
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        config = self._config
        if self._run is not None:
            config = self._run.start()
            self._ongoing.on_text = self._run.text
        self._undo.append(partial(ONGOING.reset, ONGOING.set(self._ongoing)))
        if config:  # LangChain models that the object asks are runs below the one that is asking
            current = load("langchain_core.runnables.config").var_child_runnable_config
            self._undo.append(partial(current.reset, current.set(config)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        while self._undo:
            self._undo.pop()()
        if error is not None and self._run is not None:
            self._run.fail(error)
        return self._errors.__exit__(kind, error, trace)

    def read(self, returned: Any, stop: Sequence[str]) -> Reply:
        """The reply in what was returned, up to the first stop word."""
        reply = read_answer(returned, self._ongoing.usage)
        reply["content"] = cut_at(reply["content"], stop)
        if self._run is not None:
            self._run.end(reply)
        return reply
