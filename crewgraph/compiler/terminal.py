"""The terminal that somebody sits at, where there is one."""

import builtins
import os
import selectors
import sys
import threading
from inspect import isbuiltin

from crewgraph.text import printable

__all__ = ["has_terminal", "read_line", "said_at_terminal"]

_CHUNK = 4096

_turn = threading.Lock()
"""Whose turn it is to ask: runs beside each other must not read each other's answers."""


def has_terminal() -> bool:
    """Whether somebody can be asked here: at a terminal, or where `input` was replaced, as notebooks do."""
    if _is_replaced():
        return True
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # it was closed
        return False


def _is_replaced() -> bool:
    # A kernel knows whether its frontend lets people type; without one (`nbconvert`), asking would be an error.
    return not isbuiltin(builtins.input) and getattr(getattr(builtins.input, "__self__", None), "_allow_stdin", True)


def said_at_terminal(prompt: str) -> str:
    """The line that somebody types.

    Raises:
        EOFError: the terminal was closed.
    """
    with _turn:
        return input(printable(prompt))  # models have written a part of it


def read_line(prompt: str, seconds: float) -> str | None:
    """The line that somebody types; None where nothing is complete after some seconds.

    On Windows, and where `input` was replaced, it waits for as long as it takes.

    Raises:
        EOFError: the terminal was closed.
    """
    if sys.platform == "win32" or _is_replaced():
        return input(prompt)
    print(prompt, end="", flush=True)  # noqa: T201 - a question to whoever sits there
    terminal = sys.stdin.fileno()
    with selectors.DefaultSelector() as waiting:  # `select.select` knows the first 1024 files of a process alone
        waiting.register(terminal, selectors.EVENT_READ)
        ready = waiting.select(max(seconds, 0))
    if not ready:
        print(flush=True)  # noqa: T201
        return None
    # A terminal hands out whole lines. Not through `sys.stdin`: what it had read ahead could not be waited for.
    line = os.read(terminal, _CHUNK)
    if not line:
        raise EOFError(f"the terminal was closed while `{prompt.strip()}` was asked")
    return line.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n")
