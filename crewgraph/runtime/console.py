"""Shows runs on the console, and writes them to the log files that crews name."""

import threading
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crewgraph.compiler.flow.running import RUNNING, Running
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import FlowDefinition
    from crewgraph.observe.console import ConsoleListener
    from crewgraph.observe.logfile import LogFileListener

__all__ = ["agent_console", "crew_console", "crew_log", "flow_console"]


class _Screen:
    """Shares one listener for all runs, so that parallel kickoffs of a crew are shown once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: Counter[int | str] = Counter()
        self._listener: ConsoleListener | None = None

    def show(self, ids: set[int | str]) -> None:
        from crewgraph.observe.console import ConsoleListener

        with self._lock:
            self._shown.update(ids)
            if self._listener is None:
                # rich is loaded only if a console is shown.
                self._listener = ConsoleListener(shows=self._shows, within=self._within)
                self._listener.attach(crewai_event_bus)

    def hide(self, ids: set[int | str]) -> None:
        with self._lock:
            self._shown -= Counter(ids)
            if not self._shown and self._listener is not None:
                self._listener.detach()
                self._listener = None

    def _shows(self, source: object, event: BaseEvent) -> bool:
        from crewgraph.events.crew import CrewBaseEvent
        from crewgraph.events.flow import FlowEvent

        if isinstance(event, FlowEvent):
            return id(source) in self._shown or any(self._enclosing())
        if isinstance(event, CrewBaseEvent) and any(self._enclosing()):
            return True
        from crewgraph.runtime.streaming.items import task_of

        task = task_of(event)
        about = task if task is not None else getattr(event, "crew", None)
        return (event.agent_id if about is None else id(about)) in self._shown

    def _enclosing(self) -> Iterator[Running]:
        """The enclosing flow methods that are shown, innermost first."""
        running = RUNNING.get()
        while running is not None:
            if id(running.run.flow) in self._shown:
                yield running
            running = running.outer

    def _within(self) -> str:
        return " > ".join(f"{item.run.name}.{item.method}" for item in reversed(list(self._enclosing())))


_screen = _Screen()


def crew_console(crew: CrewDefinition) -> AbstractContextManager[None] | None:
    """Return the console observer of a crew's run: of all of it if the crew is verbose, or of the tasks of verbose agents."""
    ids: set[int | str] = {
        id(task) for task in crew.tasks if crew.verbose or (task.agent is not None and task.agent.verbose)
    }
    if crew.verbose:
        ids |= {id(crew), *map(id, crew.planning_tasks)}
    return _on_console(ids) if ids else None


def agent_console(agent: BaseAgentDefinition) -> AbstractContextManager[None] | None:
    """Return the console observer of a standalone agent, if it is verbose."""
    return _on_console({str(agent.id)}) if agent.verbose else None


def flow_console(flow: "FlowDefinition") -> AbstractContextManager[None] | None:
    """Return the console observer of a flow's run, if it is verbose: its methods, and the crews and flows they run."""
    return _on_console({id(flow)}) if flow.verbose is True else None


@contextmanager
def _on_console(ids: set[int | str]) -> Generator[None]:
    _screen.show(ids)
    try:
        yield
    finally:
        _screen.hide(ids)


class _Logs:
    """Shares one listener for all runs, so that parallel kickoffs of a crew write each entry once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: Counter[tuple[int, Path]] = Counter()
        self._listener: LogFileListener | None = None

    def begin(self, tasks: set[tuple[int, Path]]) -> None:
        from crewgraph.observe.logfile import LogFileListener

        with self._lock:
            self._open.update(tasks)
            if self._listener is None:
                self._listener = LogFileListener(self._paths)
                self._listener.attach(crewai_event_bus)

    def end(self, tasks: set[tuple[int, Path]]) -> None:
        with self._lock:
            self._open -= Counter(tasks)
            if not self._open and self._listener is not None:
                self._listener.detach(crewai_event_bus)
                self._listener = None

    def _paths(self, event: Any) -> list[Path]:
        with self._lock:
            return [path for task, path in self._open if task == id(event.task)]


_logs = _Logs()


def crew_log(crew: CrewDefinition) -> AbstractContextManager[None] | None:
    """Return the observer that logs the starts and completions of tasks to the crew's `output_log_file`, if it has one."""
    if not crew.output_log_file:
        return None
    from crewgraph.observe.logfile import log_path

    path = log_path(crew.output_log_file)
    return _writing({(id(task), path) for task in crew.tasks})


@contextmanager
def _writing(tasks: set[tuple[int, Path]]) -> Generator[None]:
    _logs.begin(tasks)
    try:
        yield
    finally:
        _logs.end(tasks)
