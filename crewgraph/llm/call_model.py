"""The adapter to BaseLLM subclasses and any object with `.call`: each as a `crewgraph.core.protocols.Model`."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.replay import is_traced
from crewgraph.extras import load
from crewgraph.files.blocks import aexpanded, expanded
from crewgraph.llm.answer import cut_at, read_answer
from crewgraph.llm.arguments import accepted
from crewgraph.llm.base import BaseLLM
from crewgraph.llm.conversation import openai_messages, openai_tool, plain_messages
from crewgraph.llm.errors import ProviderErrors
from crewgraph.llm.ongoing import ASKER, ONGOING, OngoingCall
from crewgraph.llm.plain import plain
from crewgraph.llm.traced import Listened

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["CallModel"]

_OURS_ALONE = frozenset({"stop"})
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
        told = {key: plain(getattr(self.source, key, None)) for key in _PARAMETERS}
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
        agent, task = ASKER.get()
        offered: dict[str, Any] = {
            "tools": [openai_tool(tool) for tool in tools] if tools and self.native_tools else None,
            "stop": list(stop) or None,
            "from_task": task,
            "from_agent": agent,
            **dict.fromkeys(("callbacks", "available_functions", "response_model")),
        }
        return accepted(self.source, method, offered, named_only=_OURS_ALONE)

    @property
    def provider(self) -> str:
        """Who serves the model, where somebody said so; else its class, in the form of LangChain's own names."""
        told = next((kept["_provider"] for kept in _own(self.source) if "_provider" in kept), None)
        kind = type(self.source).__name__
        return told if isinstance(told, str) else kind.removesuffix("LLM").lower() or kind.lower()

    @property
    def traced(self) -> bool:
        """Whether a call is a run of its own for callback handlers."""
        return self._traced


def _own(source: Any) -> list[Mapping[str, Any]]:
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
        self._run = Listened(model.name, model.provider, asked, config) if watched else None
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
