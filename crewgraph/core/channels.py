"""The channel of a graph's result, which every checkpointer can store."""

import math
from typing import Any, Self

from langgraph.channels import LastValue

_BOXED = "$boxed"


class ResultChannel(LastValue[Any]):
    """A channel like LangGraph's `LastValue`, for values that a checkpointer may fail to store as they are.

    `PostgresSaver` writes texts and numbers that are the value of a channel as JSON, and PostgreSQL takes neither a NUL nor NaN
    and infinite numbers in JSON; those inside dicts and lists it writes as bytes. So checkpoints hold such a value in a dict.
    """

    __slots__ = ()

    def checkpoint(self) -> Any:
        """Return the value for a checkpoint."""
        value = self.value
        if isinstance(value, str):
            is_sound = "\0" not in value
        elif isinstance(value, float):
            is_sound = math.isfinite(value)
        else:
            is_sound = not (type(value) is dict and _BOXED in value)
        return self.value if is_sound else {_BOXED: self.value}

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """Return a channel with the value of a checkpoint."""
        return super().from_checkpoint(
            checkpoint[_BOXED] if type(checkpoint) is dict and _BOXED in checkpoint else checkpoint
        )
