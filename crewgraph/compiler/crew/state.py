"""The state of a crew's graph: its inputs, its plan if it has one, and a channel per task."""

from collections.abc import Iterable
from typing import Any

from typing_extensions import TypedDict  # typing's own has no JSON schema before Python 3.12, which Studio asks for

__all__ = ["INPUTS", "PLANNING", "TASK", "schema"]


INPUTS = "inputs"
"""The channel of a crew's inputs."""

PLANNING = "planning"
"""The node that makes a crew's plan, and its channel."""

TASK = "task"
"""The key that identifies the task of an output in the state: its `id` in that process, its `key`, and its `number`."""


def schema(name: str, channels: Iterable[str]) -> Any:
    """Create a state type of these channels, each a dict that may be missing: the whole state, or what a node reads."""
    fields: dict[str, object] = dict.fromkeys(channels, dict[str, Any])
    return TypedDict(name, fields, total=False)  # pyright: ignore[reportArgumentType]
