"""Fallback models: each is tried when the ones before it failed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from crewgraph.core.cancellation import raised_by_handler
from crewgraph.core.messages import Reply, Usage
from crewgraph.core.operations import Program
from crewgraph.core.outages import status_of
from crewgraph.core.protocols import Model
from crewgraph.errors import CrewgraphError, ModelError
from crewgraph.llm.asking import AskingModel, asking
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
class FallbackModel(AskingModel):
    """Several models as one, identified by the first, so that a resumed run may have other fallbacks.

    Tools are bound natively if all models support that.
    """

    models: Sequence[Model]
    """At least one model, in the order to try; every request starts with the first."""

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

    def answer(self, *request: Any) -> Program[Reply]:
        """Answer a conversation; the reply names the model that answered if it is not the first."""

        def ask(model: Model, _: bool) -> Program[Reply]:
            return (yield asking(model, *request))

        return first_answer(self.models, ask)


def first_answer(
    models: Sequence[Model], ask: Callable[[Model, bool], Program[Reply]], on_fallback: OnFallback | None = None
) -> Program[Reply]:
    """Return the answer of the first model that does not fail, with its name if it is not the first.

    Args:
        models: The models, in the order to try.
        ask: Asks one, given whether it is the last.
        on_fallback: Called before each further model.
    """
    reasons: list[str] = []
    used: list[tuple[str, Usage | None]] = []  # by models whose answers are not whole
    for number, model in enumerate(models):
        following = next(iter(models[number + 1 :]), None)
        try:
            reply: Reply = yield from ask(model, following is None)
        except Exception as error:
            if following is None or not may_fall_back(error):
                if reasons:
                    error.add_note(f"`{model.name}` was called because {'; '.join(reasons)}")
                raise
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, UnfinishedReply):
                used.append((model.name, error.usage))
            reasons.append(f"`{model.name}` failed ({reason})")
            _log.warning("model `%s` failed, falling back to `%s`: %s", model.name, following.name, reason)
            if on_fallback is not None:
                on_fallback(model.name, following.name, error)
            continue
        if not number:
            return reply
        reply = {**reply, "model": reply.get("model") or model.name}
        return {**reply, "before": used} if used else reply
    raise AssertionError("the last attempt raises")
