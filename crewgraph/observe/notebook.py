"""Output in notebooks: whether a kernel runs the program, and an output of a cell that is updated in place."""

import sys
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

_INTERVAL = 0.2  # seconds; a browser draws no more updates than people can read
_TICK = 1.0  # seconds between updates of the running times


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this program. Imports nothing: a kernel has loaded IPython."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython is not None and getattr(get_ipython(), "kernel", None) is not None


class UpdatedOutput:
    """One output of a cell, updated in place by a separate thread, at most five times a second.

    Args:
        render: Returns the representations by MIME type; called from that thread.
    """

    def __init__(self, render: Callable[[], dict[str, str]]) -> None:
        self._render = render
        self._changed, self._ended = threading.Event(), threading.Event()
        self._shown: dict[str, str] = {}
        self._handle: Any = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Show the output in the cell that is running."""
        self._shown = self._render()
        from IPython.display import display  # pyright: ignore[reportUnknownVariableType]

        self._handle = display(self._shown, raw=True, display_id=True)
        # In this context, the kernel knows which cell the updates belong to.
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._refresh,), name="crewgraph-live-view", daemon=True
        )
        self._thread.start()

    def changed(self) -> None:
        """Update the output soon."""
        self._changed.set()

    def end(self) -> None:
        """Show the last state, and update no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._update()

    def _refresh(self) -> None:
        updated = time.monotonic()
        while not self._ended.wait(_INTERVAL):
            if self._changed.is_set() or time.monotonic() - updated >= _TICK:
                self._changed.clear()
                self._update()
                updated = time.monotonic()

    def _update(self) -> None:
        rendered = self._render()
        if rendered != self._shown:
            self._shown = rendered
            self._handle.update(rendered, raw=True)
