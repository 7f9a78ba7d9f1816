"""The state of a crew's graph: its inputs, perhaps its plan, and a channel per task."""

from collections.abc import Iterable
from typing import Any

from typing_extensions import TypedDict  # typing's own has no JSON schema before Python 3.12, which Studio asks for

__all__ = ["INPUTS", "PLANNING", "TASK", "schema"]


INPUTS = "inputs"
"""The channel of a crew's inputs."""

PLANNING = "planning"
"""The node that makes the plan of a crew, and its channel."""

TASK = "task"
"""What an output in the state tells of its task beside its own fields: the `id` that it had in that process, its
`key`, and its `number` in the crew."""


def schema(name: str, channels: Iterable[str]) -> Any:
    """A type that has these channels, each a dict that may be missing: the whole state, or the part that a node reads."""
    fields: dict[str, Any] = dict.fromkeys(channels, dict[str, Any])
    return TypedDict(name, fields, total=False)  # pyright: ignore[reportArgumentType]
