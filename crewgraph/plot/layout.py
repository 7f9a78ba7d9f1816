"""Layered layout of a picture, from left to right.

The nodes are assigned to layers (`assign_layers`), each layer is ordered to reduce crossings (`Columns`), its cells get
their heights (`assign_heights`), and the edges are routed as curves between them (`Route`). `compute_layout` puts these
steps together. All functions are pure.
"""

import math
import re
import unicodedata
from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crewgraph.plot.picture import Edge, Node, Picture

_SWEEPS = 24


@dataclass(frozen=True, eq=False)
class Cell:
    """A place in a column: for a node, a label, or an edge that passes through."""

    column: int
    width: float
    height: float
    is_node: bool = False


class Columns:
    """Cells in columns, ordered so that few links cross.

    Args:
        cells: the cells, in the order in which branches are to appear.
        links: links from cells to cells of the next column.
    """

    def __init__(self, cells: Sequence[Cell], links: Sequence[tuple[Cell, Cell]]) -> None:
        self.links = links
        self.before: dict[Cell, list[Cell]] = {cell: [] for cell in cells}
        self.behind: dict[Cell, list[Cell]] = {cell: [] for cell in cells}
        for source, target in links:
            self.behind[source].append(target)
            self.before[target].append(source)
        self.columns: list[list[Cell]] = [[] for _ in range(1 + max((cell.column for cell in cells), default=-1))]
        for cell in self._depth_first(cells):
            self.columns[cell.column].append(cell)
        best, fewest = self.columns, self._crossings()
        for sweep in range(_SWEEPS):
            if fewest == 0:
                break
            self._sort(forward=sweep % 2 == 0, turned=sweep % 4 > 1)
            if (crossings := self._crossings()) < fewest:
                best, fewest = self.columns, crossings
        self.columns = best

    def _depth_first(self, cells: Sequence[Cell]) -> list[Cell]:
        visited: dict[Cell, None] = {}
        stack = sorted(reversed(cells), key=lambda cell: -cell.column)
        while stack:
            cell = stack.pop()
            if cell not in visited:
                visited[cell] = None
                stack.extend(reversed(self.behind[cell]))
        return list(visited)

    def _sort(self, forward: bool, turned: bool) -> None:
        """Move each cell to the mean position of its neighbors on one side; where `turned`, equal ones change places."""
        positions = self._positions()
        neighbors, order = self.before if forward else self.behind, range(len(self.columns))
        columns = self.columns.copy()
        for number in order if forward else reversed(order):
            column = columns[number][::-1] if turned else columns[number]
            columns[number] = sorted(column, key=lambda cell: _mean_of_neighbors(cell, neighbors[cell], positions))
            positions.update({cell: position for position, cell in enumerate(columns[number])})
        self.columns = columns

    def _positions(self) -> dict[Cell, float]:
        return {cell: position for column in self.columns for position, cell in enumerate(column)}

    def _crossings(self) -> int:
        """Count the pairs of links that cross."""
        positions, count = self._positions(), 0
        for column in self.columns:
            seen: list[float] = []
            for cell in column:
                ends = sorted(positions[target] for target in self.behind[cell])
                count += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return count


def _mean_of_neighbors(cell: Cell, neighbors: Sequence[Cell], values: Mapping[Cell, float]) -> float:
    """Return the mean value of a cell's neighbors; its own if it has none."""
    return sum(map(values.__getitem__, neighbors)) / len(neighbors) if neighbors else values[cell]


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
    proper = [(source, target) for source, target in dict.fromkeys(edges) if source != target]
    successors: dict[str, list[str]] = {name: [] for name in names}
    for source, target in proper:
        if target not in first:
            successors[source].append(target)
    order, back_edges = _topological_order([*first, *names], successors)
    back_edges |= {(source, target) for source, target in proper if target in first}
    ranks = dict.fromkeys(names, 1 if first else 0) | dict.fromkeys(first, 0)
    for name in order:
        for target in successors[name]:
            if (name, target) not in back_edges:
                ranks[target] = max(ranks[target], ranks[name] + 1)
    reached = {target for source, target in proper if (source, target) not in back_edges}
    for name in names:
        next_ranks = [ranks[target] for target in successors[name] if (name, target) not in back_edges]
        if name not in first and name not in reached and next_ranks:  # no predecessors: place it next to its successors
            ranks[name] = max(ranks[name], min(next_ranks) - 1)
    return ranks, back_edges


def _topological_order(roots: Sequence[str], successors: dict[str, list[str]]) -> tuple[list[str], set[NodePair]]:
    """Return the nodes in topological order, ignoring the edges that close cycles, which are the second value."""
    finished: list[str] = []
    back_edges: set[NodePair] = set()
    seen: set[str] = set()
    for root in dict.fromkeys(roots):
        if root in seen:
            continue
        seen.add(root)
        path: dict[str, Iterator[str]] = {root: iter(successors[root])}
        while path:
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


_STRAIGHTENING = 12
_LANE_WEIGHT = 12.0
"""Weight of a straight lane, relative to that of a node level with its neighbours."""
_BETWEEN_NODES = 30.0
_BETWEEN_LANES = 14.0


def assign_heights(columns: Columns, lanes: Sequence[Sequence[Cell]]) -> dict[Cell, float]:
    """Return the y of each cell's center; cells of a column keep their order and do not overlap.

    Args:
        columns: The cells.
        lanes: Groups of cells to place on one line as far as possible.
    """
    centers: dict[Cell, float] = {}
    for column in columns.columns:
        centers.update(_place_column(column, dict.fromkeys(column, 0.0)))
    for sweep in range(_SWEEPS):
        neighbors = columns.behind if sweep % 2 else columns.before
        for column in reversed(columns.columns) if sweep % 2 else columns.columns:
            centers.update(
                _place_column(column, {cell: _mean_of_neighbors(cell, neighbors[cell], centers) for cell in column})
            )
    for _ in range(_STRAIGHTENING):
        heights = {
            cell: sorted(map(centers.__getitem__, lane))[len(lane) // 2]
            for lane in lanes
            if len(lane) > 1
            for cell in lane
        }
        for column in columns.columns:
            targets = {
                cell: heights[cell]
                if cell in heights
                else _mean_of_neighbors(cell, columns.before[cell] + columns.behind[cell], centers)
                for cell in column
            }
            centers.update(_place_column(column, targets, heights))
    return centers


def _place_column(
    column: Sequence[Cell], targets: Mapping[Cell, float], lane_cells: Collection[Cell] = ()
) -> dict[Cell, float]:
    offsets, offset = [0.0], 0.0
    for upper, lower in zip(column, column[1:], strict=False):
        gap = _BETWEEN_NODES if upper.is_node and lower.is_node else _BETWEEN_LANES
        offset += (upper.height + lower.height) / 2 + gap
        offsets.append(offset)
    weights = [_LANE_WEIGHT if cell in lane_cells else 1.0 for cell in column]
    return dict(zip(column, spread_apart([targets[cell] for cell in column], offsets, weights), strict=False))


def spread_apart(targets: Sequence[float], offsets: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the numbers closest to the targets (weighted least squares) that are at least as far apart as the offsets."""
    groups: list[tuple[float, float, int]] = []  # mean, weight, count
    for target, offset, weight in zip(targets, offsets, weights, strict=False):
        groups.append((target - offset, weight, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (mean, upper_weight, count), (lower_mean, lower_weight, lower_count) = groups.pop(-2), groups.pop()
            groups.append(
                (
                    (mean * upper_weight + lower_mean * lower_weight) / (upper_weight + lower_weight),
                    upper_weight + lower_weight,
                    count + lower_count,
                )
            )
    means = [mean for mean, _, count in groups for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


Point = tuple[float, float]

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

    label: Box | None = None
    """The box of the label, if there is one."""

    def extent(self) -> list[Box]:
        """Return boxes that contain the route; the control points of a curve enclose it."""
        return [*(Box(x, y, 0, 0) for x, y in self.points), *([self.label] if self.label else [])]


def route_across(
    source: Box,
    target: Box,
    ends: tuple[tuple[float, float], tuple[float, float]],
    lane: Sequence[tuple[float, float, float]],
    label: Box | None,
) -> Route:
    """Route an edge across columns.

    Args:
        source: The box of the source.
        target: The box of the target; left of the source if the edge leads back.
        ends: The left and right bounds of the columns of source and target.
        lane: Left, right and y of each cell that the edge passes.
        label: The box of the label, if there is one.
    """
    leads_back = target.x < source.x
    (source_left, source_right), (target_left, target_right) = ends
    if leads_back:
        departure = _back_port(source, -1, lane[0][2])
        arrival = _back_port(target, 1, lane[-1][2])
        stops = [departure, (source_left, departure[1])]
        for left, right, y in lane:
            stops += [(right, y), (left, y)]
        stops += [(target_right, arrival[1]), arrival]
    else:
        stops = [(source.right, source.y), (source_right, source.y)]
        for left, right, y in lane:
            stops += [(left, y), (right, y)]
        stops += [(target_left, target.y), (target.left, target.y)]
    return Route(_curve_points(stops), label)


def route_in_column(source: Box, target: Box, size: tuple[float, float] | None) -> Route:
    """Route an edge between two nodes of one column, to their left."""
    outer = min(source.left, target.left) - 70
    start, end = (source.left, source.y), (target.left, target.y)
    label = Box(outer + 20, (source.y + target.y) / 2, *size) if size else None
    return Route((start, (outer, start[1]), (outer, end[1]), end), label)


def route_loop(box: Box, size: tuple[float, float] | None) -> Route:
    """Route an edge from a node to itself, above the node, with the label on top."""
    reach, bottom = box.width * box.corner, box.y - box.height * box.corner
    top = box.top - LOOP
    start, end = (box.x + reach, bottom), (box.x - reach, bottom)
    half_width = reach + LOOP / 2
    label = Box(box.x, (bottom + 3 * top) / 4 - size[1] / 2, *size) if size else None
    return Route((start, (box.x + half_width, top), (box.x - half_width, top), end), label)


def _back_port(box: Box, side: int, toward_y: float) -> Point:
    """Return the point where an edge that leads back meets a shape: off center, toward the edge."""
    direction = 1 if toward_y >= box.y else -1
    return box.x + side * box.width * box.corner, box.y + direction * box.height * box.corner


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
    breaks = [0, *(match.end() for match in re.finditer(r"(?<!_)_++(?=[^_])| ", name)), len(name)]
    for start, end in pairwise(breaks):
        part = name[start:end]
        if lines[-1] and _units(lines[-1] + part.rstrip()) > limit:
            lines.append("")
        lines[-1] += part
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], "".join(lines[_MAX_LINES - 1 :])]
    return [_truncate(line.rstrip()) for line in [*lines, *([node.note] if node.note else [])]]


def node_size(node: Node) -> tuple[float, float]:
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


def label_size(edge: Edge) -> tuple[float, float]:
    """Return width and height of an edge's label; a small size if it has none."""
    lines = label_lines(edge)
    if not lines:
        return 12.0, 8.0
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
_GAP = 40.0
_STEEP = 0.12
_MAX_GAP = 130.0
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
    boxes = grid.boxes()
    routes = [grid.route(number, edge, boxes) for number, edge in enumerate(picture.edges)]
    return Layout(boxes, routes, _bounding_box([*boxes.values(), *(box for route in routes for box in route.extent())]))


class _Grid:
    """A picture divided into columns: one for each layer, and one between two layers if there are labels between them."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        starts = [node.name for node in picture.nodes if node.begins]
        names = [node.name for node in picture.nodes]
        self.ranks, self.back = assign_layers(names, starts, [(edge.source, edge.target) for edge in picture.edges])
        gaps_with_labels = {self._label_gap(edge) for edge in picture.edges if edge.labels or self._goes_back(edge)}
        self._column = [0]
        for rank in range(max(self.ranks.values(), default=0)):
            self._column.append(self._column[-1] + (2 if rank in gaps_with_labels else 1))
        loops: dict[str, float] = {}
        for edge in picture.edges:
            if edge.source == edge.target:
                loops[edge.source] = max(loops.get(edge.source, 0.0), LOOP + label_size(edge)[1])
        self.nodes: dict[str, Cell] = {}
        for node in picture.nodes:
            width, height = node_size(node)
            height += 2 * loops.get(node.name, 0.0)
            self.nodes[node.name] = Cell(self._column[self.ranks[node.name]], width, height, is_node=True)
        self.lanes = [self._lane(edge) for edge in picture.edges]
        links = [link for edge, lane in zip(picture.edges, self.lanes, strict=True) for link in self._links(edge, lane)]
        cells = [*self.nodes.values(), *(cell for lane in self.lanes for cell in lane)]
        self.columns = Columns(cells, links)
        self.rows = assign_heights(self.columns, self.lanes)
        self.column_bounds = self._bounds()

    def boxes(self) -> dict[str, Box]:
        """Return the boxes of the nodes, by name."""
        boxes: dict[str, Box] = {}
        for node in self.picture.nodes:
            cell = self.nodes[node.name]
            left, right = self.column_bounds[cell.column]
            corner = 0.25 if node.kind == "router" else 0.35
            boxes[node.name] = Box((left + right) / 2, self.rows[cell], *node_size(node), corner)
        return boxes

    def route(self, number: int, edge: Edge, boxes: Mapping[str, Box]) -> Route:
        """Return the route of an edge, given its index."""
        source, target = boxes[edge.source], boxes[edge.target]
        size = label_size(edge) if edge.labels else None
        if edge.source == edge.target:
            return route_loop(source, size)
        if self.ranks[edge.source] == self.ranks[edge.target]:
            return route_in_column(source, target, size)
        lane = [(*self.column_bounds[cell.column], self.rows[cell]) for cell in self.lanes[number]]
        label = None
        if size is not None:
            left, right = self.column_bounds[self.lanes[number][0].column]
            label = Box((left + right) / 2, self.rows[self.lanes[number][0]], *size)
        ends = self.column_bounds[self.nodes[edge.source].column], self.column_bounds[self.nodes[edge.target].column]
        return route_across(source, target, ends, lane, label)

    def _goes_back(self, edge: Edge) -> bool:
        return (edge.source, edge.target) in self.back

    def _label_gap(self, edge: Edge) -> int:
        """Return the layer after which an edge's label is placed, next to its source."""
        return self.ranks[edge.source] - (1 if self._goes_back(edge) else 0)

    def _lane(self, edge: Edge) -> list[Cell]:
        """Return the cells that an edge passes, starting at its source."""
        start, end = (self._column[self.ranks[name]] for name in (edge.source, edge.target))
        step = -1 if end < start else 1
        lane = [Cell(column, 0.0, 4.0) for column in range(start + step, end, step)] if start != end else []
        if lane and (edge.labels or step < 0):
            width, height = label_size(edge)
            lane[0] = Cell(lane[0].column, width, height + (_BOW if step < 0 else 0))
        return lane

    def _links(self, edge: Edge, lane: Sequence[Cell]) -> list[tuple[Cell, Cell]]:
        source, target = self.nodes[edge.source], self.nodes[edge.target]
        if source.column == target.column:
            return []
        chain = [source, *lane, target]
        if target.column < source.column:
            chain.reverse()
        return list(zip(chain, chain[1:], strict=False))

    def _bounds(self) -> list[tuple[float, float]]:
        """Return the left and right bounds of each column; columns are further apart where edges are steep."""
        bounds: list[tuple[float, float]] = []
        rises = [0.0] * (len(self.columns.columns) + 1)
        for source, target in self.columns.links:
            rises[target.column] = max(rises[target.column], abs(self.rows[source] - self.rows[target]))
        left = 0.0
        for number, column in enumerate(self.columns.columns):
            if number:
                left += min(_GAP + _STEEP * rises[number], _MAX_GAP)
            right = left + max((cell.width for cell in column), default=0.0)
            bounds.append((left, right))
            left = right
        return bounds


def _bounding_box(boxes: Sequence[Box]) -> Box:
    if not boxes:
        return Box(0, 0, 2 * _MARGIN, 2 * _MARGIN)
    left, right = min(box.left for box in boxes) - _MARGIN, max(box.right for box in boxes) + _MARGIN
    top, bottom = min(box.top for box in boxes) - _MARGIN, max(box.bottom for box in boxes) + _MARGIN
    return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
