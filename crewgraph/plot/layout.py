"""Layered layout of a picture, from left to right.

The nodes are assigned to layers (`assign_layers`). Each layer is a column of cells, and so is each space between two layers,
where labels are and edges pass. Sweeps over the columns move each cell to the mean height of its neighbors, and apart from
the others of its column (`_Columns`). Edges are curves through the cells that they pass. All functions are pure.
"""

import math
import re
import unicodedata
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crewgraph.plot.picture import Edge, Node, Picture

NodePair = tuple[str, str]


def assign_layers(
    names: Sequence[str], first: Sequence[str], edges: Iterable[NodePair]
) -> tuple[dict[str, int], set[NodePair]]:
    """Assign the nodes of a graph, which may have cycles, to layers.

    Args:
        names: The nodes.
        first: The nodes of layer 0; if there are any, no other node is in it.
        edges: Pairs of source and target; loops are ignored.

    Returns:
        The layer of each node, and the edges that lead back, to a lower or the same layer. All others lead to a higher layer.
    """
    successors: dict[str, list[str]] = {name: [] for name in names}
    back_edges: set[NodePair] = set()
    for source, target in dict.fromkeys(edges):
        if target in first and source != target:
            back_edges.add((source, target))
        elif source != target:
            successors[source].append(target)
    order, closing = _topological_order([*first, *names], successors)
    back_edges |= closing
    ranks = dict.fromkeys(names, 1 if first else 0) | dict.fromkeys(first, 0)
    for name in order:
        for target in successors[name]:
            if (name, target) not in back_edges:
                ranks[target] = max(ranks[target], ranks[name] + 1)
    return ranks, back_edges


def _topological_order(
    roots: Sequence[str], successors: Mapping[str, Sequence[str]]
) -> tuple[list[str], set[NodePair]]:
    """Return the nodes in topological order, ignoring the edges that close cycles, which are the second value."""
    finished: list[str] = []
    back_edges: set[NodePair] = set()
    seen: set[str] = set()
    for root in roots:
        path = {} if root in seen else {root: iter(successors[root])}
        seen.add(root)
        while path:  # depth first
            name = next(reversed(path))
            target = next(path[name], None)
            if target is None:
                path.pop(name)
                finished.append(name)
            elif target in path:
                back_edges.add((name, target))
            elif target not in seen:
                seen.add(target)
                path[target] = iter(successors[target])
    return finished[::-1], back_edges


@dataclass(frozen=True, eq=False)
class _Cell:
    """A place in a column: for a node, a label, or an edge that passes through."""

    column: int
    width: float
    height: float
    is_node: bool = False


_SWEEPS = 24
_BETWEEN_NODES = 30.0
_BETWEEN_LANES = 14.0


class _Columns:
    """Cells in columns, ordered so that few links cross, with the height of each cell's center in `rows`.

    Args:
        cells: The cells, in the order in which branches are to appear.
        links: Links from cells to cells of a later column.
    """

    def __init__(self, cells: Sequence[_Cell], links: Sequence[tuple[_Cell, _Cell]]) -> None:
        self.before: dict[_Cell, list[_Cell]] = {cell: [] for cell in cells}
        self.behind: dict[_Cell, list[_Cell]] = {cell: [] for cell in cells}
        for source, target in links:
            self.behind[source].append(target)
            self.before[target].append(source)
        self.columns: list[list[_Cell]] = [[] for _ in range(1 + max((cell.column for cell in cells), default=-1))]
        for cell in self._depth_first(cells):
            self.columns[cell.column].append(cell)
        self.rows = dict.fromkeys(cells, 0.0)
        self._sweep(self.before, range(len(self.columns)))
        best, fewest = self.columns, self._crossings()
        for sweep in range(_SWEEPS):
            if fewest == 0:
                break
            self._sweep(*self._direction(sweep), reorder=True)
            if (crossings := self._crossings()) < fewest:
                best, fewest = self.columns, crossings
        self.columns = best
        both = {cell: [*self.before[cell], *self.behind[cell]] for cell in cells}
        for sweep in range(_SWEEPS):
            neighbors, order = self._direction(sweep)
            self._sweep(neighbors if sweep < _SWEEPS / 2 else both, order)

    def _depth_first(self, cells: Sequence[_Cell]) -> list[_Cell]:
        visited: dict[_Cell, None] = {}
        stack = sorted(reversed(cells), key=lambda cell: -cell.column)
        while stack:
            cell = stack.pop()
            if cell not in visited:
                visited[cell] = None
                stack.extend(reversed(self.behind[cell]))
        return list(visited)

    def _direction(self, sweep: int) -> tuple[Mapping[_Cell, Sequence[_Cell]], Iterable[int]]:
        """Return the neighbors that count in a sweep, and the order of the columns: from left to right, then back."""
        order = range(len(self.columns))
        return (self.behind, reversed(order)) if sweep % 2 else (self.before, order)

    def _sweep(
        self, neighbors: Mapping[_Cell, Sequence[_Cell]], order: Iterable[int], *, reorder: bool = False
    ) -> None:
        """Move each cell to the mean height of its neighbors on one side, as far as the others of its column allow."""
        columns = self.columns.copy()
        for number in order:
            targets = {cell: self._mean_row(cell, neighbors[cell]) for cell in columns[number]}
            if reorder:
                columns[number] = sorted(columns[number], key=targets.__getitem__)
            self._place(columns[number], targets)
        self.columns = columns

    def _mean_row(self, cell: _Cell, neighbors: Sequence[_Cell]) -> float:
        return sum(map(self.rows.__getitem__, neighbors)) / len(neighbors) if neighbors else self.rows[cell]

    def _place(self, column: Sequence[_Cell], targets: Mapping[_Cell, float]) -> None:
        offsets = [0.0] if column else []
        for upper, lower in pairwise(column):
            gap = _BETWEEN_NODES if upper.is_node and lower.is_node else _BETWEEN_LANES
            offsets.append(offsets[-1] + (upper.height + lower.height) / 2 + gap)
        self.rows.update(zip(column, spread_apart([targets[cell] for cell in column], offsets), strict=True))

    def _crossings(self) -> int:
        """Count the pairs of links that cross."""
        positions = {cell: position for column in self.columns for position, cell in enumerate(column)}
        count = 0
        for column in self.columns:
            seen: list[int] = []
            for cell in column:
                ends = sorted(positions[target] for target in self.behind[cell])
                count += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return count


def spread_apart(targets: Sequence[float], offsets: Sequence[float]) -> list[float]:
    """Return the numbers closest to the targets (least squares) that are at least as far apart as the offsets."""
    groups: list[tuple[float, int]] = []  # mean and count
    for target, offset in zip(targets, offsets, strict=True):
        mean, count = target - offset, 1
        while groups and groups[-1][0] > mean:
            upper, more = groups.pop()
            mean, count = (upper * more + mean * count) / (more + count), more + count
        groups.append((mean, count))
    means = [mean for mean, count in groups for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


Point = tuple[float, float]
Size = tuple[float, float]
"""Width and height."""

LOOP = 36.0
"""Height of a loop above its node."""


@dataclass(frozen=True)
class Box:
    """A rectangle, given by its center."""

    x: float
    y: float
    width: float
    height: float
    corner: float = 0.35
    """Offset from the center at which diagonal edges meet the shape inside, as a fraction of width and height."""

    def corner_at(self, side: int, toward_y: float) -> Point:
        """Return the point on the right (1) or left (-1) where a diagonal edge meets the shape, above or below its center."""
        return self.x + side * self.width * self.corner, self.y + math.copysign(
            self.height * self.corner, toward_y - self.y
        )

    @property
    def left(self) -> float:
        """The smallest x."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """The largest x."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """The smallest y."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """The largest y."""
        return self.y + self.height / 2


@dataclass(frozen=True)
class Route:
    """A chain of cubic curves."""

    points: tuple[Point, ...]
    """The start point, then two control points and the end point of each curve."""

    label: Box
    """The box of the label."""

    def extent(self) -> list[Box]:
        """Return boxes that contain the route; the control points of a curve enclose it."""
        return [*(Box(x, y, 0, 0) for x, y in self.points), self.label]


def _curve_points(stops: Sequence[Point]) -> tuple[Point, ...]:
    """Return curves through points, horizontal at each of them."""
    points: list[Point] = [stops[0]]
    for x, y in stops[1:]:
        previous_x, previous_y = points[-1]
        if (x, y) != (previous_x, previous_y):
            middle = (previous_x + x) / 2
            points += [(middle, previous_y), (middle, y), (x, y)]
    return tuple(points)


LINE = 15.0
"""Height of a line of text."""

_CHARACTER = 7.3
_MAX_LINE = 18
_LINE_BREAK = 13
_LINE_BREAK_IN_CIRCLE = 9
_MAX_LINES = 3
_MAX_LABELS = 5


def name_lines(node: Node) -> list[str]:
    """Break a node's label into short lines at underscores and spaces; long lines are truncated."""
    name, limit = " ".join(node.label.split()), _LINE_BREAK_IN_CIRCLE if node.kind == "start" else _LINE_BREAK
    lines = [""]
    for part in re.split(r"(?<=[^_]_)(?=[^_])|(?<= )", name):
        if lines[-1] and len(lines) < _MAX_LINES and _units(lines[-1] + part.rstrip()) > limit:
            lines.append("")
        lines[-1] += part
    return [_truncate(line.rstrip()) for line in [*lines, *([node.note] if node.note else [])]]


def node_size(node: Node) -> Size:
    """Return width and height of a node's shape, including its text."""
    lines = name_lines(node)
    width, height = max(map(_units, lines)) * _CHARACTER, len(lines) * LINE
    if node.kind == "start":
        diameter = max(math.hypot(width, height) + 14, 56)
        return diameter, diameter
    if node.kind == "task":
        return max(width + 26, 96), height + 22
    if node.kind == "router":
        router_height = max(height * 2.6, 60)
        return max(width / (1 - height / router_height) + 18, 96), router_height
    return max(width * 1.28 + 16, 84), max(height * 1.35 + 14, 44)


def label_lines(edge: Edge) -> list[str]:
    """Return the lines of an edge's label."""
    labels = [_truncate(" ".join(label.split()) or " ") for label in edge.labels]
    if len(labels) > _MAX_LABELS:
        labels = [*labels[: _MAX_LABELS - 1], f"and {len(labels) - _MAX_LABELS + 1} more"]
    return labels


def label_size(edge: Edge) -> Size:
    """Return width and height of an edge's label; those of its line if it has none."""
    lines = label_lines(edge)
    if not lines:
        return 0.0, _LANE
    return max(map(_units, lines)) * _CHARACTER * 0.93 + 14, len(lines) * LINE + 5


def _units(text: str) -> int:
    """Return the width of a text, in character cells."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _truncate(text: str) -> str:
    if _units(text) <= _MAX_LINE:
        return text
    while _units(text) > _MAX_LINE - 1:
        text = text[:-1]
    return f"{text}…"


_MARGIN = 28.0
_LANE = 4.0
"""Height of an edge that passes through a column."""

_GAP = 24.0
_STEEP = 0.12
_MAX_GAP = 110.0
_BOW = 20.0
"""Extra height of an edge that leads back, so that its bow is visible beside the label."""


@dataclass(frozen=True)
class Layout:
    """The positions of a picture's nodes and edges; x grows to the right, y downwards."""

    boxes: Mapping[str, Box]
    """The boxes of the nodes, by name."""

    routes: Sequence[Route]
    """The routes of the edges, in their order."""

    area: Box
    """The bounding box of the drawing, with a margin."""


def compute_layout(picture: Picture) -> Layout:
    """Compute the layout of a picture."""
    grid = _Grid(picture)
    routes = [grid.route(edge, lane) for edge, lane in zip(picture.edges, grid.lanes, strict=True)]
    parts = [*grid.boxes.values(), *(box for route in routes for box in route.extent())] or [Box(0, 0, 0, 0)]
    left, right = min(part.left for part in parts) - _MARGIN, max(part.right for part in parts) + _MARGIN
    top, bottom = min(part.top for part in parts) - _MARGIN, max(part.bottom for part in parts) + _MARGIN
    return Layout(grid.boxes, routes, Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top))


class _Grid:
    """A picture divided into columns: one for each layer, with even numbers, and one between two layers."""

    def __init__(self, picture: Picture) -> None:
        starts = [node.name for node in picture.nodes if node.begins]
        ends = [(edge.source, edge.target) for edge in picture.edges]
        ranks, _ = assign_layers([node.name for node in picture.nodes], starts, ends)
        loops: dict[str, float] = {}
        for edge in picture.edges:
            if edge.source == edge.target:
                loops[edge.source] = max(loops.get(edge.source, 0.0), LOOP + label_size(edge)[1])
        self.nodes: dict[str, _Cell] = {}
        for node in picture.nodes:
            width, height = node_size(node)
            self.nodes[node.name] = _Cell(2 * ranks[node.name], width, height + 2 * loops.get(node.name, 0.0), True)
        self.lanes = [self._lane(edge) for edge in picture.edges]
        links: list[tuple[_Cell, _Cell]] = []
        for edge, lane in zip(picture.edges, self.lanes, strict=True):
            chain = [self.nodes[edge.source], *lane, self.nodes[edge.target]]
            links += pairwise(sorted(chain, key=lambda cell: cell.column) if lane else ())
        columns = _Columns([*self.nodes.values(), *(cell for lane in self.lanes for cell in lane)], links)
        self.rows, self.sides = columns.rows, _sides(columns)
        self.boxes = {node.name: self._box(node) for node in picture.nodes}

    def _lane(self, edge: Edge) -> list[_Cell]:
        """Return the cells that an edge passes, starting at its source, next to which its label is."""
        start, end = (self.nodes[name].column for name in (edge.source, edge.target))
        step = -1 if end < start else 1
        lane = [_Cell(column, 0.0, _LANE) for column in range(start + step, end, step)]
        if lane:
            width, height = label_size(edge)
            lane[0] = _Cell(lane[0].column, width, height + (_BOW if step < 0 else 0))
        return lane

    def _box(self, node: Node) -> Box:
        left, right = self.sides[self.nodes[node.name].column]
        corner = 0.25 if node.kind == "router" else 0.35
        return Box((left + right) / 2, self.rows[self.nodes[node.name]], *node_size(node), corner)

    def route(self, edge: Edge, lane: Sequence[_Cell]) -> Route:
        """Return the route of an edge through the cells of its lane."""
        source, target = self.boxes[edge.source], self.boxes[edge.target]
        size = label_size(edge)
        if edge.source == edge.target:
            return _loop(source, size)
        if not lane:
            return _beside(source, target, size)
        leads_back = target.x < source.x
        if leads_back:
            start, end = source.corner_at(-1, self.rows[lane[0]]), target.corner_at(1, self.rows[lane[-1]])
        else:
            start, end = (source.right, source.y), (target.left, target.y)
        enter, leave = (1, 0) if leads_back else (0, 1)
        stops = [start, (self.sides[self.nodes[edge.source].column][leave], start[1])]
        for cell in lane:
            if len(set(self.sides[cell.column])) > 1:  # else only edges pass here
                stops += [(self.sides[cell.column][side], self.rows[cell]) for side in (enter, leave)]
        stops += [(self.sides[self.nodes[edge.target].column][enter], end[1]), end]
        return Route(_curve_points(stops), Box(sum(self.sides[lane[0].column]) / 2, self.rows[lane[0]], *size))


def _sides(columns: _Columns) -> list[tuple[float, float]]:
    """Return the left and right sides of the columns, which are further apart where edges are steep."""
    sides: list[tuple[float, float]] = []
    left = 0.0
    for column in columns.columns:
        rises = [abs(columns.rows[cell] - columns.rows[other]) for cell in column for other in columns.before[cell]]
        left += min(_GAP + _STEEP * max(rises, default=0.0), _MAX_GAP)
        right = left + max((cell.width for cell in column), default=0.0)
        sides.append((left, right))
        left = right
    return sides


def _beside(source: Box, target: Box, size: Size) -> Route:
    """Route an edge between two nodes of one column, to their left."""
    outer = min(source.left, target.left) - 70
    start, end = (source.left, source.y), (target.left, target.y)
    return Route((start, (outer, start[1]), (outer, end[1]), end), Box(outer + 20, (source.y + target.y) / 2, *size))


def _loop(box: Box, size: Size) -> Route:
    """Route an edge from a node to itself, above the node, with the label on top."""
    start, end = box.corner_at(1, box.top), box.corner_at(-1, box.top)
    top = box.top - LOOP
    label = Box(box.x, (start[1] + 3 * top) / 4 - size[1] / 2, *size)
    return Route((start, (start[0] + LOOP / 2, top), (end[0] - LOOP / 2, top), end), label)
