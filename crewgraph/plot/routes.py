"""The curves that ways are drawn as."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["LOOP", "Box", "Point", "Route", "across", "beside", "looped"]

Point = tuple[float, float]

LOOP = 36.0
"""How far a way from a method to itself reaches above it."""


@dataclass(frozen=True)
class Box:
    """A rectangle, by its middle."""

    x: float
    y: float
    width: float
    height: float
    corner: float = 0.35
    """How far from its middle the shape inside it is met aslant, as a part of its width and height."""

    @property
    def left(self) -> float:
        """Its least x."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Its greatest x."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """Its least y."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Its greatest y."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Route:
    """A chain of cubic curves."""

    points: tuple[Point, ...]
    """Where it begins, and for each curve two control points and its end."""

    label: Box | None = None
    """Where its label stands, if it has one."""

    def extent(self) -> list[Box]:
        """What it takes of the drawing; the control points of a curve are around it."""
        return [*(Box(x, y, 0, 0) for x, y in self.points), *([self.label] if self.label else [])]


def across(
    source: Box,
    target: Box,
    ends: tuple[tuple[float, float], tuple[float, float]],
    lane: Sequence[tuple[float, float, float]],
    label: Box | None,
) -> Route:
    """A way through columns.

    Args:
        source: where it begins.
        target: where it ends; to the left, if the way leads back.
        ends: left and right of their columns.
        lane: of what it passes on its way, the left, the right and the height.
        label: where its label stands, if it has one.
    """
    back = target.x < source.x
    (source_left, source_right), (target_left, target_right) = ends
    if back:
        leave = _port(source, -1, lane[0][2])
        arrive = _port(target, 1, lane[-1][2])
        stops = [leave, (source_left, leave[1])]
        for left, right, y in lane:
            stops += [(right, y), (left, y)]
        stops += [(target_right, arrive[1]), arrive]
    else:
        stops = [(source.right, source.y), (source_right, source.y)]
        for left, right, y in lane:
            stops += [(left, y), (right, y)]
        stops += [(target_left, target.y), (target.left, target.y)]
    return Route(_curved(stops), label)


def beside(source: Box, target: Box, size: tuple[float, float] | None) -> Route:
    """A way between two of one column, to the left of them."""
    out = min(source.left, target.left) - 70
    begin, end = (source.left, source.y), (target.left, target.y)
    label = Box(out + 20, (source.y + target.y) / 2, *size) if size else None
    return Route((begin, (out, begin[1]), (out, end[1]), end), label)


def looped(box: Box, size: tuple[float, float] | None) -> Route:
    """A way that leads to where it begins, above it; its label on top of it."""
    reach, low = box.width * box.corner, box.y - box.height * box.corner
    high = box.top - LOOP
    begin, end = (box.x + reach, low), (box.x - reach, low)
    wide = reach + LOOP / 2
    label = Box(box.x, (low + 3 * high) / 4 - size[1] / 2, *size) if size else None
    return Route((begin, (box.x + wide, high), (box.x - wide, high), end), label)


def _port(box: Box, side: int, toward: float) -> Point:
    """Where a way that leads back meets a shape: beside its middle, on the side where the way comes from."""
    down = 1 if toward >= box.y else -1
    return box.x + side * box.width * box.corner, box.y + down * box.height * box.corner


def _curved(stops: Sequence[Point]) -> tuple[Point, ...]:
    """Curves through points; level at each of them."""
    points: list[Point] = [stops[0]]
    for x, y in stops[1:]:
        before, height = points[-1]
        if (x, y) != (before, height):
            middle = (before + x) / 2
            points += [(middle, height), (middle, y), (x, y)]
    return tuple(points)
