"""Human input in flows: feedback on the output of methods, questions from inside methods, and the providers that ask."""

from abc import ABCMeta
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

from crewgraph.definitions.flow.method import ensure_metadata, mark_uncalled
from crewgraph.definitions.html import html_section
from crewgraph.errors import DefinitionError, PicklableError
from crewgraph.schema import Metadata, PlainDict


def class_of_flow(flow: object) -> str:
    """Return the name of a flow's class, with its module."""
    return f"{type(flow).__module__}.{type(flow).__qualname__}"


@dataclass
class PendingFeedbackContext:
    """A request for feedback on a method's output, as passed to persistence backends."""

    flow_id: str
    """The id of the run."""

    flow_class: str
    """The class of the flow, with its module."""

    method_name: str
    """The method."""

    method_output: Any
    """The method's return value, as plain data."""

    message: str
    """The question."""

    emit: list[str] | None = None
    """The possible outcomes of an answer."""

    default_outcome: str | None = None
    """The outcome of an empty answer."""

    metadata: Metadata = field(default_factory=dict[str, Any])
    """Additional data."""

    llm: dict[str, Any] | str | None = None
    """The model that maps answers to outcomes."""

    requested_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the feedback was requested."""

    execution_uuid: str | None = None
    trace_context: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `from_dict`."""
        data = asdict(self)
        return {**data, "requested_at": self.requested_at.isoformat()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PendingFeedbackContext":
        """Load a context from the data of `to_dict`.

        Raises:
            TypeError: A required value is missing.
            ValueError: The time is invalid.
        """
        known = {attribute.name for attribute in fields(cls)}
        values = {name: value for name, value in data.items() if name in known}
        if isinstance(values.get("requested_at"), str):
            values["requested_at"] = datetime.fromisoformat(values["requested_at"])
        return cls(**values)


class HumanFeedbackPending(PicklableError, metaclass=ABCMeta):
    """Raised by a provider that asked a person and does not wait: the run is stored, and resumes with the answer.

    The `PendingFlow` that `kickoff` then returns is also an instance of this class.
    """

    def __init__(self, context: Any, callback_info: PlainDict | None = None, message: str | None = None) -> None:
        """Pause a run.

        Args:
            context: The question, as passed to the provider.
            callback_info: Data for the caller of `kickoff`, such as a URL or a ticket id.
            message: The message of the exception; None uses a default.
        """
        self.context, self.callback_info = context, callback_info or {}
        where = f"`{context.method_name}`" if hasattr(context, "method_name") else "a flow"
        super().__init__(message or f"{where} waits for a person's answer")


Method = TypeVar("Method", bound=Callable[..., Any])

FEEDBACK_SUFFIX = ":feedback"
"""The suffix of question ids: `<execution id>:feedback` asks about the output of an execution."""


@dataclass
class HumanFeedbackResult:
    """The feedback on a method's output, which the method's listeners receive."""

    output: Any
    """The method's return value."""

    feedback: str
    """The text of the feedback."""

    outcome: str | None = None
    """The outcome of the feedback, if `emit` was given."""

    timestamp: datetime = field(default_factory=datetime.now)
    """When the feedback was given."""

    method_name: str = ""
    """The method."""

    metadata: Metadata = field(default_factory=dict[str, Any])
    """The metadata passed to the decorator."""


def label_value(method: str, value: object) -> object:
    """Return what decides a method's labels, and what its listeners by name receive: the outcome of feedback on its output."""
    return value.outcome if _has_outcome(value, method) else value


def output_value(method: str, value: object) -> object:
    """Return what counts as a method's output: what it returned itself, if the feedback on it has an outcome."""
    return value.output if _has_outcome(value, method) else value


def _has_outcome(value: object, method: str) -> TypeGuard[HumanFeedbackResult]:
    return isinstance(value, HumanFeedbackResult) and value.method_name == method and value.outcome is not None


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that a flow's run waits for."""

    id: str
    """The id of the question within the run."""

    method: str
    """The method that asks."""

    message: str
    """The question."""

    output: Any = None
    """The output to review, as plain data."""

    outcomes: tuple[str, ...] = ()
    """The possible outcomes of the answer."""

    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Additional data passed by the asking code."""

    refused: str | None = None
    """Why the previous answer was rejected."""

    callback_info: Mapping[str, Any] | None = None
    """The `callback_info` of a provider that does not wait."""

    flow_id: str = field(default="", compare=False)
    """The run."""

    flow_class: str = field(default="", compare=False)
    """The class of the flow, with its module."""

    default_outcome: str | None = field(default=None, compare=False)
    """The outcome of an empty answer."""

    @property
    def context(self) -> PendingFeedbackContext:
        """The question in the form of CrewAI."""
        names = ("flow_id", "flow_class", "method_name", "method_output", "message", "emit", "default_outcome")
        return PendingFeedbackContext(**{name: getattr(self, name) for name in names}, metadata=dict(self.metadata))

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain data, as a `PendingFeedbackContext` has it."""
        return self.context.to_dict()

    @property
    def method_name(self) -> str:
        """The method that asks."""
        return self.method

    @property
    def method_output(self) -> Any:
        """The output to review."""
        return self.output

    @property
    def emit(self) -> list[str] | None:
        """The possible outcomes of the answer, or None."""
        return list(self.outcomes) or None

    def summary(self) -> str:
        """Return the question in one line."""
        words = f" ({' / '.join(self.outcomes)})" if self.outcomes else ""
        refused = " again, because the last answer could not be used" if self.refused else ""
        return f"`{self.method}` asks `{self.message}`{words}{refused}"

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "Question":
        """Load a question from a checkpoint."""
        known: dict[str, Any] = {item.name: data[item.name] for item in fields(cls) if data.get(item.name) is not None}
        known["outcomes"] = tuple(known.get("outcomes", ()))
        return cls(**known)


@HumanFeedbackPending.register
@dataclass(frozen=True, kw_only=True)
class PendingFlow:
    """Returned by `kickoff` if the run waits for answers; `flow.resume(flow_id, answer)` continues it."""

    flow_id: str
    """The run."""

    flow: str
    """The flow's name."""

    questions: tuple[Question, ...]
    """The questions to answer."""

    @property
    def context(self) -> PendingFeedbackContext:
        """The first question as a `PendingFeedbackContext`, as in CrewAI."""
        context = self.questions[0].context
        return replace(context, flow_id=self.flow_id, flow_class=context.flow_class or self.flow)

    @property
    def callback_info(self) -> dict[str, Any]:
        """The `callback_info` of the provider that asked; see `HumanFeedbackPending`."""
        return dict(self.questions[0].callback_info or {})

    def __str__(self) -> str:
        questions = "; ".join(question.summary() for question in self.questions)
        return f"flow `{self.flow}` waits for an answer: {questions}. Answer with `resume({self.flow_id!r}, ...)`."

    def _repr_html_(self) -> str:
        lines = [*(question.summary() for question in self.questions), f"Answer with `resume({self.flow_id!r}, ...)`."]
        return html_section(f"Flow {self.flow} waits for an answer", "\n".join(lines))


@runtime_checkable
class HumanFeedbackProvider(Protocol):
    """Protocol of providers that ask a person for feedback."""

    def request_feedback(self, context: Question, flow: object) -> str:
        """Return the answer to a question, or raise `HumanFeedbackPending` to pause the run."""
        ...


@dataclass(frozen=True, kw_only=True)
class FeedbackRequest:
    """The arguments of `human_feedback`."""

    message: str
    emit: tuple[str, ...] = ()
    llm: Any = None
    default_outcome: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    provider: Any = None
    lessons: str | None = None
    """The source under which the flow's memory has lessons from feedback; None to learn nothing."""

    strict: bool = False
    """Whether errors of learning are raised."""


def human_feedback(
    message: str,
    emit: Sequence[str] | None = None,
    llm: object = None,
    default_outcome: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    provider: HumanFeedbackProvider | None = None,
    learn: bool = False,
    learn_source: str = "hitl",
    learn_strict: bool = False,
) -> Callable[[Method], Method]:
    """Ask a person for feedback on a method's return value; its listeners receive a `HumanFeedbackResult`.

    With a terminal, the question is asked there. Otherwise the run is stored and `kickoff` returns a `PendingFlow`, which any
    process may answer later.

    Args:
        message: The question.
        emit: The possible outcomes; the method becomes a router that emits the outcome of the answer.
        llm: The model that maps answers to outcomes, if they do not name one.
        default_outcome: The outcome of empty or unreadable answers.
        metadata: Additional data.
        provider: Asks the question; None uses the provider of `flow_config`.
        learn: Whether `llm` draws lessons from the feedback, which the flow's memory keeps, and rewrites later outputs by them
            before they are reviewed.
        learn_source: The source of these memories.
        learn_strict: Whether a failure of learning is raised; otherwise it is a warning.

    Raises:
        DefinitionError: `default_outcome` is not in `emit`.
    """
    outcomes = tuple(emit or ())
    if default_outcome is not None and not outcomes:
        raise DefinitionError(
            f"`default_outcome` is {default_outcome!r}, but there is no `emit` that lists the outcomes."
        )
    if default_outcome is not None and default_outcome not in outcomes:
        names = ", ".join(f"`{outcome}`" for outcome in outcomes)
        raise DefinitionError(f"`default_outcome` is {default_outcome!r}, which is not in `emit` (there are: {names}).")

    def marked(method: Method) -> Method:
        method_metadata = ensure_metadata(method)
        method_metadata.feedback = FeedbackRequest(
            message=message,
            emit=outcomes,
            llm=llm,
            default_outcome=default_outcome,
            metadata=metadata or {},
            provider=provider,
            lessons=learn_source if learn else None,
            strict=learn_strict,
        )
        if outcomes:
            method_metadata.is_router, method_metadata.labels = True, outcomes
        return method

    return mark_uncalled(marked, "@human_feedback(...)")


@dataclass
class InputResponse:
    """An answer with its metadata."""

    text: str | None
    """The answer, or None."""

    metadata: Metadata | None = None
    """Additional data, such as who answered."""


@runtime_checkable
class InputProvider(Protocol):
    """Protocol of providers that answer questions of `Flow.ask`."""

    def request_input(self, message: str, flow: object, metadata: Metadata | None = None) -> str | InputResponse | None:
        """Return the answer to a question.

        Args:
            message: The question.
            flow: The flow that asks.
            metadata: Additional data of the question.
        """
        ...


class FlowConfig:
    """The default providers of all flows in this process."""

    hitl_provider: HumanFeedbackProvider | None = None
    """Asks for feedback if `human_feedback` has no `provider`."""

    input_provider: InputProvider | None = None
    """Answers `ask` if the flow has no `input_provider`."""


flow_config = FlowConfig()
"""The configuration of this process."""
