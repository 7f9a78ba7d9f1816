"""Texts with `${...}` in them."""

import re
from dataclasses import dataclass

from crewgraph.errors import ExpressionError

__all__ = ["Part", "parts_of"]

_OPENING = "${"

_WORDS = re.compile(
    r"""
      //[^\n]*
    | [rR]?(?P<long>\"{3}|'{3})(?:\\.|[^\\])*?(?P=long)
    | [rR]?(?P<quote>["'])(?:\\.|[^\\\n])*?(?P=quote)
    | (?P<bracket>[{}])
    """,
    re.VERBOSE | re.DOTALL,
)
"""Notes and texts, whose brackets do not count, and brackets."""


@dataclass(frozen=True)
class Part:
    """A piece of a text."""

    text: str
    is_expression: bool


def parts_of(text: str) -> list[Part]:
    """The pieces of a text, in their order.

    Raises:
        ExpressionError: an expression in it is empty, or has no end.
    """
    parts: list[Part] = []
    at = 0
    while (start := text.find(_OPENING, at)) >= 0:
        if start > at:
            parts.append(Part(text[at:start], False))
        end = _end(text, start + len(_OPENING))
        inner = text[start + len(_OPENING) : end].strip()
        if not inner:
            raise ExpressionError(f"there is nothing between the brackets of `${{}}` in {text!r:.120}")
        parts.append(Part(inner, True))
        at = end + 1
    if at < len(text):
        parts.append(Part(text[at:], False))
    return parts


def _end(text: str, start: int) -> int:
    """Where the bracket is that closes an expression."""
    depth = 0
    for word in _WORDS.finditer(text, start):
        bracket = word["bracket"]
        if bracket == "}" and depth == 0:
            return word.start()
        depth += {"{": 1, "}": -1}.get(bracket, 0)
    raise ExpressionError(f"`${{...}}` in {text!r:.120} has no end")
