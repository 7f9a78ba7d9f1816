"""How high the cells of columns stand: near to their neighbours, and apart from each other."""

from collections.abc import Collection, Mapping, Sequence

from crewgraph.plot.columns import Cell, Columns

__all__ = ["heights", "spread"]

_SWEEPS = 24
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
