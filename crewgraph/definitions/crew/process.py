"""How the tasks of a crew are worked through.

How much of a run's past is kept.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from crewgraph.errors import DefinitionError

__all__ = ["KeepHistory", "Process", "max_stored_checkpoints"]


class Process(StrEnum):
    """The order of work in a crew."""

    sequential = "sequential"
    """One task after the other, each by its own agent."""

    hierarchical = "hierarchical"
    """A manager works on each task and hands parts of it to the agents."""


KeepHistory = Literal["all", "latest"] | Annotated[int, Field(ge=1, strict=True)]
"""All checkpoints, the latest alone, or so many of the latest."""


def max_stored_checkpoints(wish: Any, whose: str) -> int | None:
    """How many checkpoints are kept; None for all.

    Args:
        wish: what `keep_history` says.
        whose: for messages.

    Raises:
        DefinitionError: it says nothing of that kind.
    """
    if wish == "all":
        return None
    if wish == "latest":
        return 1
    if isinstance(wish, int) and not isinstance(wish, bool) and wish >= 1:
        return wish
    raise DefinitionError(f'`keep_history` of {whose} is {wish!r:.80}; give "all", "latest", or a number from 1.')
