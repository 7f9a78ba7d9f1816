"""Where everything of a flow is drawn: in layers from left to right. Pure.

The columns of a layered drawing: what stands in each, in an order with few crossings.

In which layer the nodes of a graph stand.

How high the cells of columns stand: near to their neighbours, and apart from each other.

The curves that ways are drawn as.

How large things are drawn, in units of the drawing.
"""

import math
import re
import unicodedata
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from crewgraph.plot.picture import Method, Picture, Way

__all__ = [
    "LINE",
    "LOOP",
    "Box",
    "Cell",
    "Columns",
    "Edge",
    "Layout",
    "Point",
    "Route",
    "across",
    "beside",
    "heights",
    "label_lines",
    "label_size",
    "laid_out",
    "lines_of",
    "looped",
    "node_size",
    "ranked",
    "spread",
]


_SWEEPS = 24


@dataclass(frozen=True, eq=False)
class Cell:
    """A place in a column: for a node, for a label, or for an edge that passes."""

    column: int
    width: float
    height: float
    is_node: bool = False


@dataclass(frozen=True, eq=False)
class Columns:
    """Cells, and which of them are neighbours in their columns' order."""

    cells: Sequence[Cell]
    """All cells; the order in a column is theirs."""

    links: Sequence[tuple[Cell, Cell]]
    """From cells to cells of the next column."""

    @cached_property
    def columns(self) -> tuple[tuple[Cell, ...], ...]:
        """The cells of each column."""
        found: list[list[Cell]] = [[] for _ in range(1 + max((cell.column for cell in self.cells), default=-1))]
        for cell in self.cells:
            found[cell.column].append(cell)
        return tuple(tuple(column) for column in found)

    @cached_property
    def before(self) -> dict[Cell, list[Cell]]:
        """The neighbours of each cell in the column before."""
        return self._neighbours((target, source) for source, target in self.links)

    @cached_property
    def behind(self) -> dict[Cell, list[Cell]]:
        """The neighbours of each cell in the column behind."""
        return self._neighbours(self.links)

    @cached_property
    def crossings(self) -> int:
        """How often two links cross."""
        places = {cell: place for column in self.columns for place, cell in enumerate(column)}
        return sum(self._crossings(column, places) for column in self.columns)

    def untangled(self) -> "Columns":
        """The same in an order with few crossings, found by going through the columns to and fro."""
        best = now = self._in_order({cell: place for place, cell in enumerate(self._depth_first())})
        for sweep in range(_SWEEPS):
            if best.crossings == 0:
                break
            now = now._swept(forward=sweep % 2 == 0)._swapped()
            if now.crossings < best.crossings:
                best = now
        return best

    def _neighbours(self, links: Iterable[tuple[Cell, Cell]]) -> dict[Cell, list[Cell]]:
        found: dict[Cell, list[Cell]] = {cell: [] for cell in self.cells}
        for one, other in links:
            found[one].append(other)
        return found

    def _crossings(self, column: Sequence[Cell], places: dict[Cell, int]) -> int:
        seen: list[int] = []
        count = 0
        for cell in column:
            ends = sorted(places[other] for other in self.behind[cell])
            count += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
        return count

    def _in_order(self, places: dict[Cell, float] | dict[Cell, int]) -> "Columns":
        return Columns(sorted(self.cells, key=places.__getitem__), self.links)

    def _depth_first(self) -> list[Cell]:
        found: dict[Cell, None] = {}
        todo = list(reversed(sorted(self.cells, key=lambda cell: cell.column)))
        while todo:
            cell = todo.pop()
            if cell not in found:
                found[cell] = None
                todo.extend(reversed(self.behind[cell]))
        return list(found)

    def _swept(self, forward: bool) -> "Columns":
        """Each cell at the mean place of its neighbours, column by column."""
        places: dict[Cell, float] = {cell: place for column in self.columns for place, cell in enumerate(column)}
        near = self.before if forward else self.behind
        for column in self.columns if forward else self.columns[::-1]:
            means = {
                cell: sum(places[other] for other in near[cell]) / len(near[cell]) if near[cell] else places[cell]
                for cell in column
            }
            for place, cell in enumerate(sorted(column, key=means.__getitem__)):
                places[cell] = place
        return self._in_order(places)

    def _swapped(self) -> "Columns":
        """Neighbours in a column change places where that makes fewer crossings."""
        places: dict[Cell, int] = {cell: place for column in self.columns for place, cell in enumerate(column)}
        for column in self.columns:
            cells = list(column)
            for place in range(len(cells) - 1):
                upper, lower = cells[place], cells[place + 1]
                if self._between(lower, upper, places) < self._between(upper, lower, places):
                    cells[place], cells[place + 1] = lower, upper
                    places[upper], places[lower] = place + 1, place
        return self._in_order(places)

    def _between(self, upper: Cell, lower: Cell, places: dict[Cell, int]) -> int:
        """How often the links of two cells cross, if one is above the other."""
        return sum(
            places[one] > places[other]
            for near in (self.before, self.behind)
            for one in near[upper]
            for other in near[lower]
        )


Edge = tuple[str, str]


def ranked(names: Sequence[str], first: Sequence[str], edges: Iterable[Edge]) -> tuple[dict[str, int], set[Edge]]:
    """The layers of a graph that may have cycles.

    Args:
        names: the nodes.
        first: those that stand in layer 0; the only ones there, if there are any.
        edges: from which node to which; those of a node to itself are ignored.

    Returns:
        The layer of each node, and the edges that lead back: to a lower layer, or the same. All others lead to a higher one.
    """
    straight = [(source, target) for source, target in dict.fromkeys(edges) if source != target]
    behind: dict[str, list[str]] = {name: [] for name in names}
    for source, target in straight:
        if target not in first:
            behind[source].append(target)
    order, back = _ordered([*first, *names], behind)
    back |= {(source, target) for source, target in straight if target in first}
    ranks = dict.fromkeys(names, 1 if first else 0) | dict.fromkeys(first, 0)
    for name in order:
        for target in behind[name]:
            if (name, target) not in back:
                ranks[target] = max(ranks[target], ranks[name] + 1)
    led = {target for source, target in straight if (source, target) not in back}
    for name in names:
        nexts = [ranks[target] for target in behind[name] if (name, target) not in back]
        if name not in first and name not in led and nexts:  # as near to what it leads to as may be
            ranks[name] = max(ranks[name], min(nexts) - 1)
    return ranks, back


def _ordered(roots: Sequence[str], behind: dict[str, list[str]]) -> tuple[list[str], set[Edge]]:
    """The nodes, each before those behind it, but for the edges that lead back, which are the second value."""
    done: list[str] = []
    back: set[Edge] = set()
    seen: set[str] = set()
    for root in dict.fromkeys(roots):
        if root in seen:
            continue
        seen.add(root)
        path: dict[str, Iterator[str]] = {root: iter(behind[root])}
        while path:
            name = next(reversed(path))
            target = next(path[name], None)
            if target is None:
                path.pop(name)
                done.append(name)
            elif target in path:
                back.add((name, target))
            elif target not in seen:
                seen.add(target)
                path[target] = iter(behind[target])
    return done[::-1], back


_STRAIGHTENING = 12
_STIFF = 12.0
"""How much more a straight lane counts than a node beside its neighbours."""
_BETWEEN_NODES = 30.0
_BETWEEN_LANES = 14.0


def heights(columns: Columns, lanes: Sequence[Sequence[Cell]]) -> dict[Cell, float]:
    """The y of each cell's middle; no two cells of a column overlap, and their order is kept.

    Args:
        columns: the cells.
        lanes: the cells that are to stand on one line, as far as there is room.
    """
    found: dict[Cell, float] = {}
    for column in columns.columns:
        found.update(_placed(column, dict.fromkeys(column, 0.0)))
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for column in columns.columns if forward else columns.columns[::-1]:
            wanted: dict[Cell, float] = {}
            for cell in column:
                near = (columns.before if forward else columns.behind)[cell]
                wanted[cell] = sum(found[other] for other in near) / len(near) if near else found[cell]
            found.update(_placed(column, wanted))
    for _ in range(_STRAIGHTENING):
        lines = {cell: _middle([found[one] for one in lane]) for lane in lanes for cell in lane if len(lane) > 1}
        for column in columns.columns:
            wanted = {cell: lines[cell] if cell in lines else _beside(columns, cell, found) for cell in column}
            found.update(_placed(column, wanted, lines))
    return found


def _beside(columns: Columns, cell: Cell, found: Mapping[Cell, float]) -> float:
    near = columns.before[cell] + columns.behind[cell]
    return sum(found[other] for other in near) / len(near) if near else found[cell]


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _placed(column: Sequence[Cell], wanted: Mapping[Cell, float], stiff: Collection[Cell] = ()) -> dict[Cell, float]:
    offsets, below = [0.0], 0.0
    for upper, lower in zip(column, column[1:], strict=False):
        apart = _BETWEEN_NODES if upper.is_node and lower.is_node else _BETWEEN_LANES
        below += (upper.height + lower.height) / 2 + apart
        offsets.append(below)
    weights = [_STIFF if cell in stiff else 1.0 for cell in column]
    return dict(zip(column, spread([wanted[cell] for cell in column], offsets, weights), strict=False))


def spread(wanted: Sequence[float], offsets: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers nearest to what is wanted (least squares) whose distances are at least those of the offsets."""
    groups: list[tuple[float, float, int]] = []  # mean, weight, how many
    for want, offset, weight in zip(wanted, offsets, weights, strict=False):
        groups.append((want - offset, weight, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (mean, heavy, many), (other, light, few) = groups.pop(-2), groups.pop()
            groups.append(((mean * heavy + other * light) / (heavy + light), heavy + light, many + few))
    means = [mean for mean, _, many in groups for _ in range(many)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


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


_MARGIN = 28.0
_GAP = 40.0
_STEEP = 0.12
_WIDEST_GAP = 130.0
_BOW = 20.0
"""What room a way that leads back has beside its label, so that it is seen as a bow."""


@dataclass(frozen=True)
class Layout:
    """The places of a picture's methods and ways; x grows to the right, y downwards."""

    boxes: Mapping[str, Box]
    """Around the methods, by name."""

    routes: Sequence[Route]
    """One for each way, in their order."""

    area: Box
    """Around everything."""


def laid_out(picture: Picture) -> Layout:
    """The layout of a picture."""
    sheet = _Sheet(picture)
    boxes = sheet.boxes()
    routes = [sheet.route(number, way, boxes) for number, way in enumerate(picture.ways)]
    return Layout(boxes, routes, _around([*boxes.values(), *(box for route in routes for box in route.extent())]))


class _Sheet:
    """A picture, divided into columns: one for each layer, and one for the labels between two layers where there are any."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        first = [method.name for method in picture.methods if method.begins]
        names = [method.name for method in picture.methods]
        self.ranks, self.back = ranked(names, first, [(way.source, way.target) for way in picture.ways])
        labelled = {self._label_gap(way) for way in picture.ways if way.labels or self._goes_back(way)}
        self._column = [0]
        for rank in range(max(self.ranks.values(), default=0)):
            self._column.append(self._column[-1] + (2 if rank in labelled else 1))
        loops: dict[str, float] = {}
        for way in picture.ways:
            if way.source == way.target:
                loops[way.source] = max(loops.get(way.source, 0.0), LOOP + label_size(way)[1])
        self.nodes: dict[str, Cell] = {}
        for method in picture.methods:
            width, height = node_size(method)
            height += 2 * loops.get(method.name, 0.0)
            self.nodes[method.name] = Cell(self._column[self.ranks[method.name]], width, height, is_node=True)
        self.lanes = [self._lane(way) for way in picture.ways]
        links = [link for way, lane in zip(picture.ways, self.lanes, strict=True) for link in self._links(way, lane)]
        cells = [*self.nodes.values(), *(cell for lane in self.lanes for cell in lane)]
        self.columns = Columns(cells, links).untangled()
        self.rows = heights(self.columns, self.lanes)
        self.edges = self._edges()

    def boxes(self) -> dict[str, Box]:
        """Where the methods are."""
        found: dict[str, Box] = {}
        for method in self.picture.methods:
            cell = self.nodes[method.name]
            left, right = self.edges[cell.column]
            corner = 0.25 if method.kind == "router" else 0.35
            found[method.name] = Box((left + right) / 2, self.rows[cell], *node_size(method), corner)
        return found

    def route(self, number: int, way: Way, boxes: Mapping[str, Box]) -> Route:
        """Where a way is."""
        source, target = boxes[way.source], boxes[way.target]
        size = label_size(way) if way.labels else None
        if way.source == way.target:
            return looped(source, size)
        if self.ranks[way.source] == self.ranks[way.target]:
            return beside(source, target, size)
        lane = [(*self.edges[cell.column], self.rows[cell]) for cell in self.lanes[number]]
        label = None
        if size is not None:
            left, right = self.edges[self.lanes[number][0].column]
            label = Box((left + right) / 2, self.rows[self.lanes[number][0]], *size)
        ends = self.edges[self.nodes[way.source].column], self.edges[self.nodes[way.target].column]
        return across(source, target, ends, lane, label)

    def _goes_back(self, way: Way) -> bool:
        return (way.source, way.target) in self.back

    def _label_gap(self, way: Way) -> int:
        """Behind which layer the label of a way stands: next to its source."""
        return self.ranks[way.source] - (1 if self._goes_back(way) else 0)

    def _lane(self, way: Way) -> list[Cell]:
        """The cells that a way passes, from its source on."""
        begin, end = (self._column[self.ranks[name]] for name in (way.source, way.target))
        step = -1 if end < begin else 1
        lane = [Cell(column, 0.0, 4.0) for column in range(begin + step, end, step)] if begin != end else []
        if lane and (way.labels or step < 0):
            width, height = label_size(way)
            lane[0] = Cell(lane[0].column, width, height + (_BOW if step < 0 else 0))
        return lane

    def _links(self, way: Way, lane: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
        source, target = self.nodes[way.source], self.nodes[way.target]
        if source.column == target.column:
            return []
        chain = [source, *lane, target]
        if target.column < source.column:
            chain.reverse()
        return list(zip(chain, chain[1:], strict=False))

    def _edges(self) -> list[tuple[float, float]]:
        """Left and right of each column; where ways are steep, columns are further apart."""
        found: list[tuple[float, float]] = []
        steep = [0.0] * (len(self.columns.columns) + 1)
        for one, other in self.columns.links:
            steep[other.column] = max(steep[other.column], abs(self.rows[one] - self.rows[other]))
        left = 0.0
        for number, column in enumerate(self.columns.columns):
            if number:
                left += min(_GAP + _STEEP * steep[number], _WIDEST_GAP)
            right = left + max((cell.width for cell in column), default=0.0)
            found.append((left, right))
            left = right
        return found


def _around(boxes: Sequence[Box]) -> Box:
    if not boxes:
        return Box(0, 0, 2 * _MARGIN, 2 * _MARGIN)
    left, right = min(box.left for box in boxes) - _MARGIN, max(box.right for box in boxes) + _MARGIN
    top, bottom = min(box.top for box in boxes) - _MARGIN, max(box.bottom for box in boxes) + _MARGIN
    return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
