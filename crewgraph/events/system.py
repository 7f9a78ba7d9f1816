"""Signals from the operating system, as events."""

import signal
import threading
from collections.abc import Callable
from enum import IntEnum
from types import FrameType
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus

_F = TypeVar("_F", bound=Callable[..., object])


class SignalType(IntEnum):
    """The signals that are reported as events."""

    SIGTERM = signal.SIGTERM
    SIGINT = signal.SIGINT
    SIGHUP = getattr(signal, "SIGHUP", 1)
    SIGTSTP = getattr(signal, "SIGTSTP", 20)
    SIGCONT = getattr(signal, "SIGCONT", 18)


class _SignalEvent(BaseEvent):
    reason: str | None = None
    """The reason, if known."""


class SigTermEvent(_SignalEvent):
    """The process is asked to terminate."""

    type: Literal["SIGTERM"] = "SIGTERM"  # pyright: ignore[reportIncompatibleVariableOverride]

    signal_number: SignalType = SignalType.SIGTERM
    """The signal."""


class SigIntEvent(_SignalEvent):
    """The user pressed Ctrl-C (SIGINT)."""

    type: Literal["SIGINT"] = "SIGINT"  # pyright: ignore[reportIncompatibleVariableOverride]

    signal_number: SignalType = SignalType.SIGINT
    """The signal."""


class SigHupEvent(_SignalEvent):
    """The terminal was closed."""

    type: Literal["SIGHUP"] = "SIGHUP"  # pyright: ignore[reportIncompatibleVariableOverride]

    signal_number: SignalType = SignalType.SIGHUP
    """The signal."""


class SigTStpEvent(_SignalEvent):
    """The user pressed Ctrl-Z (SIGTSTP)."""

    type: Literal["SIGTSTP"] = "SIGTSTP"  # pyright: ignore[reportIncompatibleVariableOverride]

    signal_number: SignalType = SignalType.SIGTSTP
    """The signal."""


class SigContEvent(_SignalEvent):
    """The process continues after it was stopped."""

    type: Literal["SIGCONT"] = "SIGCONT"  # pyright: ignore[reportIncompatibleVariableOverride]

    signal_number: SignalType = SignalType.SIGCONT
    """The signal."""


SignalEvent = Annotated[
    SigTermEvent | SigIntEvent | SigHupEvent | SigTStpEvent | SigContEvent, Field(discriminator="type")
]
"""One of the signal events."""

SIGNAL_EVENT_TYPES = (SigTermEvent, SigIntEvent, SigHupEvent, SigTStpEvent, SigContEvent)
"""The classes of signal events."""

_EVENTS: dict[int, Callable[[], BaseEvent]] = {int(item().signal_number): item for item in SIGNAL_EVENT_TYPES}
_before: dict[int, object] = {}


def on_signal(func: _F) -> _F:
    """Call a function, with the source and the event, for each signal that the process gets; see `watch_signals`."""
    for kind in SIGNAL_EVENT_TYPES:
        crewai_event_bus.on(kind)(func)
    watch_signals()
    return func


def watch_signals() -> bool:
    """Emit an event for each signal from now on; earlier handlers still run: Ctrl-C still ends the program.

    Returns:
        Whether signals are watched: Python handles signals only on the main thread, so this must be called there first.
    """
    if threading.current_thread() is not threading.main_thread():
        return bool(_before)
    for number in _EVENTS:
        if number not in _before:
            try:
                _before[number] = signal.signal(number, _on_signal)
            except (OSError, ValueError):  # the platform does not have it
                continue
    return True


def _on_signal(number: int, frame: FrameType | None) -> None:
    crewai_event_bus.emit(None, _EVENTS[number]())
    previous = _before[number]
    if callable(previous):
        previous(number, frame)
    elif previous == signal.SIG_DFL and number != SignalType.SIGCONT:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(signal.Signals(number))
        signal.signal(number, _on_signal)  # the process was stopped and has continued
