"""Lines laid out in columns and colours, for a terminal or a notebook."""

import os
from typing import TextIO

from rich.console import Console
from rich.containers import Lines
from rich.text import Text

from crewgraph.observe.line import Mood

__all__ = ["Columns"]

_WHERE = 20  # cells for the name of the task
_NARROWEST = 20  # cells for what happened, even where the terminal is too narrow
_NOTEBOOK = 100  # cells: a notebook does not tell its width
_MARKS = {
    Mood.START: ("▸", ">", "bold"),
    Mood.STEP: ("·", "-", "dim"),
    Mood.GOOD: ("✓", "+", "green"),
    Mood.WARNING: ("!", "!", "yellow"),
    Mood.BAD: ("✗", "x", "red"),
}
_NAMES = ("cyan", "magenta", "blue", "green", "bright_cyan", "bright_magenta", "bright_blue", "yellow")


class Columns:
    """Prints lines as: name of the task, a rule, a mark, what happened; each task in a colour of its own."""

    def __init__(self, stream: TextIO | None) -> None:
        self._console = _console(stream)
        self._colours: dict[str, str] = {}

    @property
    def fit(self) -> bool:
        """Whether somebody looks who sees columns and colours: a terminal or a notebook."""
        return self._console.is_terminal

    def show(self, where: str, head: str, text: str, body: str, mood: Mood) -> None:
        """Print one line, and its body below it."""
        mark, plain_mark, style = _MARKS[mood]
        plain = self._console.options.ascii_only
        colour = self._colours.setdefault(where, _NAMES[len(self._colours) % len(_NAMES)])
        name = Text(where, colour, no_wrap=True)
        name.truncate(_WHERE, overflow="ellipsis", pad=True)
        rule = Text("|" if plain else "│", "dim")
        told = Text.assemble((head, style), "  " if text else "", text)
        beside = Text(plain_mark if plain else mark, style)
        paragraphs = [told, *(Text(one) for one in body.split("\n"))] if body else [told]
        rows: list[Text] = []
        for content in (row for paragraph in paragraphs for row in self._wrapped(paragraph)):
            rows.append(Text(" ").join((name, rule, beside, content)))
            rows[-1].rstrip()
            name, beside = Text(" " * _WHERE), Text(" ")
        self._console.print(Text("\n").join(rows), soft_wrap=True)

    def _wrapped(self, text: Text) -> Lines:
        width = max(_NARROWEST, self._console.width - _WHERE - len(" │ · "))
        return text.wrap(self._console, width, overflow="fold")


def _console(stream: TextIO | None) -> Console:
    colours = None if os.environ.get("NO_COLOR") else "auto"
    if stream is None and Console().is_jupyter:
        # As terminal text: a notebook shows rich's own objects as one block a line, with gaps between them.
        system = None if colours is None else "standard"
        return Console(force_jupyter=False, force_terminal=True, width=_NOTEBOOK, color_system=system)
    return Console(file=stream, color_system=colours, force_jupyter=False)
