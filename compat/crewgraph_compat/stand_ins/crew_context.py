"""The crew around the running code, as CrewAI's programs ask for it."""

from pydantic import BaseModel

from crewgraph.compiler.task.events import NOTES

__all__ = ["CrewContext", "get_crew_context"]


class CrewContext(BaseModel):
    """Which crew it is."""

    id: str | None = None
    """Its `id`."""

    key: str | None = None
    """Its `key`: the same for crews of the same agents and tasks."""


def get_crew_context() -> CrewContext | None:
    """The crew whose run the code is a part of: a tool, a callback, a guardrail; None outside of runs."""
    notes = NOTES.get()
    if notes is None or notes.crew is None:
        return None
    number, key = notes.crew
    return CrewContext(id=number, key=key)
