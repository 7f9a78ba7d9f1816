"""Base classes of models: `ModelWrapper` of those that wrap another, `WatchedModel` of those that send requests.

Watchers see the requests: tests forbid them, record them, or answer them from a recording.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from pydantic import BaseModel

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.protocols import Config, Model
from crewgraph.llm.structure import structured_model
from crewgraph.schema import PlainMapping


@dataclass(frozen=True)
class ModelRequest:
    """A request that is about to be sent to a model."""

    model: str
    """The name of the model at its provider."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    stop: Sequence[str]

    source: object
    """The model as the program has it: a LangChain model, or an object with `call`."""

    is_own: bool
    """Whether it is any object with `call`, such as a stand-in, rather than a provider's model."""


class RequestWatcher(Protocol):
    """Sees model requests; from any thread."""

    def answer(self, request: ModelRequest) -> Reply | None:
        """Return the reply to a request, which then is not sent; None leaves it to others. What it raises, the request raises."""
        ...

    def sending(self, request: ModelRequest) -> None:
        """Called when a request is about to be sent, as no watcher answers it. Its exceptions are raised by the request."""
        ...

    def answered(self, request: ModelRequest, reply: Reply) -> None:
        """A model has answered a request that was sent."""
        ...


WATCHERS: list[RequestWatcher] = []
"""The watchers of this process, the innermost last. Not of a context: a run may ask from any thread."""


class WatchedModel:
    """A model of which watchers see the requests; `_complete` and `_acomplete` send them."""

    name: Any
    _complete: Any
    _acomplete: Any
    _request_source: tuple[object, bool]
    """`source` and `is_own` of the requests."""

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation."""
        if not WATCHERS:
            return self._complete(messages, tools, stop, config)
        request = ModelRequest(self.name, messages, tools, stop, *self._request_source)
        reply = _answer_of_watcher(request)
        return _notified(request, self._complete(messages, tools, stop, config)) if reply is None else reply

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation; see `complete`."""
        if not WATCHERS:
            return await self._acomplete(messages, tools, stop, config)
        request = ModelRequest(self.name, messages, tools, stop, *self._request_source)
        reply = _answer_of_watcher(request)
        return _notified(request, await self._acomplete(messages, tools, stop, config)) if reply is None else reply


def _answer_of_watcher(request: ModelRequest) -> Reply | None:
    """Return the reply of the innermost watcher that answers a request; None if it must be sent."""
    for watcher in reversed(WATCHERS):
        reply = watcher.answer(request)
        if reply is not None:
            return reply
    for watcher in reversed(WATCHERS):
        watcher.sending(request)
    return None


def _notified(request: ModelRequest, reply: Reply) -> Reply:
    for watcher in reversed(WATCHERS):
        watcher.answered(request, reply)
    return reply


M = TypeVar("M", bound=Model)


class ModelWrapper(Generic[M]):
    """Delegates name, identity and protocol to the wrapped model; subclasses are dataclasses."""

    model: M

    @cached_property
    def innermost(self) -> Model:
        """The model inside all wrappers."""
        return self.model.innermost if isinstance(self.model, ModelWrapper) else self.model

    @property
    def name(self) -> str:
        """The name of the model at its provider."""
        return self.innermost.name

    @property
    def identity(self) -> PlainMapping:
        """Name and parameters as plain data."""
        return self.innermost.identity

    @property
    def native_tools(self) -> bool:
        """Whether the model supports native tool calls."""
        return self.innermost.native_tools

    def for_structure(self, structure: type[BaseModel]) -> Self | None:
        """Return a copy around a model that answers with an instance of a pydantic model; None if it cannot."""
        model = structured_model(self.model, structure)
        return None if model is None else cast("Self", replace(cast("Any", self), model=model))
