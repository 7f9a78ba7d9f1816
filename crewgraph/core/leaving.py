"""A run that nobody wants to go on: it stops before its next effect, so that nothing is begun and nothing done is lost."""

from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["LEFT", "RunLeft", "heed"]


class RunLeft(BaseException):
    """Raised inside of a run that is left; no `except Exception` holds it."""

    def __init__(self) -> None:
        super().__init__("whoever watched the run went away before its end")


LEFT: ContextVar[Callable[[], bool] | None] = ContextVar("crewgraph_left", default=None)
"""Says whether the run of the running code is left; None where nobody can leave it."""


def heed() -> None:
    """Stop here if the run is left.

    Raises:
        RunLeft: it is.
    """
    left = LEFT.get()
    if left is not None and left():
        raise RunLeft
