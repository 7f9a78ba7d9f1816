"""What stands among the events for one that nobody hears, and that opens or closes a scope for those that are heard."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from crewgraph.events.base import BaseEvent, task_id_of

__all__ = ["Unheard", "unheard"]


@dataclass(eq=False)
class Unheard:
    """The part of an event by which others find their place; making the whole event takes ten times as long."""

    type: str
    task_id: str | None
    event_id: str = field(default_factory=lambda: str(uuid4()))
    parent_event_id: str | None = None
    previous_event_id: str | None = None
    triggered_by_event_id: str | None = None
    started_event_id: str | None = None
    emission_sequence: int | None = None


def unheard(event_type: type[BaseEvent], fields: Mapping[str, Any]) -> Unheard:
    """What stands for an event of a class with these fields."""
    return Unheard(event_type.model_fields["type"].default, task_id_of(fields))
