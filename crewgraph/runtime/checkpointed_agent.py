"""What is noted of an agent's own kickoffs."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.checkpoint_config import config_of
from crewgraph.events.base import BaseEvent
from crewgraph.runtime.place import RunPlace
from crewgraph.runtime.snapshots_taken import SnapshotTaker, database_of, saver_at, saver_in, taking

__all__ = ["KickoffPoint", "noted_kickoff", "place_of_kickoff"]


@dataclass(frozen=True)
class KickoffPoint:
    """What an agent goes on with."""

    thread_id: str | None
    """The kickoff; None for a new one."""

    database: str | None
    branch: str
    parent_id: str | None


def place_of_kickoff(agent: BaseAgent) -> tuple[RunPlace | None, KickoffPoint]:
    """Where an agent's kickoff is kept, and what it goes on with; no place where nothing is said of that."""
    taken: Any = agent.beginning()
    config = config_of(agent.checkpoint)
    point = taken if isinstance(taken, KickoffPoint) else KickoffPoint(None, None, "main", None)
    if point.database is not None and Path(point.database).is_file():
        saver: Any = saver_at(Path(point.database))
    elif config is not None:
        saver = saver_in(config)
    else:
        return None, point
    return RunPlace(checkpointer=saver, thread_id=point.thread_id or str(uuid4()), detached=True), point


class _KickoffTaker(SnapshotTaker):
    """Notes with which event the kickoff began, too."""

    def hear(self, source: Any, event: BaseEvent, /) -> None:
        if event.type == "lite_agent_execution_started" and source is self.state.root[0]:
            source.checkpoint_kickoff_event_id = event.event_id
        super().hear(source, event)


@contextmanager
def noted_kickoff(
    agent: BaseAgent, place: RunPlace | None, point: KickoffPoint, given: Mapping[str, Any]
) -> Generator[None]:
    """A block in which an agent answers, and checkpoints are made as it wishes."""
    config = config_of(agent.checkpoint)
    if config is None or place is None:
        yield
        return
    now = {"thread_id": place.thread_id, "database": database_of(place.checkpointer), "inputs": dict(given)}
    taker = _KickoffTaker(config, agent, lambda: now, _any, (point.branch, point.parent_id))
    taker.begin()
    with taking([taker]):
        yield


def _any(source: Any, event: BaseEvent) -> bool:
    return True
