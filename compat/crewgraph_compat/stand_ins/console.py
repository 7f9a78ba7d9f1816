"""Colored printing, and questions at the terminal."""

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from crewgraph.compiler.agent.human_review import ask_at_terminal

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


PrinterColor = Literal[
    "purple",
    "bold_purple",
    "green",
    "bold_green",
    "cyan",
    "bold_cyan",
    "magenta",
    "bold_magenta",
    "yellow",
    "bold_yellow",
    "red",
    "blue",
    "bold_blue",
]
"""The colors of a `Printer`."""

RESET: Final = "\x1b[0m"
"""Resets the color on a terminal."""

_BOLD = "\x1b[1m"
_CODES: dict[PrinterColor, str] = {
    "purple": "\x1b[95m",
    "bold_purple": f"{_BOLD}\x1b[95m",
    "red": "\x1b[91m",
    "green": "\x1b[32m",
    "bold_green": f"{_BOLD}\x1b[92m",
    "blue": "\x1b[94m",
    "bold_blue": f"{_BOLD}\x1b[94m",
    "yellow": "\x1b[93m",
    "bold_yellow": f"{_BOLD}\x1b[93m",
    "cyan": "\x1b[96m",
    "bold_cyan": f"{_BOLD}\x1b[96m",
    "magenta": "\x1b[35m",
    "bold_magenta": f"{_BOLD}\x1b[35m",
}


class ColoredText(NamedTuple):
    """A piece of a line with its color."""

    text: str
    """The text."""

    color: PrinterColor | None
    """The color; None is the terminal's default."""


class Printer:
    """Print in color, even if the output is not a terminal."""

    @staticmethod
    def print(
        content: str | list[ColoredText],
        color: PrinterColor | None = None,
        sep: str | None = " ",
        end: str | None = "\n",
        file: "SupportsWrite[str] | None" = None,
        flush: Literal[False] = False,
    ) -> None:
        """Print a text, or pieces with a color each, like `print`.

        Args:
            content: the text, or the pieces.
            color: the colour of a text.
            sep: separates pieces that are printed one by one; pieces of one list stand side by side.
            end: stands at the end.
            file: where to; None is the standard output.
            flush: not to write at once.

        Raises:
            KeyError: there is no such colour.
        """
        pieces = [ColoredText(content, color)] if isinstance(content, str) else content
        line = "".join(f"{_CODES[of]}{text}" if of else text for text, of in _ended(pieces))
        print(f"{line}{RESET}", sep=sep, end=end, file=file, flush=flush)


def _ended(pieces: list[ColoredText]) -> list[ColoredText]:
    """Return the pieces, with a color reset after each colored piece except the last."""
    last = len(pieces) - 1
    return [
        ColoredText(f"{text}{RESET}" if color and number < last else text, color)
        for number, (text, color) in enumerate(pieces)
    ]


class ConsoleProvider:
    """Ask on the terminal; flows do this automatically if there is one.

    Args:
        verbose: whether to show the output in question.
    """

    def __init__(self, verbose: bool = True) -> None:
        self.verbose = verbose

    def request_feedback(self, context: Any, flow: Any) -> str:
        """Return the user's feedback on an output."""
        shown = [str(context.method_output)] if self.verbose else []
        return ask_at_terminal("\n".join([*shown, context.message, "> "])).strip()

    def request_input(self, message: str, flow: Any, metadata: dict[str, Any] | None = None) -> str | None:
        """Return the user's answer to a message."""
        return ask_at_terminal(f"{message}\n> ").strip()
