"""Where everything of a flow is drawn: in layers from left to right. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crewgraph.plot.columns import Cell, Columns
from crewgraph.plot.picture import Picture, Way
from crewgraph.plot.ranks import ranked
from crewgraph.plot.routes import LOOP, Box, Route, across, beside, looped
from crewgraph.plot.rows import heights
from crewgraph.plot.shapes import label_size, node_size

__all__ = ["Layout", "laid_out"]

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
