"""Conversion of the events of tasks to the items of `crew.stream` and `flow.stream`."""

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
from crewgraph.definitions.task.task import DelegatedTaskDefinition
from crewgraph.events.agent import AgentStepEvent
from crewgraph.events.base import BaseEvent, brief
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMStreamChunkEvent
from crewgraph.events.people import LLMGuardrailCompletedEvent
from crewgraph.events.task import TaskCompletedEvent, TaskFailedEvent, TaskStartedEvent
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent
from crewgraph.llm.usage import UsageMetrics

ItemFields = Mapping[str, Any]
"""The fields `task` and `agent`, which every item of a task has; in a flow also `crew`, `method` and `execution`."""


@dataclass(frozen=True)
class TaskView:
    """A task as its items show it."""

    index: int
    description: str
    fields: ItemFields


def task_of(event: BaseEvent) -> object:
    """Return the task of an event, also for work delegated to a coworker; None if it has none."""
    task = _own_task(event)
    return task.original if isinstance(task, DelegatedTaskDefinition) else task


def _own_task(event: BaseEvent) -> object:
    task = getattr(event, "from_task", None)
    return task if task is not None else getattr(event, "task", None)


def item_of(event: BaseEvent, view: TaskView) -> StreamItem | None:
    """Return the item for an event of a task; None for events that are not streamed."""
    task = _own_task(event)
    fields = {**view.fields, "agent": task.coworker_role} if isinstance(task, DelegatedTaskDefinition) else view.fields
    if isinstance(event, TaskStartedEvent):
        return TaskStarted(**fields, index=view.index, name=event.task.name, description=view.description)
    make_item = _ITEM_FACTORIES.get(type(event))
    return None if make_item is None else make_item(event, fields)


def _token(event: LLMStreamChunkEvent, fields: ItemFields) -> StreamItem:
    call = event.tool_call
    if call is None:
        return Token(**fields, text=event.chunk)
    return ToolCallToken(
        **fields,
        tool=call.function.name or "",
        text=event.chunk,
        arguments=call.function.arguments,
        id=call.id,
        index=call.index,
    )


def _model_finished(event: LLMCallCompletedEvent, fields: ItemFields) -> StreamItem:
    text = event.response if isinstance(event.response, str) else ""
    usage = None if event.usage is None else UsageMetrics(**event.usage, successful_requests=1)
    return ModelFinished(**fields, model=event.model or "", text=text, usage=usage, error=None)


_ITEM_FACTORIES: Mapping[type[BaseEvent], Callable[[Any, ItemFields], StreamItem]] = {
    TaskCompletedEvent: lambda event, fields: TaskFinished(**fields, output=event.output),
    TaskFailedEvent: lambda event, fields: TaskFailed(**fields, error=event.error),
    LLMCallStartedEvent: lambda event, fields: ModelStarted(**fields, model=event.model or ""),
    LLMStreamChunkEvent: _token,
    LLMCallCompletedEvent: _model_finished,
    LLMCallFailedEvent: lambda event, fields: ModelFinished(
        **fields, model=event.model or "", text="", usage=None, error=event.error
    ),
    ToolUsageStartedEvent: lambda event, fields: ToolStarted(**fields, tool=event.tool_name, args=event.tool_args),
    ToolUsageFinishedEvent: lambda event, fields: ToolFinished(
        **fields,
        tool=event.tool_name,
        args=event.tool_args,
        output=str(event.output),
        failed=False,
        from_cache=event.from_cache,
    ),
    ToolUsageErrorEvent: lambda event, fields: ToolFinished(
        **fields, tool=event.tool_name, args=event.tool_args, output=str(brief(event.error)), failed=True
    ),
    AgentStepEvent: lambda event, fields: Step(**fields, number=event.iteration, step=event.step),
    LLMGuardrailCompletedEvent: lambda event, fields: Judged(
        **fields, accepted=event.success, reason=event.error, retries=event.retry_count
    ),
}
