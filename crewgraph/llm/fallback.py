"""Fallback models: each is tried when the ones before it failed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel

from crewgraph.core.cancellation import raised_by_handler
from crewgraph.core.messages import Message, Reply, ToolSpec, Usage
from crewgraph.core.outages import status_of
from crewgraph.core.protocols import Config, Model
from crewgraph.errors import CrewgraphError, ModelError
from crewgraph.llm.errors import ContextLengthExceeded, UnfinishedReply
from crewgraph.llm.structure import structured_model
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainMapping
from crewgraph.tracebacks import raised_by_signal

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
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation; the reply names the model that answered if it is not the first."""
        failures = _Failures(self)
        for number, model in enumerate(self.models):
            try:
                return failures.named(number, model.complete(messages, tools, stop, config))
            except Exception as error:
                if not failures.pass_on(number, error):
                    raise
        raise AssertionError("the last attempt raises")

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: Config
    ) -> Reply:
        """Answer a conversation; see `complete`."""
        failures = _Failures(self)
        for number, model in enumerate(self.models):
            try:
                return failures.named(number, await model.acomplete(messages, tools, stop, config))
            except Exception as error:
                if not failures.pass_on(number, error):
                    raise
        raise AssertionError("the last attempt raises")


class _Failures:
    """The models that failed in one request."""

    def __init__(self, owner: FallbackModel) -> None:
        self._owner = owner
        self._reasons: list[str] = []
        self._used: list[tuple[str, Usage | None]] = []

    def named(self, number: int, reply: Reply) -> Reply:
        """Return the reply with the name of the model, and what the models before have used, whose answers are not whole."""
        if not number:
            return reply
        reply = {**reply, "model": reply.get("model") or self._owner.models[number].name}
        return {**reply, "before": self._used} if self._used else reply

    def pass_on(self, number: int, error: Exception) -> bool:
        """Whether the next model may avoid an error; the failure is noted then."""
        name, following = self._owner.models[number].name, self._owner.models[number + 1 : number + 2]
        if not following or not may_fall_back(error):
            if self._reasons:
                error.add_note(f"`{name}` was called because {'; '.join(self._reasons)}")
            return False
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, UnfinishedReply):
            self._used.append((name, error.usage))
        self._reasons.append(f"`{name}` failed ({reason})")
        _log.warning("model `%s` failed, falling back to `%s`: %s", name, following[0].name, reason)
        if self._owner.on_fallback is not None:
            self._owner.on_fallback(name, following[0].name, error)
        return True
