"""The types and wrappers used to annotate CrewAI flows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import update_wrapper
from types import MethodType
from typing import Any, Generic, Literal, NewType, NotRequired, ParamSpec, Protocol, Required, TypedDict, TypeVar

from pydantic import BaseModel, Field

from crewgraph.annotations import signature_of
from crewgraph.definitions.flow.method import FlowCondition, MethodMetadata, get_metadata

__all__ = [
    "AND_CONDITION",
    "ANSWER_FROM_HISTORY_DEPRECATION_MESSAGE",
    "OR_CONDITION",
    "CompletedMethodData",
    "CrewInputsWithHITL",
    "DistilledLessons",
    "ExecutionMethodData",
    "FlowConditionType",
    "FlowConditions",
    "FlowData",
    "FlowExecutionData",
    "FlowMethod",
    "FlowMethodCallable",
    "FlowMethodData",
    "FlowMethodDecorator",
    "FlowMethodName",
    "FlowTrigger",
    "HITLResumeInfo",
    "HumanFeedbackCollapseError",
    "HumanFeedbackConfig",
    "InputHistoryEntry",
    "ListenMethod",
    "PendingListenerKey",
    "PreReviewResult",
    "RouterMethod",
    "SimpleFlowCondition",
    "StartMethod",
]


P = ParamSpec("P")
R = TypeVar("R", covariant=True)

FlowMethodName = NewType("FlowMethodName", str)
PendingListenerKey = NewType("PendingListenerKey", str)

AND_CONDITION: Literal["AND"] = "AND"
OR_CONDITION: Literal["OR"] = "OR"
FlowConditionType = Literal["OR", "AND"]
SimpleFlowCondition = tuple[FlowConditionType, list[FlowMethodName]]
FlowConditions = list[FlowMethodName | FlowCondition]
FlowTrigger = str | FlowCondition | Callable[..., Any]
"""The condition of `@start`, `@listen` and `@router`."""


class FlowMethodCallable(Protocol[P, R]):
    """A named function."""

    __name__: FlowMethodName

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


class FlowMethodDecorator(Protocol):
    """The result of `@listen(...)`: a decorator of methods."""

    def __call__(self, func: Callable[..., Any]) -> Any: ...


class FlowMethodData(TypedDict):
    """A method."""

    name: str
    starting_point: NotRequired[bool]


class CompletedMethodData(TypedDict):
    """A completed method."""

    flow_method: FlowMethodData
    status: str


class ExecutionMethodData(TypedDict, total=False):
    """An execution of a method."""

    flow_method: Required[FlowMethodData]
    started_at: Required[str]
    finished_at: str
    status: Required[str]
    initial_state: dict[str, Any]
    final_state: dict[str, Any]
    error_details: dict[str, Any]


class FlowData(TypedDict):
    """A flow."""

    name: str
    flow_methods_attributes: list[FlowMethodData]


class FlowExecutionData(TypedDict):
    """A run of a flow."""

    id: str
    flow: FlowData
    inputs: dict[str, Any]
    completed_methods: list[CompletedMethodData]
    execution_methods: list[ExecutionMethodData]


class InputHistoryEntry(TypedDict):
    """A question asked by a flow, with its answer."""

    message: str
    response: str | None
    method_name: str
    timestamp: datetime
    metadata: dict[str, Any] | None
    response_metadata: dict[str, Any] | None


_Returned = TypeVar("_Returned")


class _OfNotes(type):
    """Make decorated methods instances of the class of their decorator."""

    def __instancecheck__(cls, instance: Any) -> bool:
        notes = get_metadata(instance)
        kinds: dict[str, Callable[[MethodMetadata], bool]] = {
            "FlowMethod": lambda _: True,
            "StartMethod": lambda notes: notes.start,
            "RouterMethod": lambda notes: notes.router,
            "ListenMethod": lambda notes: notes.trigger is not None and not notes.router,
        }
        if notes is not None and (said := kinds.get(cls.__name__)) is not None:
            return said(notes)
        return super().__instancecheck__(instance)


class FlowMethod(Generic[P, _Returned], metaclass=_OfNotes):
    """A callable flow method.

    Args:
        meth: the function.
        instance: the flow to bind; None if the caller passes one.
    """

    def __init__(self, meth: Callable[P, _Returned], instance: Any = None) -> None:
        self._meth, self._instance = meth, instance
        update_wrapper(self, meth)
        self.__signature__ = signature_of(meth)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> _Returned:
        if self._instance is None:
            return self._meth(*args, **kwargs)
        bound: Callable[..., _Returned] = MethodType(self._meth, self._instance)
        return bound(*args, **kwargs)

    def unwrap(self) -> Callable[P, _Returned]:
        """Return the wrapped function."""
        return self._meth

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> "FlowMethod[P, _Returned]":
        return self if instance is None else type(self)(self._meth, instance)


class StartMethod(FlowMethod[P, _Returned]):
    """A method that starts a run."""


class ListenMethod(FlowMethod[P, _Returned]):
    """A method that runs after other methods or events."""


class RouterMethod(FlowMethod[P, _Returned]):
    """A method whose return value selects the next event."""


class HumanFeedbackCollapseError(ValueError):
    """Feedback matches none of the outcomes; here a `RunError` is raised instead."""


class PreReviewResult(BaseModel):
    """An output, corrected before a person reviews it."""

    improved_output: str
    """The output to show."""


class DistilledLessons(BaseModel):
    """The lessons of a person's feedback."""

    lessons: list[str] = Field(default_factory=list)
    """The lessons, each a sentence."""


@dataclass
class HumanFeedbackConfig:
    """The arguments of `human_feedback`."""

    message: str
    emit: Sequence[str] | None = None
    llm: Any = None
    default_outcome: str | None = None
    metadata: dict[str, Any] | None = None
    provider: Any = None
    learn: bool = False
    learn_source: str = "hitl"
    learn_strict: bool = False


class HITLResumeInfo(TypedDict, total=False):
    """The task that a person answered, and the answer; crewgraph uses `crew.resume(thread_id, answer)`."""

    task_id: str
    crew_execution_id: str
    task_key: str
    task_output: str
    human_feedback: str
    previous_messages: list[dict[str, str]]


class CrewInputsWithHITL(TypedDict, total=False):
    """Inputs with resume information."""

    _hitl_resume: HITLResumeInfo


ANSWER_FROM_HISTORY_DEPRECATION_MESSAGE = (
    "`answer_from_history` asks a model before every turn; a router with access to the messages gives the same result."
)
"""The deprecation message of the conversational route; the route works here, so it is never shown."""
