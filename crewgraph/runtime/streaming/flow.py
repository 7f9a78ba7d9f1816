"""Streamed runs of flows: as items, as CrewAI's chunks of answers, or as one frame for each event."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from crewgraph.compiler.flow.running import RUNNING, Running
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.definitions.flow.flow import FlowDefinition
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
from crewgraph.events.frames import Ended, frame_of
from crewgraph.events.task import TaskStartedEvent
from crewgraph.runtime.flow.kickoff import run_of
from crewgraph.runtime.streaming.items import TaskView, item_of, task_of
from crewgraph.runtime.streaming.watched import Audience, WatchedRun

_MethodFields = dict[str, str]
"""The fields `method` and `execution`, which every item of a method has."""


class FlowAudience(Audience):
    """Receives the events of a flow's methods, and of the crews, agents and models in them."""

    def __init__(self, flow: "FlowDefinition") -> None:
        super().__init__()
        self._flow, self._outer = flow, RUNNING.get()
        self._crews: dict[tuple[str, int], tuple[str | None, int]] = {}
        self._views: dict[tuple[str, int], TaskView] = {}

    def item(self, source: object, event: BaseEvent) -> StreamItem | None:
        running = RUNNING.get()
        path = self._path(running)
        if isinstance(event, FlowStartedEvent):
            if path or source is not self._flow:
                return None
            return FlowStarted(flow=event.flow_name, flow_id=event.flow_id or "", inputs=dict(event.inputs or {}))
        make_item = _METHOD_ITEMS.get(type(event))
        if make_item is not None:
            name: str = getattr(event, "execution", None) or ""
            return make_item(event, {"method": event.method_name, "execution": f"{path}/{name}" if path else name})  # pyright: ignore[reportAttributeAccessIssue]
        if running is None or not path:
            return None
        return self._nested_item(event, {"method": running.method, "execution": path})

    def final_item(self, result: object) -> StreamItem:
        return FlowPaused(pending=result) if isinstance(result, PendingFlow) else FlowFinished(result=result)

    def _path(self, running: Running | None) -> str:
        """Return the names of the executions around the running code, outermost first, joined by slashes."""
        names: list[str] = []
        while running is not None and running is not self._outer:
            names.append(running.name)
            running = running.outer
        return "/".join(reversed(names))

    def _nested_item(self, event: BaseEvent, method_fields: _MethodFields) -> StreamItem | None:
        """Return the item for an event of a crew, an agent or a model in a method."""
        if isinstance(event, CrewKickoffStartedEvent):
            for number, crew_task in enumerate(event.crew.tasks):
                self._crews[method_fields["execution"], id(crew_task)] = (event.crew_name, number)
        make_item = _CREW_ITEMS.get(type(event))
        if make_item is not None:
            return make_item(event, method_fields)
        task = task_of(event)
        if task is None:
            fields = {"task": "", "agent": event.agent_role or "", **method_fields}
            return item_of(event, TaskView(0, "", fields))
        key = method_fields["execution"], id(task)
        if isinstance(event, TaskStartedEvent):
            crew, number = self._crews.get(key, (None, 0))
            fields = {"task": event.node or "", "agent": event.agent_role or "", "crew": crew, **method_fields}
            self._views[key] = TaskView(number, event.description or "", fields)
        view = self._views.get(key)
        return None if view is None else item_of(event, view)


_ItemFactories = Mapping[type[BaseEvent], Callable[[Any, _MethodFields], StreamItem]]

_METHOD_ITEMS: _ItemFactories = {
    MethodExecutionStartedEvent: lambda event, fields: MethodStarted(**fields, params=dict(event.params or {})),
    MethodExecutionFinishedEvent: lambda event, fields: MethodFinished(**fields, result=event.result),
    MethodExecutionFailedEvent: lambda event, fields: MethodFailed(
        **fields, error=f"{type(event.error).__name__}: {event.error}"
    ),
    MethodExecutionPausedEvent: lambda event, fields: Asked(**fields, question=event.question),
}

_CREW_ITEMS: _ItemFactories = {
    CrewKickoffStartedEvent: lambda event, fields: CrewStarted(
        **fields, crew=event.crew_name, thread_id=event.thread_id, inputs=dict(event.inputs or {})
    ),
    CrewKickoffCompletedEvent: lambda event, fields: CrewFinished(**fields, crew=event.crew_name, output=event.output),
    CrewKickoffFailedEvent: lambda event, fields: CrewFailed(**fields, crew=event.crew_name, error=event.error),
}


class _FrameAudience(Audience):
    """Receives every event, as a frame."""

    def item(self, source: object, event: BaseEvent) -> Any:
        return frame_of(event)

    def final_item(self, result: object) -> Any:
        return Ended(result)


def watched_flow(
    flow: FlowDefinition[Any], inputs: dict[str, object], feedback: object = None, config: RunnableConfig | None = None
) -> WatchedRun:
    """Return the run of a flow for those who take its items; see `Flow.stream`."""
    return WatchedRun(run_of(flow, inputs, feedback, config), FlowAudience(flow))


def watched_frames(
    flow: FlowDefinition[Any], inputs: dict[str, object], config: RunnableConfig | None = None
) -> WatchedRun:
    """Return the run of a flow for those who take its events as frames; see `Flow.stream_events`."""
    return WatchedRun(run_of(flow, inputs, None, config), _FrameAudience())
