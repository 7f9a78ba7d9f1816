"""The events of a run as a graph of their relations."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from threading import RLock
from typing import Literal

from pydantic import BaseModel, Field, PrivateAttr, SerializeAsAny

from crewgraph.events.base import BaseEvent

EdgeType = Literal["parent", "child", "trigger", "triggered_by", "next", "previous", "started", "completed_by"]
"""The relation between two events."""

_LINKS: tuple[tuple[str, EdgeType, EdgeType], ...] = (
    ("parent_event_id", "parent", "child"),
    ("triggered_by_event_id", "triggered_by", "trigger"),
    ("previous_event_id", "previous", "next"),
    ("started_event_id", "started", "completed_by"),
)


class EventNode(BaseModel):
    """An event and its relations to others."""

    event: SerializeAsAny[BaseEvent]
    """The event."""

    edges: dict[EdgeType, list[str]] = Field(default_factory=dict[EdgeType, list[str]])
    """The ids of related events, by relation."""

    def add_edge(self, edge_type: EdgeType, target_id: str) -> None:
        """Add a relation to another event."""
        self.edges.setdefault(edge_type, []).append(target_id)

    def neighbors(self, edge_type: EdgeType) -> list[str]:
        """Return the ids of the events with this relation to it."""
        return self.edges.get(edge_type, [])


class EventRecord(BaseModel):
    """Events by id; thread-safe."""

    nodes: dict[str, EventNode] = Field(default_factory=dict[str, EventNode])
    """The events, in the order in which they were added."""

    _lock: AbstractContextManager[object] = PrivateAttr(default_factory=RLock)

    def add(self, event: BaseEvent) -> EventNode:
        """Add an event, and its relations to the events already in the record, on both sides."""
        with self._lock:
            node = self.nodes[event.event_id] = EventNode(event=event)
            for field, there, back in _LINKS:
                other = getattr(event, field)
                if other is not None and other in self.nodes:
                    node.add_edge(there, other)
                    self.nodes[other].add_edge(back, event.event_id)
            return node

    def get(self, event_id: str) -> EventNode | None:
        """Return an event; None if it is not in the record."""
        with self._lock:
            return self.nodes.get(event_id)

    def all_nodes(self) -> list[EventNode]:
        """Return all events."""
        with self._lock:
            return list(self.nodes.values())

    def roots(self) -> list[EventNode]:
        """Return the events outside the scope of any other event in the record."""
        with self._lock:
            return [node for node in self.nodes.values() if not node.neighbors("parent")]

    def descendants(self, event_id: str) -> list[EventNode]:
        """Return the events in the scope of an event at any depth, nearest first."""
        with self._lock:
            return list(self._below(event_id))

    def clear(self) -> None:
        """Remove all events."""
        with self._lock:
            self.nodes.clear()

    def _below(self, event_id: str) -> Iterator[EventNode]:
        waiting = [event_id]
        while waiting:
            node = self.nodes.get(waiting.pop(0))
            for child in () if node is None else node.neighbors("child"):
                yield self.nodes[child]
                waiting.append(child)
