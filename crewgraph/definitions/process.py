"""How the tasks of a crew are worked through."""

from enum import StrEnum

__all__ = ["Process"]


class Process(StrEnum):
    """The order of work in a crew."""

    sequential = "sequential"
    """One task after the other, each by its own agent."""

    hierarchical = "hierarchical"
    """A manager works on each task and hands parts of it to the agents."""
