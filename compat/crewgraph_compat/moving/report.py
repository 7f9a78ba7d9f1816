"""Render the result of `crewgraph check` as text."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from crewgraph_compat.moving.check import CheckedFeature, CheckResult
from crewgraph_compat.moving.features import Use
from crewgraph_compat.moving.states import Support

__all__ = ["report"]

_SHOWN = 3
"""Number of locations listed per feature unless all of them are requested."""


def report(checked: CheckResult, *, everything: bool = False) -> str:
    """Return the report: what needs attention first, and a summary line.

    Args:
        checked: The result of checking a project.
        everything: List the features that work as well, and every location of a feature instead of only the first few.
    """
    differing = checked.of(Support.differs)
    former = [item for item in differing if item.state.is_former]
    sections = {
        "Absent: not available in crewgraph; remove it, or keep running on CrewAI": _with_remarks(
            checked.of(Support.absent), everything
        ),
        "Could not be read": (f"  {item.file}:{item.line}: {item.why}" for item in checked.broken),
        "Differs: works, but not exactly as on CrewAI": _grouped_by_remarks(
            [item for item in differing if item not in former], everything
        ),
        "Differs from older releases only: works as on CrewAI 1.15": _grouped_by_remarks(former, everything),
        "Works": _locations_only(checked.of(Support.works) if everything else (), everything),
    }
    parts = ["\n".join([head, *lines]) for head, section in sections.items() if (lines := [*section])]
    return "\n\n".join([*parts, _summary(checked, everything)])


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


def _places(uses: Sequence[Use], everywhere: bool) -> str:
    places = list(dict.fromkeys(_place(use) for use in uses))
    visible = places if everywhere else places[:_SHOWN]
    more = f" and {len(places) - len(visible)} more" if len(places) > len(visible) else ""
    return f"{', '.join(visible)}{more}"


def _place(use: Use) -> str:
    return f"{use.file}:{use.line}" if not use.cell else f"{use.file}:cell {use.cell}:{use.line}"


def _summary(checked: CheckResult, everything: bool) -> str:
    works, differs, absent = (len(checked.of(support)) for support in (Support.works, Support.differs, Support.absent))
    broken = f"; {len(checked.broken)} could not be read" if checked.broken else ""
    features, files = _counted(len(checked.found), "feature"), _counted(checked.files, "file")
    hidden = " `--all` lists what works." if works and not everything else ""
    return f"{features} in {files}: {absent} absent, {differs} differ, {works} work{broken}.{hidden}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
