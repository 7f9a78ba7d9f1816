"""What is noted of a crew's run while it goes on."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.checkpoint_config import config_of
from crewgraph.definitions.crew import Crew
from crewgraph.events.base import BaseEvent
from crewgraph.events.lineage import scope_event
from crewgraph.events.task import TaskCompletedEvent
from crewgraph.runtime.place import RunPlace
from crewgraph.runtime.snapshots_taken import SnapshotTaker, database_of, taking

__all__ = ["BEGINNING", "Followed", "noted"]

Followed = tuple[str, str | None, Mapping[str, Any]]
"""The branch that a run is on, the checkpoint that it comes from, and what its tasks had given by then."""

BEGINNING: Followed = ("main", None, {})
"""That of a run that begins."""


@contextmanager
def noted(
    crew: Crew, place: RunPlace, tasks: Sequence[Assignment], inputs: Mapping[str, Any], followed: Followed
) -> Generator[None]:
    """A block in which a crew works, and checkpoints are made as it, or its agents, wish."""
    takers = list(_takers(crew, _Course(place, tasks, inputs, followed[2]), followed))
    if takers:
        crew.checkpoint_inputs, crew.checkpoint_train = dict(inputs), crew.training
        for taker in takers:
            taker.begin()
    with taking(takers):
        yield


class _Course:
    """How far a run is."""

    def __init__(
        self, place: RunPlace, tasks: Sequence[Assignment], inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> None:
        self._place, self._inputs, self._outputs = place, dict(inputs), dict(outputs)
        self._tasks = {id(one.task): one for one in tasks}

    def heard(self, event: BaseEvent) -> None:
        """Something happened."""
        if isinstance(event, TaskCompletedEvent) and (one := self._tasks.get(id(event.task))) is not None:
            self._outputs[one.slug] = one.labelled(event.output.to_plain())

    def point(self) -> dict[str, Any]:
        """How far it is now."""
        return {
            "thread_id": self._place.shown_thread,
            "database": database_of(self._place.checkpointer),
            "inputs": self._inputs,
            "outputs": dict(self._outputs),
        }


class _CrewTaker(SnapshotTaker):
    """Notes how far a crew is, whatever the checkpoint is made for."""

    def __init__(self, course: _Course, crew: Crew, config: Any, whose: Any, followed: Followed) -> None:
        super().__init__(config, crew, course.point, whose, followed[:2])
        self._course, self._crew = course, crew

    def hear(self, source: Any, event: BaseEvent, /) -> None:
        self._course.heard(event)
        if event.type == "crew_kickoff_started" and source is self._crew:
            self._crew.checkpoint_kickoff_event_id = scope_event()
        super().hear(source, event)


def _takers(crew: Crew, course: _Course, followed: Followed) -> Generator[SnapshotTaker]:
    agents = dict.fromkeys([*crew.agents, *(task.agent for task in crew.tasks if task.agent is not None)])
    config = config_of(crew.checkpoint)
    if config is not None:
        left_out = [one for one in agents if one.checkpoint is False]
        yield _CrewTaker(course, crew, config, partial(_of_others, left_out), followed)
        return
    for agent in agents:
        if (own := config_of(agent.checkpoint)) is not None:
            yield _CrewTaker(course, crew, own, partial(_of, [agent]), followed)


def _of_others(agents: Sequence[BaseAgent], source: Any, event: BaseEvent) -> bool:
    return not _of(agents, source, event)


def _of(agents: Sequence[BaseAgent], source: Any, event: BaseEvent) -> bool:
    return any(source is one or event.agent_id == str(one.id) or getattr(event, "agent", None) is one for one in agents)
