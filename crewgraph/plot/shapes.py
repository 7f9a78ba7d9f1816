"""How large things are drawn, in units of the drawing."""

import math
import re
import unicodedata
from itertools import pairwise

from crewgraph.plot.picture import Method, Way

__all__ = ["LINE", "label_lines", "label_size", "lines_of", "node_size"]

LINE = 15.0
"""From one line of text to the next."""

_CHARACTER = 7.3
_LONGEST = 18
_ENOUGH = 13
_ENOUGH_IN_CIRCLE = 9
_MOST_LINES = 3
_MOST_LABELS = 5


def lines_of(method: Method) -> list[str]:
    """A method's name in short lines, divided where its words begin; what is too long is cut."""
    name, enough = method.name, _ENOUGH_IN_CIRCLE if method.kind == "start" else _ENOUGH
    lines = [""]
    marks = [0, *(found.end() for found in re.finditer(r"_+(?=[^_])", name)), len(name)]
    for begin, end in pairwise(marks):
        part = name[begin:end]
        if lines[-1] and _units(lines[-1] + part) > enough:
            lines.append("")
        lines[-1] += part
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], "".join(lines[_MOST_LINES - 1 :])]
    return [_cut(line) for line in lines]


def node_size(method: Method) -> tuple[float, float]:
    """Width and height of a method's shape, with the text inside it."""
    lines = lines_of(method)
    width, height = max(map(_units, lines)) * _CHARACTER, len(lines) * LINE
    if method.kind == "start":
        across = max(math.hypot(width, height) + 14, 56)
        return across, across
    if method.kind == "router":
        tall = max(height * 2.6, 60)
        return max(width / (1 - height / tall) + 18, 96), tall
    return max(width * 1.28 + 16, 84), max(height * 1.35 + 14, 44)


def label_lines(way: Way) -> list[str]:
    """The labels of a way as they are written at it."""
    labels = [_cut(" ".join(label.split()) or " ") for label in way.labels]
    if len(labels) > _MOST_LABELS:
        labels = [*labels[: _MOST_LABELS - 1], f"and {len(labels) - _MOST_LABELS + 1} more"]
    return labels


def label_size(way: Way) -> tuple[float, float]:
    """Width and height of the labels of a way; a little, where there are none."""
    lines = label_lines(way)
    if not lines:
        return 12.0, 8.0
    return max(map(_units, lines)) * _CHARACTER * 0.93 + 14, len(lines) * LINE + 5


def _units(text: str) -> int:
    """The width of a text, in characters."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def _cut(text: str) -> str:
    if _units(text) <= _LONGEST:
        return text
    while _units(text) > _LONGEST - 1:
        text = text[:-1]
    return f"{text}…"
