"""Who watches a flow's run through `flow.stream`."""

from collections.abc import Callable, Mapping
from typing import Any

from crewgraph.compiler.flow.run import RUNNING, Running
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.stream import (
    Asked,
    CrewFailed,
    CrewFinished,
    CrewStarted,
    FlowFinished,
    FlowPaused,
    FlowStarted,
    MethodFailed,
    MethodFinished,
    MethodStarted,
    StreamItem,
    TaskItem,
)
from crewgraph.events.base import BaseEvent
from crewgraph.events.crew import CrewKickoffCompletedEvent, CrewKickoffFailedEvent, CrewKickoffStartedEvent
from crewgraph.events.flow import (
    FlowStartedEvent,
    MethodExecutionFailedEvent,
    MethodExecutionFinishedEvent,
    MethodExecutionPausedEvent,
    MethodExecutionStartedEvent,
)
from crewgraph.events.task import TaskStartedEvent
from crewgraph.runtime.streaming.audience import Audience
from crewgraph.runtime.streaming.items import Shown, item_of, task_of

__all__ = ["FlowAudience"]

_Where = dict[str, str]
"""`method` and `execution`, as every item of a method has them."""


class FlowAudience(Audience):
    """Is told of a run's methods, and of the crews, agents and models in them.

    Args:
        flow: the flow.
    """

    def __init__(self, flow: "Flow") -> None:
        super().__init__()
        self._flow, self._around = flow, RUNNING.get()
        self._crews: dict[tuple[str, int], tuple[str | None, int]] = {}
        self._shown: dict[tuple[str, int], Shown] = {}
        self._about: dict[tuple[str | None, str | None, str], dict[str, Any]] = {}

    def item(self, source: Any, event: BaseEvent) -> StreamItem | None:
        running = RUNNING.get()
        path = self._path(running)
        if isinstance(event, FlowStartedEvent):
            if path or source is not self._flow:
                return None
            return FlowStarted(flow=event.flow_name, flow_id=event.flow_id or "", inputs=dict(event.inputs or {}))
        made = _OF_METHODS.get(type(event))
        if made is not None:
            name: str = getattr(event, "execution", None) or ""
            return made(event, {"method": event.method_name, "execution": f"{path}/{name}" if path else name})  # pyright: ignore[reportAttributeAccessIssue]
        if running is None or not path:
            return None
        return self._inside(event, {"method": running.method, "execution": path})

    def last(self, ended: Any) -> StreamItem:
        return FlowPaused(pending=ended) if isinstance(ended, PendingFlow) else FlowFinished(result=ended)

    def about(self, item: TaskItem) -> Mapping[str, object]:
        return self._about.get((item.execution, item.crew, item.task), {"agent_role": item.agent})

    def _path(self, running: Running | None) -> str:
        """The executions that the running code is a part of, the outermost first."""
        names: list[str] = []
        while running is not None and running is not self._around:
            names.append(running.name)
            running = running.around
        return "/".join(reversed(names))

    def _inside(self, event: BaseEvent, where: _Where) -> StreamItem | None:
        """What a crew, an agent or a model does in a method."""
        if isinstance(event, CrewKickoffStartedEvent):
            for number, one in enumerate(event.crew.tasks):
                self._crews[where["execution"], id(one)] = (event.crew_name, number)
        made = _OF_CREWS.get(type(event))
        if made is not None:
            return made(event, where)
        task = task_of(event)
        if task is None:
            whose = {"task": "", "agent": event.agent_role or "", **where}
            return item_of(event, Shown(0, "", whose))
        key = where["execution"], id(task)
        if isinstance(event, TaskStartedEvent):
            crew, number = self._crews.get(key, (None, 0))
            whose = {"task": event.node or "", "agent": event.agent_role or "", "crew": crew, **where}
            self._shown[key] = Shown(number, event.description or "", whose)
            self._about[where["execution"], crew, event.node or ""] = {
                "task_index": number,
                "task_name": event.task_name or "",
                "task_id": event.task_id or "",
                "agent_role": event.agent_role or "",
                "agent_id": event.agent_id or "",
            }
        shown = self._shown.get(key)
        return None if shown is None else item_of(event, shown)


def _method_started(event: MethodExecutionStartedEvent, where: _Where) -> StreamItem:
    return MethodStarted(**where, params=dict(event.params or {}))


def _method_finished(event: MethodExecutionFinishedEvent, where: _Where) -> StreamItem:
    return MethodFinished(**where, result=event.result)


def _method_failed(event: MethodExecutionFailedEvent, where: _Where) -> StreamItem:
    return MethodFailed(**where, error=f"{type(event.error).__name__}: {event.error}")


def _asked(event: MethodExecutionPausedEvent, where: _Where) -> StreamItem:
    return Asked(**where, question=event.question)


def _crew_started(event: CrewKickoffStartedEvent, where: _Where) -> StreamItem:
    return CrewStarted(**where, crew=event.crew_name, thread_id=event.thread_id, inputs=dict(event.inputs or {}))


def _crew_finished(event: CrewKickoffCompletedEvent, where: _Where) -> StreamItem:
    return CrewFinished(**where, crew=event.crew_name, output=event.output)


def _crew_failed(event: CrewKickoffFailedEvent, where: _Where) -> StreamItem:
    return CrewFailed(**where, crew=event.crew_name, error=event.error)


_Made = Mapping[type[BaseEvent], Callable[[Any, _Where], StreamItem]]

_OF_METHODS: _Made = {
    MethodExecutionStartedEvent: _method_started,
    MethodExecutionFinishedEvent: _method_finished,
    MethodExecutionFailedEvent: _method_failed,
    MethodExecutionPausedEvent: _asked,
}

_OF_CREWS: _Made = {
    CrewKickoffStartedEvent: _crew_started,
    CrewKickoffCompletedEvent: _crew_finished,
    CrewKickoffFailedEvent: _crew_failed,
}
