"""The types that CrewAI's flows are annotated with."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal, NewType, NotRequired, ParamSpec, Protocol, Required, TypedDict, TypeVar

from crewgraph.definitions.flow.method import FlowCondition

__all__ = [
    "AND_CONDITION",
    "OR_CONDITION",
    "CompletedMethodData",
    "ExecutionMethodData",
    "FlowConditionType",
    "FlowConditions",
    "FlowData",
    "FlowExecutionData",
    "FlowMethodCallable",
    "FlowMethodData",
    "FlowMethodDecorator",
    "FlowMethodName",
    "FlowTrigger",
    "InputHistoryEntry",
    "PendingListenerKey",
    "SimpleFlowCondition",
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
"""What `@start`, `@listen` and `@router` take."""


class FlowMethodCallable(Protocol[P, R]):
    """A function that has a name."""

    __name__: FlowMethodName

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


class FlowMethodDecorator(Protocol):
    """What `@listen(...)` gives: it takes the method."""

    def __call__(self, func: Callable[..., Any]) -> Any: ...


class FlowMethodData(TypedDict):
    """A method."""

    name: str
    starting_point: NotRequired[bool]


class CompletedMethodData(TypedDict):
    """A method that is done."""

    flow_method: FlowMethodData
    status: str


class ExecutionMethodData(TypedDict, total=False):
    """A method that was run."""

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
    """A question that a flow has asked, and its answer."""

    message: str
    response: str | None
    method_name: str
    timestamp: datetime
    metadata: dict[str, Any] | None
    response_metadata: dict[str, Any] | None
