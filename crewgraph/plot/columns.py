"""The columns of a layered drawing: what stands in each, in an order with few crossings."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Cell", "Columns"]

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
