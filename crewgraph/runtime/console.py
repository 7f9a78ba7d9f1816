"""Showing a run on the console while it lasts, for whoever asked for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crewgraph.definitions.crew import Crew
from crewgraph.events.bus import crewai_event_bus
from crewgraph.extras import load

__all__ = ["shown"]


@contextmanager
def shown(crew: Crew) -> Iterator[None]:
    """Show the crew's run if it, or the agents it shows, are verbose."""
    talkative = {id(agent) for agent in crew.agents if agent.verbose}
    if not crew.verbose and not talkative:
        yield
        return
    tasks = {id(task) for task in crew.tasks if crew.verbose or id(task.agent) in talkative}

    def shows(event: Any) -> bool:
        task = getattr(event, "task", None) or getattr(event, "from_task", None)
        if task is not None:
            return id(task) in tasks
        return crew.verbose and getattr(event, "crew", None) is crew

    # rich is loaded only for those who look.
    console: Any = load("crewgraph.observe.console")
    listener = console.ConsoleListener(shows=shows)
    listener.attach(crewai_event_bus)
    try:
        yield
    finally:
        listener.detach()
