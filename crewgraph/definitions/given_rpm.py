"""Bounds on model requests as users give them to agents and crews."""

from typing import Annotated, Any

from pydantic import AfterValidator

__all__ = ["GivenController", "GivenMaxRpm", "checked_controller"]


def _room(max_rpm: int | None) -> int | None:
    if max_rpm is not None and max_rpm < 1:
        raise ValueError(f"`max_rpm` must be 1 or more, or None for no bound, not {max_rpm}")
    return max_rpm


def checked_controller(controller: Any) -> Any:
    """What was given, if requests can wait for it.

    Raises:
        ValueError: they cannot.
    """
    if controller is not None and not callable(getattr(controller, "check_or_wait", None)):
        raise ValueError(
            f"`rpm_controller` is an `RPMController`, or an object with `check_or_wait()`, not {controller!r:.60}"
        )
    return controller


GivenMaxRpm = Annotated[int | None, AfterValidator(_room)]
"""How many requests a minute, at least 1; None sets no bound."""

GivenController = Annotated[Any, AfterValidator(checked_controller)]
"""What requests wait for, or None; anything else is refused at once."""
