"""Render the result of `crewgraph check` as text."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from crewgraph_compat.moving.check import CheckedFeature, CheckResult
from crewgraph_compat.moving.features import Use
from crewgraph_compat.moving.states import Support

__all__ = ["report"]

_SHOWN = 3
"""Number of locations listed per feature unless all of them are requested."""

_HEADS = {
    Support.absent: "Absent: not available in crewgraph; remove it, or keep running on CrewAI",
    Support.differs: "Differs: works, but not exactly as on CrewAI",
    Support.works: "Works",
}


def report(checked: CheckResult, *, everywhere: bool = False) -> str:
    """Return the report: absent features, differing ones, working ones, unreadable files and a summary line.

    Args:
        checked: The result of checking a project.
        everywhere: List every location of a feature instead of only the first few.
    """
    parts = [
        "\n".join([_HEADS[mark], *(line for line in _LINES[mark](checked.of(mark), everywhere))])
        for mark in (Support.absent, Support.differs, Support.works)
        if checked.of(mark)
    ]
    if checked.broken:
        parts.append(
            "\n".join(["Could not be read", *(f"  {item.file}:{item.line}: {item.why}" for item in checked.broken)])
        )
    return "\n\n".join([*parts, _summary(checked)])


def _with_remarks(features: Sequence[CheckedFeature], everywhere: bool) -> Iterator[str]:
    for item in features:
        yield f"  {item.feature.shown}  {_places(item.uses, everywhere)}"
        yield from (f"    {text}" for text in item.state.remarks)


def _grouped_by_remarks(features: Sequence[CheckedFeature], everywhere: bool) -> Iterator[str]:
    """Group features by their remarks, so that each set of remarks is printed once."""
    by_remarks: dict[tuple[str, ...], list[CheckedFeature]] = defaultdict(list)
    for item in features:
        by_remarks[item.state.remarks].append(item)
    for remarks, group in by_remarks.items():
        for item in group:
            yield f"  {item.feature.shown}  {_places(item.uses, everywhere)}"
        yield from (f"    - {line}" for line in remarks)


def _locations_only(features: Sequence[CheckedFeature], everywhere: bool) -> Iterator[str]:
    for item in features:
        yield f"  {item.feature.shown}  {_places(item.uses, everywhere)}"


_LINES = {Support.absent: _with_remarks, Support.differs: _grouped_by_remarks, Support.works: _locations_only}


def _places(uses: Sequence[Use], everywhere: bool) -> str:
    places = list(dict.fromkeys(_place(use) for use in uses))
    visible = places if everywhere else places[:_SHOWN]
    more = f" and {len(places) - len(visible)} more" if len(places) > len(visible) else ""
    return f"{', '.join(visible)}{more}"


def _place(use: Use) -> str:
    return f"{use.file}:{use.line}" if not use.cell else f"{use.file}:cell {use.cell}:{use.line}"


def _summary(checked: CheckResult) -> str:
    works, differs, absent = (len(checked.of(support)) for support in (Support.works, Support.differs, Support.absent))
    broken = f"; {len(checked.broken)} could not be read" if checked.broken else ""
    features, files = _counted(len(checked.found), "feature"), _counted(checked.files, "file")
    return f"{features} in {files}: {works} work, {differs} differ, {absent} absent{broken}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
