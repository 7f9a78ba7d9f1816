"""An ear for events."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from crewgraph.events import BaseEvent, crewai_event_bus

__all__ = ["heard"]


@contextmanager
def heard() -> Generator[list[BaseEvent]]:
    """Every event emitted inside the block, in order."""
    events: list[BaseEvent] = []
    with crewai_event_bus.scoped_handlers():

        @crewai_event_bus.on(BaseEvent)
        def _(source: Any, event: BaseEvent) -> None:
            events.append(event)

        yield events
