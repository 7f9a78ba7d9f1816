"""Console panels for programs that print their own."""

import threading
from collections.abc import Mapping
from contextvars import Token
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from crewgraph.observe.console import QUIET
from crewgraph.text import printable

__all__ = ["ConsolePanel", "set_suppress_console_output", "should_suppress_console_output"]


def set_suppress_console_output(suppress: bool) -> Token[bool]:
    """Set whether panels and runs started in this context print to the console."""
    return QUIET.set(suppress)


def should_suppress_console_output() -> bool:
    """Return whether console output is suppressed in this context."""
    return QUIET.get()


class ConsolePanel:
    """Print panels.

    Args:
        verbose: whether it prints; panels of flows are printed anyway.
    """

    def __init__(self, verbose: bool = False) -> None:
        self.console = Console(width=None)
        self.verbose = verbose
        self._live: Live | None = None
        self._lock = threading.Lock()

    def create_panel(self, content: Text, title: str, style: str = "blue") -> Panel:
        """Return a framed text."""
        return Panel(content, title=title, border_style=style, padding=(1, 2))

    def create_status_content(
        self, title: str, name: str, status_style: str = "blue", tool_args: dict[str, Any] | str = "", **fields: Any
    ) -> Text:
        """Return a heading followed by one line per field.

        Args:
            title: the heading.
            name: the object that has the status.
            status_style: the colour of the heading.
            tool_args: the arguments of a tool.
            fields: more, by what they are called.
        """
        content = Text(f"{title}\n", style=f"{status_style} bold")
        self._line(content, "Name", name, status_style)
        for called, value in fields.items():
            self._line(content, called, value, status_style)
        if tool_args:
            self._line(content, "Tool Args", tool_args, status_style)
        return content

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print like rich's console, ending any live text."""
        self.pause_live_updates()
        if not should_suppress_console_output():
            self.console.print(*args, **kwargs)

    def print_panel(self, content: Text, title: str, style: str = "blue", is_flow: bool = False) -> None:
        """Print a framed text if `verbose` is set or it is about a flow."""
        if self.verbose or is_flow:
            self.print(self.create_panel(content, title, style))

    def pause_live_updates(self) -> None:
        """End a live text so that the user can be prompted."""
        with self._lock:
            live, self._live = self._live, None
        if live is not None:
            live.stop()

    def resume_live_updates(self) -> None:
        """Do nothing: the next chunk starts a new live text."""

    def _grow(self, text: str, title: str) -> None:
        """Update a live text."""
        if not self.verbose or should_suppress_console_output():
            return
        panel = self.create_panel(Text(printable(text)), title, "green")
        with self._lock:
            if self._live is None:
                self._live = Live(panel, console=self.console, refresh_per_second=10)
                self._live.start()
            else:
                self._live.update(panel)

    def _print_fields(self, title: str, style: str, fields: Mapping[str, Any], is_flow: bool = False) -> None:
        """Print a panel with a line for each field that is not None or empty."""
        content = Text()
        for called, value in fields.items():
            if value is not None and value != "":
                self._line(content, called, value, style)
        self.print_panel(content, title, style, is_flow)

    @staticmethod
    def _line(content: Text, called: str, value: Any, style: str) -> None:
        content.append(printable(f"{called}: "), style="white")
        content.append(printable(f"{value}\n"), style=style)
