"""Printing in colours, and answers typed at the terminal."""

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from crewgraph.compiler.terminal import said_at_terminal

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

__all__ = ["ConsoleProvider", "Printer", "PrinterColor"]


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
"""The colours of a `Printer`."""

_RESET: Final = "\x1b[0m"
"""Ends a colour on a terminal."""

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


class _Piece(NamedTuple):
    """A piece of a line."""

    text: str
    """What it says."""

    color: PrinterColor | None
    """Its colour; None is the terminal's own."""


class Printer:
    """Prints in colours, whether or not it is a terminal that is printed to."""

    @staticmethod
    def print(
        content: str | list[_Piece],
        color: PrinterColor | None = None,
        sep: str | None = " ",
        end: str | None = "\n",
        file: "SupportsWrite[str] | None" = None,
        flush: Literal[False] = False,
    ) -> None:
        """Print a text, or pieces that have each its colour, as `print` does.

        Args:
            content: the text, or the pieces.
            color: the colour of a text.
            sep: stands between pieces that are printed one by one; pieces of one list stand side by side.
            end: stands at the end.
            file: where to; None is the standard output.
            flush: not to write at once.

        Raises:
            KeyError: there is no such colour.
        """
        pieces = [_Piece(content, color)] if isinstance(content, str) else content
        line = "".join(f"{_CODES[of]}{text}" if of else text for text, of in _ended(pieces))
        print(f"{line}{_RESET}", sep=sep, end=end, file=file, flush=flush)


def _ended(pieces: list[_Piece]) -> list[_Piece]:
    """The pieces, each coloured one but the last with the end of its colour."""
    last = len(pieces) - 1
    return [
        _Piece(f"{text}{_RESET}" if color and number < last else text, color)
        for number, (text, color) in enumerate(pieces)
    ]


class ConsoleProvider:
    """Asks on the terminal; flows do so by themselves where there is one.

    Args:
        verbose: whether the output that is asked about is shown.
    """

    def __init__(self, verbose: bool = True) -> None:
        self.verbose = verbose

    def request_feedback(self, context: Any, flow: Any) -> str:
        """What somebody types about an output."""
        shown = [str(context.method_output)] if self.verbose else []
        return said_at_terminal("\n".join([*shown, context.message, "> "])).strip()

    def request_input(self, message: str, flow: Any, metadata: dict[str, Any] | None = None) -> str | None:
        """What somebody types as an answer."""
        return said_at_terminal(f"{message}\n> ").strip()
