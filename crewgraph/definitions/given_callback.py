"""Functions as users give them to agents, tasks and crews, to be told of something."""

from typing import Annotated, Any

from pydantic import AfterValidator

__all__ = ["GivenCallback"]


def _callable(callback: Any) -> Any:
    if callback is not None and not callable(callback):
        raise ValueError(f"a callback is a function of one argument, not {callback!r:.60}")
    return callback


GivenCallback = Annotated[Any, AfterValidator(_callable)]
"""A function, sync or async, or None; anything else is refused at once, before a model is paid."""
