"""What the audience of a flow is told."""

from typing import Any

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.flow import (
    MethodExecutionFailedEvent,
    MethodExecutionFinishedEvent,
    MethodExecutionStartedEvent,
)

__all__ = ["FlowReport"]


class FlowReport:
    """Tells of one method.

    Args:
        run: the run.
        method: the method's name.
    """

    def __init__(self, run: FlowRun, method: str) -> None:
        self._run, self._method = run, method

    def begins(self) -> None:
        """It is about to run."""
        self._tell(MethodExecutionStartedEvent, state=self._run.state, params=dict(self._run.inputs))

    def ends(self, value: Any) -> None:
        """It has returned."""
        self._tell(MethodExecutionFinishedEvent, state=self._run.state, result=value)

    def failed(self, error: BaseException) -> None:
        """It has raised; the exception says where."""
        note = f"in method `{self._method}` of flow `{self._run.name}`"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
            self._tell(MethodExecutionFailedEvent, error=error)

    def _tell(self, event: type[BaseEvent], **fields: Any) -> None:
        if not self._run.flow.suppress_flow_events and crewai_event_bus.wants(event):
            told = event(flow_name=self._run.name, method_name=self._method, **fields)  # pyright: ignore[reportCallIssue]
            crewai_event_bus.emit(self._run.flow, told)
