"""The process of a crew, and how many checkpoints of a run are retained."""

from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from crewgraph.errors import DefinitionError


class Process(str, Enum):  # noqa: UP042 - its texts are CrewAI's: `Process.sequential`
    """How the tasks of a crew are assigned to agents."""

    sequential = "sequential"
    """Tasks run in order, each by its own agent."""

    hierarchical = "hierarchical"
    """A manager works on each task and delegates parts of it to the agents."""


KeepHistory = Literal["all", "latest"] | Annotated[int, Field(ge=1, strict=True)]
"""All checkpoints, only the latest, or the given number of latest ones."""


def max_stored_checkpoints(keep_history: object, owner: str) -> int | None:
    """Return how many checkpoints are retained; None for all.

    Args:
        keep_history: "all", "latest" or a number from 1.
        owner: The crew or flow, for error messages.

    Raises:
        DefinitionError: `keep_history` is something else.
    """
    if keep_history == "all":
        return None
    if keep_history == "latest":
        return 1
    if isinstance(keep_history, int) and not isinstance(keep_history, bool) and keep_history >= 1:
        return keep_history
    raise DefinitionError(
        f'`keep_history` of {owner} is {keep_history!r:.80}; pass "all", "latest", or a number from 1.'
    )
