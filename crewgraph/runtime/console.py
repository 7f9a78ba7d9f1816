"""Shows runs on the console, and writes them to the log files that crews name."""

import threading
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crewgraph.compiler.flow.running import RUNNING, Running
from crewgraph.compiler.surroundings import AROUND
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus

if TYPE_CHECKING:
    from crewgraph.definitions.flow.flow import FlowDefinition
    from crewgraph.observe.console import ConsoleListener
    from crewgraph.observe.logfile import LogFileListener


class _Screen:
    """Shares one listener for all runs, so that parallel kickoffs of a crew are shown once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown: Counter[int | str] = Counter()
        self._runs = 0
        """The number of shown runs that are in no other run."""

        self._is_parallel = False
        """Whether there were several since there was none: lines then tell their thread."""

        self._listener: ConsoleListener | None = None

    def show(self, ids: set[int | str], runs: int) -> None:
        from crewgraph.observe.console import ConsoleListener

        with self._lock:
            self._shown.update(ids)
            self._runs += runs
            self._is_parallel = self._is_parallel or self._runs > 1
            if self._listener is None:
                # rich is loaded only if a console is shown.
                self._listener = ConsoleListener(shows=self._shows, within=self._within)
                self._listener.attach(crewai_event_bus)

    def hide(self, ids: set[int | str], runs: int) -> None:
        with self._lock:
            self._shown -= Counter(ids)
            self._runs -= runs
            self._is_parallel = self._is_parallel and self._runs > 0
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

    def _within(self, source: object, event: BaseEvent) -> str:
        """The flow methods around an event, and where runs are parallel, in front of them the beginning of its thread."""
        enclosing = list(self._enclosing())
        names = [f"{item.run.name}.{item.method}" for item in reversed(enclosing)]
        if self._is_parallel and (thread := _thread_of(source, event, enclosing)):
            names.insert(0, thread[:_THREAD_CHARACTERS])
        return " > ".join(names)


_THREAD_CHARACTERS = 8


def _thread_of(source: object, event: BaseEvent, enclosing: Sequence[Running]) -> str | None:
    if enclosing:
        return enclosing[-1].run.thread_id or enclosing[-1].run.flow_id
    if thread := getattr(event, "thread_id", None) or getattr(source, "flow_id", None):
        return thread
    from langgraph.config import get_config

    try:
        return get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # outside of nodes
        return None


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
    runs = int(RUNNING.get() is None and AROUND.get().notes is None)
    _screen.show(ids, runs)
    try:
        yield
    finally:
        _screen.hide(ids, runs)


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
