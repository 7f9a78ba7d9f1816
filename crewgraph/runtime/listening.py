"""A person at the terminal is asked what to change in an answer."""

import sys
import threading

from crewgraph.definitions.output import TaskOutput
from crewgraph.prompts.book import Book

__all__ = ["at_terminal", "has_terminal"]

_one_at_a_time = threading.Lock()


def has_terminal() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin is not None and sys.stdin.isatty()


def at_terminal(output: TaskOutput, book: Book) -> str:
    """What somebody types when shown an answer; an empty text accepts it.

    Raises:
        EOFError: the terminal was closed.
    """
    shown = book.slice("getting_input", final_answer=output.raw)
    with _one_at_a_time:  # tasks may run beside each other
        print(f"\n[{output.name}] {output.agent}\n{shown}", flush=True)  # noqa: T201 - to whoever sits there
        return input("> ")
