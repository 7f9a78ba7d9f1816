"""People in a flow: methods whose output somebody looks at, and questions in the middle of a method.

A question about a method's output, as backends of users' own are given it.

Who answers what methods ask with `self.ask`.

What holds for all flows of a process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from crewgraph.definitions.flow.method import ensure_metadata, mark_uncalled
from crewgraph.errors import DefinitionError

__all__ = [
    "FEEDBACK_SUFFIX",
    "FeedbackRequest",
    "FlowConfig",
    "HumanFeedbackPending",
    "HumanFeedbackProvider",
    "HumanFeedbackResult",
    "InputProvider",
    "InputResponse",
    "PendingFeedbackContext",
    "PendingFlow",
    "Question",
    "flow_config",
    "human_feedback",
]


@dataclass
class PendingFeedbackContext:
    """What somebody is to look at, and what is asked of it."""

    flow_id: str
    """The run."""

    flow_class: str
    """The class of the flow, with its module."""

    method_name: str
    """The method."""

    method_output: Any
    """What it returned, as plain data."""

    message: str
    """What is asked."""

    emit: list[str] | None = None
    """The outcomes that an answer may come to."""

    default_outcome: str | None = None
    """What an empty answer comes to."""

    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """What else is to be known."""

    llm: dict[str, Any] | str | None = None
    """The model that reads answers."""

    requested_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When it was asked."""

    execution_uuid: str | None = None
    trace_context: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        told = asdict(self)
        return {**told, "requested_at": self.requested_at.isoformat()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PendingFeedbackContext":
        """The context that plain data tell of.

        Raises:
            TypeError: something is missing.
            ValueError: the time is none.
        """
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in data.items() if name in known}
        if isinstance(values.get("requested_at"), str):
            values["requested_at"] = datetime.fromisoformat(values["requested_at"])
        return cls(**values)


class _PendingMeta(type):
    """What a paused run returns counts as the exception that paused it, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or getattr(instance, "is_paused_flow", False) is True


class HumanFeedbackPending(Exception, metaclass=_PendingMeta):
    """Raised by a provider that has asked somebody, and does not wait: the run is kept, and goes on with the answer.

    What `kickoff` returns then is an instance of this, too.
    """

    def __init__(self, context: Any, callback_info: dict[str, Any] | None = None, message: str | None = None) -> None:
        """Pause a run.

        Args:
            context: the question, as the provider was given it.
            callback_info: what whoever kicked the run off is to know: an address, the id of a ticket.
            message: what is told; a few words where None.
        """
        self.context, self.callback_info = context, callback_info or {}
        where = f"`{context.method_name}`" if hasattr(context, "method_name") else "a flow"
        super().__init__(message or f"{where} waits for somebody's answer")


Method = TypeVar("Method", bound=Callable[..., Any])

FEEDBACK_SUFFIX = ":feedback"
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

    callback_info: Mapping[str, Any] | None = None
    """What a provider that does not wait has told."""

    flow_id: str = field(default="", compare=False)
    """The run."""

    default_outcome: str | None = field(default=None, compare=False)
    """What an empty answer comes to."""

    @property
    def method_name(self) -> str:
        """The method that asks."""
        return self.method

    @property
    def method_output(self) -> Any:
        """What is to be looked at."""
        return self.output

    @property
    def emit(self) -> list[str] | None:
        """What the answer may come to."""
        return list(self.outcomes) or None

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
            callback_info=data.get("callback_info"),
            flow_id=data.get("flow_id", ""),
            default_outcome=data.get("default_outcome"),
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

    is_paused_flow: ClassVar[bool] = True
    """It counts as a `HumanFeedbackPending`."""

    @property
    def context(self) -> PendingFeedbackContext:
        """The first question, in CrewAI's form."""
        asked = self.questions[0]
        return PendingFeedbackContext(
            flow_id=self.flow_id,
            flow_class=self.flow,
            method_name=asked.method,
            method_output=asked.output,
            message=asked.message,
            emit=asked.emit,
            default_outcome=asked.default_outcome,
            metadata=dict(asked.metadata),
        )

    @property
    def callback_info(self) -> dict[str, Any]:
        """What the provider that asked has told; see `HumanFeedbackPending`."""
        return dict(self.questions[0].callback_info or {})

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
class FeedbackRequest:
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
    learn: bool = False,
    learn_source: str = "hitl",
    learn_strict: bool = False,
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
        provider: asks in a way of its own; that of `flow_config` where None.
        learn: not offered.
        learn_source: goes with `learn`.
        learn_strict: goes with `learn`.

    Raises:
        DefinitionError: the default is none of the outcomes, or the feedback is to be learnt from.
    """
    if learn:
        raise DefinitionError(
            "`learn=True` is not offered: nothing is changed by what people said earlier. Take it out; `self.remember(...)` and "
            "`self.recall(...)` keep and find such lessons."
        )
    outcomes = tuple(emit or ())
    if default_outcome is not None and default_outcome not in outcomes:
        told = ", ".join(f"`{one}`" for one in outcomes) or "none"
        raise DefinitionError(f"`default_outcome` is {default_outcome!r}, which is not in `emit` (there are: {told}).")

    def marked(method: Method) -> Method:
        notes = ensure_metadata(method)
        notes.feedback = FeedbackRequest(
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

    return mark_uncalled(marked, "@human_feedback(...)")


@dataclass
class InputResponse:
    """An answer, and what else is known of it."""

    text: str | None
    """The answer; None where there is none."""

    metadata: dict[str, Any] | None = None
    """What else is known: who answered, and where."""


@runtime_checkable
class InputProvider(Protocol):
    """Answers questions in a way of its own."""

    def request_input(
        self, message: str, flow: Any, metadata: dict[str, Any] | None = None
    ) -> str | InputResponse | None:
        """The answer to a question.

        Args:
            message: what is asked.
            flow: the flow that asks.
            metadata: what else is to be known.
        """
        ...


class FlowConfig:
    """Who answers for flows that name nobody themselves."""

    def __init__(self) -> None:
        self._hitl_provider: HumanFeedbackProvider | None = None
        self._input_provider: InputProvider | None = None

    @property
    def hitl_provider(self) -> HumanFeedbackProvider | None:
        """Asks people about outputs, where `human_feedback` has no `provider`."""
        return self._hitl_provider

    @hitl_provider.setter
    def hitl_provider(self, provider: HumanFeedbackProvider | None) -> None:
        self._hitl_provider = provider

    @property
    def input_provider(self) -> InputProvider | None:
        """Answers `ask`, where the flow has no `input_provider`."""
        return self._input_provider

    @input_provider.setter
    def input_provider(self, provider: InputProvider | None) -> None:
        self._input_provider = provider


flow_config = FlowConfig()
"""That of this process."""
