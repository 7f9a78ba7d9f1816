"""Telling listeners what happens between an agent and a remote one."""

from collections.abc import Mapping
from typing import Any

from crewgraph.events.a2a_base import A2AEventBase
from crewgraph.events.bus import crewai_event_bus

__all__ = ["About", "tell"]

About = Mapping[str, Any]
"""What all events of a message have: endpoint, a2a_agent_name, from_agent, from_task, turn_number and the like."""


def tell(source: Any, event: type[A2AEventBase], about: About, **more: Any) -> None:
    """Emit an event, if somebody listens; of what is said of the message, it gets what it has a field for."""
    if crewai_event_bus.wants(event):
        known = {name: value for name, value in about.items() if name in event.model_fields}
        crewai_event_bus.emit(source, event(**{**known, **more}))
