"""The live view of a crew's run in a notebook: a table of its tasks, in one output that is updated in place."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from langgraph.errors import GraphBubbleUp

from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.pending import PendingCrew
from crewgraph.definitions.html import format_seconds_between, html_section, html_table, one_line, text_table
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.definitions.task.task import ConditionalTaskDefinition
from crewgraph.events.base import BaseEvent
from crewgraph.events.crew import CrewKickoffCompletedEvent, CrewKickoffPausedEvent
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallStartedEvent
from crewgraph.events.people import HumanInputReceivedEvent, HumanInputRequestedEvent
from crewgraph.events.stream_context import LISTENING
from crewgraph.events.task import TaskCompletedEvent, TaskFailedEvent, TaskStartedEvent
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent
from crewgraph.observe.notebook import UpdatedOutput
from crewgraph.redaction import SecretRedactor
from crewgraph.scoped import give_back
from crewgraph.text import fill

_COLUMNS = ("task", "agent", "status", "doing", "requests", "tokens", "time")
_TEXT_COLUMNS = 4
_BEFORE = "before this run"
_MARKS = {
    "not started": "·",
    "working": "▸",
    "waiting": "?",
    "failed": "✗",
    "stopped": "✗",
    "done": "✓",
    "skipped": "–",
}


@dataclass
class _Row:
    """The table row of a task."""

    task: str
    agent: str
    is_conditional: bool = False
    is_async: bool = False
    status: str = "not started"
    doing: str = ""
    requests: int = 0
    tokens: int = 0
    started: datetime | None = None
    ended: datetime | None = None

    def cells(self, now: datetime, redact: Callable[[str], str]) -> tuple[str, ...]:
        runs = self.started is not None
        return (
            self.task,
            one_line(redact(self.agent)),
            f"{_MARKS[self.status]} {self.status}",
            one_line(redact(self.doing)),
            f"{self.requests:,}" if runs else "",
            f"{self.tokens:,}" if self.tokens else "",
            format_seconds_between(self.started, self.ended or now),
        )


class LiveView:
    """Shows the tasks of one run; a `RunObserver`, and a listener of the events in the run's context."""

    _previous: tuple[Any, ...]

    def __init__(self, crew: CrewDefinition, tasks: Sequence[TaskBinding], inputs: Inputs) -> None:
        def filled(template: str | None) -> str:
            return fill(template or "", inputs, where="a role") if inputs else template or ""

        planning = {id(task): _Row("plan", task.agent.role if task.agent else "") for task in crew.planning_tasks}
        self._rows = planning | {
            id(binding.task): _Row(
                binding.slug,
                filled(binding.agent.template("role")),
                isinstance(binding.task, ConditionalTaskDefinition),
                bool(binding.task.async_execution),
            )
            for binding in tasks
        }
        self._crew, self._status = crew, "working"
        self._started, self._ended = datetime.now(UTC), None
        self._lock = threading.Lock()
        self._redactor = SecretRedactor()
        self._output = UpdatedOutput(self.render)

    def __enter__(self) -> None:
        here = LISTENING.get()
        self._token = LISTENING.set(here._replace(listeners=(*here.listeners, self)))
        self._output.begin()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        give_back(self._token)
        with self._lock:
            self._end(kind)
        self._output.end()

    def wants(self, event_type: type[BaseEvent], /) -> bool:
        """Whether it shows events of this class."""
        return event_type in _HANDLERS

    def on_event(self, source: object, event: BaseEvent, /) -> None:
        """Handle an event of the run, on any thread."""
        from crewgraph.runtime.streaming.items import task_of

        with self._lock:
            if isinstance(event, CrewKickoffCompletedEvent | CrewKickoffPausedEvent):
                if event.crew is self._crew:
                    self._settle(event.output)
            elif (row := self._rows.get(id(task_of(event)))) is not None:
                if row.started is None:
                    self._pass_before(row)
                _HANDLERS[type(event)](row, event)
        self._output.changed()

    def _pass_before(self, begun: _Row) -> None:
        """When a task starts, mark earlier tasks that did not start in this run: they were skipped, or done before a resume."""
        for row in self._rows.values():
            if row is begun:
                return
            if row.status == "not started" and not (row.is_async and begun.is_async):
                row.status, row.doing = ("skipped", "") if row.is_conditional else ("done", _BEFORE)

    def _settle(self, output: object) -> None:
        """Apply the output: tasks that were done before, were skipped or have asked a question."""
        if isinstance(output, PendingCrew):
            self._status = "waiting"
            asking = {question.task: question.summary() for question in output.questions}
            for row in self._rows.values():
                if row.task in asking:
                    row.status, row.doing = "waiting", asking[row.task]
            return
        self._status = "done"
        if not isinstance(output, CrewOutput) or len(output.tasks_output) != len(self._crew.tasks):
            return
        for task, task_output in zip(self._crew.tasks, output.tasks_output, strict=True):
            row = self._rows.get(id(task))
            if row is not None and row.status != "done":
                row.status, row.doing = ("skipped", "") if task_output.was_skipped else ("done", _BEFORE)

    def _end(self, kind: type[BaseException] | None) -> None:
        self._ended = datetime.now(UTC)
        if kind is not None:
            asks = issubclass(kind, (GraphBubbleUp, Parked))  # the graph around it asks, and then resumes the run
            self._status = "waiting" if asks else "failed" if issubclass(kind, Exception) else "stopped"
        for row in self._rows.values():
            if row.status == "working" and self._status != "done":
                row.status = self._status
            if row.started is not None and row.ended is None:
                row.ended = self._ended

    def render(self) -> dict[str, str]:
        """Return the table as HTML and as text."""
        with self._lock:
            now = self._ended or datetime.now(UTC)
            rows = [row.cells(now, self._redactor.redact) for row in self._rows.values()]
            done = sum(row.status in ("done", "skipped") for row in self._rows.values())
            status = self._status
        took = format_seconds_between(self._started, now)
        title = f"Crew {self._crew.name}"
        text = f"{status}, {done} of {len(rows)} tasks done, {took}"
        return {
            "text/html": html_section(title, text, html_table(_COLUMNS, rows, texts=_TEXT_COLUMNS)),
            "text/plain": f"{title}: {text}\n{text_table(_COLUMNS, rows, texts=_TEXT_COLUMNS)}",
        }


def _task_started(row: _Row, event: BaseEvent) -> None:
    row.status, row.started = "working", row.started or event.timestamp


def _task_completed(row: _Row, event: Any) -> None:
    row.status, row.doing, row.ended = "done", "", event.timestamp
    row.tokens, row.requests = event.output.usage.total_tokens, event.output.usage.successful_requests


def _task_failed(row: _Row, event: Any) -> None:
    row.status, row.doing, row.ended = "failed", event.error, event.timestamp


def _model_started(row: _Row, event: Any) -> None:
    row.doing = f"asks {event.model or 'its model'}"


def _model_completed(row: _Row, event: Any) -> None:
    row.requests, row.doing = row.requests + 1, ""


def _tool_started(row: _Row, event: Any) -> None:
    row.doing = f"uses {event.tool_name}"


def _tool_finished(row: _Row, event: BaseEvent) -> None:
    row.doing = ""


def _input_requested(row: _Row, event: Any) -> None:
    row.status = "waiting"
    row.doing = f"may it call {event.tool_name}?" if event.tool_name else "will its answer do?"


def _input_received(row: _Row, event: BaseEvent) -> None:
    row.status, row.doing = "working", ""


def _ignore(row: _Row, event: BaseEvent) -> None:
    """Leave the row to `_settle`."""


_HANDLERS: Mapping[type[BaseEvent], Callable[[_Row, Any], None]] = {
    CrewKickoffCompletedEvent: _ignore,
    CrewKickoffPausedEvent: _ignore,
    TaskStartedEvent: _task_started,
    TaskCompletedEvent: _task_completed,
    TaskFailedEvent: _task_failed,
    LLMCallStartedEvent: _model_started,
    LLMCallCompletedEvent: _model_completed,
    ToolUsageStartedEvent: _tool_started,
    ToolUsageFinishedEvent: _tool_finished,
    ToolUsageErrorEvent: _tool_finished,
    HumanInputRequestedEvent: _input_requested,
    HumanInputReceivedEvent: _input_received,
}
