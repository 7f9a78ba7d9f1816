"""Watchers of model requests: tests forbid requests, record them, or answer them from a recording."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from crewgraph.core.messages import Message, Reply, ToolSpec

__all__ = ["WATCHERS", "ModelRequest", "RequestWatcher", "answer_of_watcher", "notify_watchers"]


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


def answer_of_watcher(request: ModelRequest) -> Reply | None:
    """Return the reply of the innermost watcher that answers a request; None if it must be sent."""
    for watcher in reversed(WATCHERS):
        reply = watcher.answer(request)
        if reply is not None:
            return reply
    for watcher in reversed(WATCHERS):
        watcher.sending(request)
    return None


def notify_watchers(request: ModelRequest, reply: Reply) -> None:
    """Notify the watchers of an answered request."""
    for watcher in reversed(WATCHERS):
        watcher.answered(request, reply)
