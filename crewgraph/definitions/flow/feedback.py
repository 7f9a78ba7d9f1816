"""People in a flow: methods whose output somebody looks at, and questions in the middle of a method."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar, runtime_checkable

from crewgraph.definitions.flow.method import noted, unfinished
from crewgraph.errors import DefinitionError

__all__ = [
    "FEEDBACK",
    "FeedbackWish",
    "HumanFeedbackProvider",
    "HumanFeedbackResult",
    "PendingFlow",
    "Question",
    "human_feedback",
]

Method = TypeVar("Method", bound=Callable[..., Any])

FEEDBACK = ":feedback"
"""What stands behind an execution's id in the id of the question about its output."""


@dataclass
class HumanFeedbackResult:
    """What somebody said of a method's output; the method's listeners are given it."""

    output: Any
    """What the method returned."""

    feedback: str
    """What was said."""

    outcome: str | None = None
    """Which of the outcomes that comes to, where there are some."""

    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When."""

    method_name: str = ""
    """The method."""

    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the decorator was given."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """Something that a run waits to be told."""

    id: str
    """Its name within the run."""

    method: str
    """The method that asks."""

    message: str
    """What is asked."""

    output: Any = None
    """What is to be looked at, as plain data."""

    outcomes: tuple[str, ...] = ()
    """What the answer may come to."""

    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else whoever asks wants to be known."""

    refused: str | None = None
    """Why the last answer could not be taken."""

    def told(self) -> str:
        """The question in a line."""
        words = f" ({' / '.join(self.outcomes)})" if self.outcomes else ""
        refused = " again, for the last answer could not be taken" if self.refused else ""
        return f"`{self.method}` asks `{self.message}`{words}{refused}"

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "Question":
        """The question that a checkpoint holds."""
        return cls(
            id=data["id"],
            method=data["method"],
            message=data["message"],
            output=data.get("output"),
            outcomes=tuple(data.get("outcomes") or ()),
            metadata=data.get("metadata") or {},
            refused=data.get("refused"),
        )


@dataclass(frozen=True, kw_only=True)
class PendingFlow:
    """What a kickoff returns whose run waits for answers: it is kept, and goes on with `flow.resume(flow_id, answer)`."""

    flow_id: str
    """The run."""

    flow: str
    """The flow's name."""

    questions: tuple[Question, ...]
    """What it waits for."""

    def __str__(self) -> str:
        asked = "; ".join(one.told() for one in self.questions)
        return f"flow `{self.flow}` waits for an answer: {asked}. Answer with `resume({self.flow_id!r}, ...)`."


@runtime_checkable
class HumanFeedbackProvider(Protocol):
    """Asks people in a way of its own."""

    def request_feedback(self, context: Question, flow: Any) -> str:
        """The answer to a question; see `Question`."""
        ...


@dataclass(frozen=True, kw_only=True)
class FeedbackWish:
    """What `human_feedback` was given."""

    message: str
    emit: tuple[str, ...] = ()
    llm: Any = None
    default_outcome: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    provider: Any = None


def human_feedback(
    message: str,
    emit: Sequence[str] | None = None,
    llm: Any = None,
    default_outcome: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    provider: HumanFeedbackProvider | None = None,
) -> Callable[[Method], Method]:
    """Let somebody look at what a method returns; its listeners are given a `HumanFeedbackResult`.

    On a terminal the question is asked there. Elsewhere the run is kept and `kickoff` returns a `PendingFlow`, which any
    process may answer at any time.

    Args:
        message: what is asked.
        emit: the outcomes an answer may come to; the method is then a router, and fires the one it came to.
        llm: the model that reads an answer which names no outcome.
        default_outcome: what an empty answer comes to, and one that cannot be read.
        metadata: what else is to be known.
        provider: asks in a way of its own.

    Raises:
        DefinitionError: the default is none of the outcomes.
    """
    outcomes = tuple(emit or ())
    if default_outcome is not None and default_outcome not in outcomes:
        told = ", ".join(f"`{one}`" for one in outcomes) or "none"
        raise DefinitionError(f"`default_outcome` is {default_outcome!r}, which is not in `emit` (there are: {told}).")

    def marked(method: Method) -> Method:
        notes = noted(method)
        notes.feedback = FeedbackWish(
            message=message,
            emit=outcomes,
            llm=llm,
            default_outcome=default_outcome,
            metadata=metadata or {},
            provider=provider,
        )
        if outcomes:
            notes.router, notes.labels = True, outcomes
        return method

    return unfinished(marked, "@human_feedback(...)")
