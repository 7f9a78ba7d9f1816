"""Fallback models: each is tried when the ones before it failed."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING

from pydantic import BaseModel

from crewgraph.core.cancellation import raised_by_handler
from crewgraph.core.messages import Message, Reply, ToolSpec, Usage
from crewgraph.core.outages import status_of
from crewgraph.core.protocols import Model
from crewgraph.errors import CrewgraphError, ModelError
from crewgraph.llm.errors import ContextLengthExceeded, UnfinishedReply
from crewgraph.llm.structure import structured_model
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainMapping
from crewgraph.tracebacks import raised_by_signal

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["FallbackModel", "OnFallback", "may_fall_back"]


OnFallback = Callable[[str, str, Exception], None]
"""Called with the name of the failed model, the name of the next one, and the error."""

_REQUEST_ERRORS = {400, 413, 422}
"""HTTP status codes of invalid requests, which would fail with any other model, too."""

_log = redacted_logger(__name__)


def may_fall_back(error: BaseException) -> bool:
    """Return whether a failed request may be retried with another model.

    Invalid requests may not, nor conversations that exceed the context window, which are condensed instead. A wrong key,
    an exhausted quota, or a server that is down or sends garbage concern only one model. A callback handler, or a handler of
    a signal, that raises ends the run.
    """
    if not isinstance(error, Exception) or isinstance(error, ContextLengthExceeded):
        return False
    if raised_by_handler(error) or raised_by_signal(error):
        return False
    if isinstance(error, CrewgraphError) and not isinstance(error, ModelError):
        return False  # a limit was reached, for instance
    return status_of(error) not in _REQUEST_ERRORS


@dataclass(frozen=True)
class FallbackModel:
    """Several models as one, identified by the first, so that a resumed run may have other fallbacks.

    Tools are bound natively if all models support that.
    """

    models: Sequence[Model]
    """At least one model, in the order to try; every request starts with the first."""

    on_fallback: OnFallback | None = None

    @property
    def name(self) -> str:
        return self.models[0].name

    @property
    def identity(self) -> PlainMapping:
        return self.models[0].identity

    def for_structure(self, structure: type[BaseModel]) -> "FallbackModel | None":
        """Return a copy whose models answer with an instance of a pydantic model; None if one has no way of its own for it."""
        models: list[Model] = []
        for model in self.models:
            structured = structured_model(model, structure)
            if structured is None:
                return None
            models.append(structured)
        return replace(self, models=models)

    @property
    def native_tools(self) -> bool:
        return all(model.native_tools for model in self.models)

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        """Answer a conversation; the reply names the model that answered if it is not the first."""
        for attempt in self._attempts():
            with attempt:
                return attempt.named(attempt.model.complete(messages, tools, stop, config))
        raise AssertionError("the last attempt raises")

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        """Answer a conversation; see `complete`."""
        for attempt in self._attempts():
            with attempt:
                return attempt.named(await attempt.model.acomplete(messages, tools, stop, config))
        raise AssertionError("the last attempt raises")

    def _attempts(self) -> "Generator[_Attempt]":
        failed: list[str] = []
        used: list[tuple[str, Usage | None]] = []
        for model, following in zip(self.models, [*self.models[1:], None], strict=True):
            yield _Attempt(model, following, self.on_fallback, failed, used, is_first=model is self.models[0])


@dataclass(frozen=True)
class _Attempt:
    """Context manager around a request to one model; suppresses errors that the next model may avoid."""

    model: Model
    next_model: Model | None
    on_fallback: OnFallback | None
    failures: list[str]
    used: list[tuple[str, Usage | None]]
    is_first: bool

    def named(self, reply: Reply) -> Reply:
        """Return the reply with the name of the model, and what the models before have used, whose answers are not whole."""
        if self.is_first:
            return reply
        reply = {**reply, "model": reply.get("model") or self.model.name}
        return {**reply, "before": self.used} if self.used else reply

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        if self.next_model is None or not may_fall_back(error):
            if self.failures:
                error.add_note(f"`{self.model.name}` was called because {'; '.join(self.failures)}")
            return False
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, UnfinishedReply):
            self.used.append((self.model.name, error.usage))
        self.failures.append(f"`{self.model.name}` failed ({reason})")
        _log.warning("model `%s` failed, falling back to `%s`: %s", self.model.name, self.next_model.name, reason)
        if self.on_fallback is not None:
            self.on_fallback(self.model.name, self.next_model.name, error)
        return True
