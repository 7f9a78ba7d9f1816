"""Rounds: the contenders run in turn, repeatedly, so that all see the same load of the machine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.measure import Contender, Measure
from benchmarks.peer_process import PeerRunner

__all__ = ["Results", "cell", "played"]

Results = Mapping[tuple[str, str], Sequence[Mapping[str, float]]]
"""The figures of each round, by contender's name and column's word."""


def played(
    measure: Measure, contenders: Sequence[Contender], rounds: int, place: PeerRunner, environments: Path
) -> Results:
    """Measure; the first round of each contender is discarded."""
    results: dict[tuple[str, str], list[Mapping[str, float]]] = {}
    for contender in contenders:
        case = next(word for word in measure.cases.values() if contender.takes(word))
        place.run(contender.environment.python(environments), contender.command(case))
    for case in measure.cases.values():
        for _ in range(rounds):
            for contender in contenders:
                if contender.takes(case):
                    python = contender.environment.python(environments)
                    figures = place.run(python, contender.command(case))
                    results.setdefault((contender.name, case), []).append(figures)
    return results


def cell(results: Results, contender: str, baseline: str, case: str, figure: str) -> str:
    """Median, least and greatest figure, and the median of the rounds' ratios to the baseline's."""
    mine = [figures[figure] for figures in results.get((contender, case), ())]
    if not mine:
        return "–"
    shown = _number(median(mine))
    if len(set(mine)) > 1:
        shown += f" ({_number(min(mine))}–{_number(max(mine))})"
    if contender != baseline:
        other = [figures[figure] for figures in results[baseline, case]]
        shown += f" **×{median(a / b for a, b in zip(mine, other, strict=True)):.2f}**"
    return shown


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 20 else f"{value:.0f}"
