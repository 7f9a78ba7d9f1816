"""The events of a run, and how they hang together."""

import importlib
from collections.abc import Iterator
from threading import RLock
from typing import Any, Literal, cast

from pydantic import BaseModel, Field, PrivateAttr, SerializeAsAny, field_validator

from crewgraph.events.base import BaseEvent

__all__ = ["EdgeType", "EventNode", "EventRecord"]

EdgeType = Literal["parent", "child", "trigger", "triggered_by", "next", "previous", "started", "completed_by"]
"""The relation between two events."""

_LINKS: tuple[tuple[str, EdgeType, EdgeType], ...] = (
    ("parent_event_id", "parent", "child"),
    ("triggered_by_event_id", "triggered_by", "trigger"),
    ("previous_event_id", "previous", "next"),
    ("started_event_id", "started", "completed_by"),
)


class EventNode(BaseModel):
    """An event, and those that it hangs together with."""

    event: SerializeAsAny[BaseEvent]
    """The id of the event."""

    edges: dict[EdgeType, list[str]] = Field(default_factory=dict[EdgeType, list[str]])
    """The ids of others, by what they are to it."""

    @field_validator("event", mode="before")
    @classmethod
    def _of_its_class(cls, value: Any) -> object:
        # A dump does not say of which class it is; its type does, where that class is known in this process.
        if not isinstance(value, dict):
            return value
        plain = cast("dict[str, Any]", value)
        kind = _classes().get(str(plain.get("type")), BaseEvent)
        return kind.model_construct(**plain)

    def add_edge(self, edge_type: EdgeType, target_id: str) -> None:
        """Note what another event is to it."""
        self.edges.setdefault(edge_type, []).append(target_id)

    def neighbors(self, edge_type: EdgeType) -> list[str]:
        """The ids of those that are this to it."""
        return self.edges.get(edge_type, [])


class EventRecord(BaseModel):
    """Events, by their ids; any thread may add to them."""

    nodes: dict[str, EventNode] = Field(default_factory=dict[str, EventNode])
    """The events, in the order in which they were added."""

    _lock: Any = PrivateAttr(default_factory=RLock)

    def add(self, event: BaseEvent) -> EventNode:
        """Add an event, and note on both sides what those are to it that are here already."""
        with self._lock:
            node = self.nodes[event.event_id] = EventNode(event=event)
            for field, there, back in _LINKS:
                other = getattr(event, field)
                if other is not None and other in self.nodes:
                    node.add_edge(there, other)
                    self.nodes[other].add_edge(back, event.event_id)
            return node

    def get(self, event_id: str) -> EventNode | None:
        """An event; None where it is not here."""
        with self._lock:
            return self.nodes.get(event_id)

    def all_nodes(self) -> list[EventNode]:
        """All events."""
        with self._lock:
            return list(self.nodes.values())

    def roots(self) -> list[EventNode]:
        """The events that stand in the scope of no other one that is here."""
        with self._lock:
            return [node for node in self.nodes.values() if not node.neighbors("parent")]

    def descendants(self, event_id: str) -> list[EventNode]:
        """The events in the scope of one, at any depth: those nearest to it first."""
        with self._lock:
            return list(self._below(event_id))

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self.nodes.clear()

    def _below(self, event_id: str) -> Iterator[EventNode]:
        waiting = [event_id]
        while waiting:
            node = self.nodes.get(waiting.pop(0))
            for child in () if node is None else node.neighbors("child"):
                yield self.nodes[child]
                waiting.append(child)


def _classes() -> dict[str, type[BaseEvent]]:
    """The classes of events that are known in this process, by their types."""
    importlib.import_module("crewgraph.events")
    found: dict[str, type[BaseEvent]] = {}
    waiting: list[type[BaseEvent]] = [BaseEvent]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        told: object = kind.model_fields["type"].default
        if isinstance(told, str):
            found.setdefault(told, kind)
    return found
