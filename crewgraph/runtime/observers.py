"""What observes a run while it lasts, because its definition asks for that: the console, the log file, snapshots."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Protocol

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.compiler.task.binding import Assignment
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.extensions import extension
from crewgraph.runtime.console import agent_console, crew_console, flow_console
from crewgraph.runtime.logfile import crew_log
from crewgraph.runtime.place import RunPlace

__all__ = ["RunObserver", "SnapshotOrigin", "agent_observers", "crew_observers", "flow_observers", "observed"]

SnapshotOrigin = tuple[str, str | None, Mapping[str, Any]]
"""The branch that a run's snapshots are on, the snapshot it continues from, and the outputs of tasks that this one holds."""


class RunObserver(Protocol):
    """Observes a run from its beginning to its end, or until it waits for an answer."""

    def __enter__(self) -> object: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


def crew_observers(
    crew: Crew, place: RunPlace, tasks: Sequence[Assignment], inputs: Mapping[str, Any], origin: SnapshotOrigin | None
) -> list[RunObserver]:
    """What observes a crew's run.

    Args:
        crew: the crew.
        place: where the run is stored.
        tasks: its tasks.
        inputs: its inputs.
        origin: the snapshot that it continues from; None for a run that begins.
    """
    observers: list[RunObserver | None] = [crew_console(crew), crew_log(crew)]
    if crew.checkpoint or any(one is not None and one.checkpoint for one in _agents(crew)):
        observers.append(extension("snapshots.crew_observer")(crew, place, tasks, inputs, origin))
    return [one for one in observers if one is not None]


def _agents(crew: Crew) -> Iterable[BaseAgent | None]:
    yield from crew.agents
    yield from (task.agent for task in crew.tasks)


def flow_observers(run: FlowRun, saver: Any) -> list[RunObserver]:
    """What observes a flow's run, which is stored in this checkpointer."""
    console = flow_console(run.flow)
    observers: list[RunObserver] = [] if console is None else [console]
    if run.flow.checkpoint:
        observers.append(extension("snapshots.flow_observer")(run, saver))
    return observers


def agent_observers(agent: BaseAgent, inputs: Mapping[str, Any]) -> tuple[RunPlace | None, list[RunObserver]]:
    """Where an agent's own kickoff is stored, None for nowhere; and what observes it."""
    console, start = agent_console(agent), agent.take_start()
    observers: list[RunObserver] = [] if console is None else [console]
    if start is None and not agent.checkpoint:
        return None, observers
    place, recording = extension("snapshots.agent_kickoff")(agent, start, inputs)
    return place, observers if recording is None else [*observers, recording]


@contextmanager
def observed(observers: Sequence[RunObserver]) -> Generator[None]:
    """A block that these observe; entered in their order, left in the reverse."""
    with ExitStack() as stack:
        for observer in observers:
            stack.enter_context(observer)
        yield
