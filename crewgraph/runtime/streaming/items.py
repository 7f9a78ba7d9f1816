"""From an event of a task to what `crew.stream` tells of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crewgraph.definitions.stream import (
    Judged,
    ModelFinished,
    ModelStarted,
    Step,
    StreamItem,
    TaskFailed,
    TaskFinished,
    TaskStarted,
    Token,
    ToolCallToken,
    ToolFinished,
    ToolStarted,
)
from crewgraph.definitions.task.delegated import DelegatedTask
from crewgraph.events.agent import AgentStepEvent
from crewgraph.events.base import BaseEvent
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMStreamChunkEvent
from crewgraph.events.people import LLMGuardrailCompletedEvent
from crewgraph.events.task import TaskCompletedEvent, TaskFailedEvent, TaskStartedEvent
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent
from crewgraph.llm.usage import UsageMetrics

__all__ = ["Shown", "Whose", "item_of", "task_of"]

Whose = Mapping[str, Any]
"""`task` and `agent`, as every item of a task has them; in a flow also `crew`, `method` and `execution`."""


@dataclass(frozen=True)
class Shown:
    """A task as items speak of it."""

    index: int
    description: str
    whose: Whose


def task_of(event: BaseEvent) -> object:
    """The task that an event belongs to, also in a coworker's hands; None where it belongs to none."""
    task = _named(event)
    return task.whole if isinstance(task, DelegatedTask) else task


def _named(event: BaseEvent) -> Any:
    task = getattr(event, "from_task", None)
    return task if task is not None else getattr(event, "task", None)


def item_of(event: BaseEvent, shown: Shown) -> StreamItem | None:
    """The item for an event of a task; None where the stream does not speak of such events."""
    part = _named(event)
    whose = {**shown.whose, "agent": part.coworker_role} if isinstance(part, DelegatedTask) else shown.whose
    if isinstance(event, TaskStartedEvent):
        return TaskStarted(**whose, index=shown.index, name=event.task.name, description=shown.description)
    made = _MADE.get(type(event))
    return None if made is None else made(event, whose)


def _task_finished(event: TaskCompletedEvent, whose: Whose) -> StreamItem:
    return TaskFinished(**whose, output=event.output)


def _task_failed(event: TaskFailedEvent, whose: Whose) -> StreamItem:
    return TaskFailed(**whose, error=event.error)


def _model_started(event: LLMCallStartedEvent, whose: Whose) -> StreamItem:
    return ModelStarted(**whose, model=event.model or "")


def _piece(event: LLMStreamChunkEvent, whose: Whose) -> StreamItem:
    called = event.tool_call
    if called is None:
        return Token(**whose, text=event.chunk)
    return ToolCallToken(
        **whose,
        tool=called.function.name or "",
        text=event.chunk,
        arguments=called.function.arguments,
        id=called.id,
        index=called.index,
    )


def _model_finished(event: LLMCallCompletedEvent, whose: Whose) -> StreamItem:
    text = event.response if isinstance(event.response, str) else ""
    usage = None if event.usage is None else UsageMetrics(**event.usage, successful_requests=1)
    return ModelFinished(**whose, model=event.model or "", text=text, usage=usage, error=None)


def _model_failed(event: LLMCallFailedEvent, whose: Whose) -> StreamItem:
    return ModelFinished(**whose, model=event.model or "", text="", usage=None, error=event.error)


def _tool_started(event: ToolUsageStartedEvent, whose: Whose) -> StreamItem:
    return ToolStarted(**whose, tool=event.tool_name, args=event.tool_args)


def _tool_finished(event: ToolUsageFinishedEvent, whose: Whose) -> StreamItem:
    return ToolFinished(**whose, tool=event.tool_name, args=event.tool_args, output=str(event.output), failed=False)


def _tool_failed(event: ToolUsageErrorEvent, whose: Whose) -> StreamItem:
    return ToolFinished(**whose, tool=event.tool_name, args=event.tool_args, output=str(event.error), failed=True)


def _step(event: AgentStepEvent, whose: Whose) -> StreamItem:
    return Step(**whose, number=event.iteration, step=event.step)


def _judged(event: LLMGuardrailCompletedEvent, whose: Whose) -> StreamItem:
    return Judged(**whose, accepted=event.success, reason=event.error, retries=event.retry_count)


_MADE: Mapping[type[BaseEvent], Callable[[Any, Whose], StreamItem]] = {
    TaskCompletedEvent: _task_finished,
    TaskFailedEvent: _task_failed,
    LLMCallStartedEvent: _model_started,
    LLMStreamChunkEvent: _piece,
    LLMCallCompletedEvent: _model_finished,
    LLMCallFailedEvent: _model_failed,
    ToolUsageStartedEvent: _tool_started,
    ToolUsageFinishedEvent: _tool_finished,
    ToolUsageErrorEvent: _tool_failed,
    AgentStepEvent: _step,
    LLMGuardrailCompletedEvent: _judged,
}
