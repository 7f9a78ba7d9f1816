"""A turn of a conversation, as the run that it is holds it."""

from collections.abc import Mapping
from typing import Any, TypedDict

from crewgraph.core.files import FILES, files_in

__all__ = ["TURN", "Turn", "without_turn"]

TURN = ":turn"
"""The input that makes a run a turn; no parameter can have this name."""


class Turn(TypedDict):
    """What a turn is given."""

    message: str
    """What the user says."""

    intents: list[str]
    """The routes that are told apart first."""


def without_turn(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that are fields of the state."""
    apart = (TURN, FILES) if files_in(inputs) else (TURN,)
    return {name: value for name, value in inputs.items() if name not in apart}
