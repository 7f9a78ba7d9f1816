"""Render the result of `crewgraph check` as text."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from crewgraph_compat.moving.check import CheckedFeature, CheckResult
from crewgraph_compat.moving.differences import BehaviourDifference, DifferenceKind
from crewgraph_compat.moving.features import Use
from crewgraph_compat.moving.states import Support

_SHOWN = 3
"""Number of locations listed per feature unless all of them are requested."""


def report(checked: CheckResult, *, everything: bool = False) -> str:
    """Return the report: what needs attention first, and a summary.

    Args:
        checked: The result of checking a project.
        everything: Also list improvements, differences from CrewAI 1.2 and features that work, and every location of a
            feature instead of only the first few.
    """
    available = [item for item in checked.found if item.state.mark is not Support.absent]
    sections: dict[str, Iterable[str]] = {
        "Not available: replace it, or keep running this program on CrewAI": _with_remarks(
            checked.of(Support.absent), everything
        ),
        "Could not be read": (f"  {item.file}:{item.line}: {item.why}" for item in checked.broken),
        "Differs: change each of these": _differing(available, _needs_attention, everything),
    }
    if everything:
        sections |= {
            "Works, with a note on each": _with_remarks([item for item in available if item.state.remarks], everything),
            "May differ: the code does not show whether it does": _differing(
                available, _of_kind(DifferenceKind.may_break), everything
            ),
            "Safer defaults: works, with less sent, shown or repeated": _differing(
                available, _of_kind(DifferenceKind.safer_default), everything
            ),
            "Coming from CrewAI 1.2: works as on CrewAI 1.15": _differing(
                available, _of_kind(DifferenceKind.older), everything
            ),
            "Improvements: nothing to do": _differing(available, _of_kind(DifferenceKind.improvement), everything),
            "Works": _locations_only([item for item in available if not item.state.sentences], everything),
        }
    parts = ["\n".join([head, *lines]) for head, section in sections.items() if (lines := [*section])]
    is_moved = not (checked.broken or checked.of(Support.absent) or checked.of(Support.differs))
    head = ["Nothing to do: `crewgraph run` runs this program as it is."] if is_moved else []
    return "\n\n".join([*head, *parts, _summary(checked, everything)])


def _with_remarks(features: Sequence[CheckedFeature], everywhere: bool) -> Iterator[str]:
    """Group features by their remarks, so that each is printed once."""
    groups: dict[tuple[str, ...], list[CheckedFeature]] = defaultdict(list)
    for item in features:
        groups[item.state.remarks].append(item)
    for remarks, group in groups.items():
        yield from _locations_only(group, everywhere)
        yield from (f"    {text}" for text in remarks)


def _needs_attention(row: BehaviourDifference) -> bool:
    return row.needs_attention


def _of_kind(kind: DifferenceKind) -> Callable[[BehaviourDifference], bool]:
    """Return whether a row is of a kind, and needs no attention."""
    return lambda row: row.kind is kind and not row.needs_attention


def _differing(
    features: Sequence[CheckedFeature], is_meant: Callable[[BehaviourDifference], bool], everywhere: bool
) -> Iterator[str]:
    """Print each row once, below the features that it concerns; rows that concern the same features stand together."""
    concerned: dict[BehaviourDifference, list[CheckedFeature]] = defaultdict(list)
    for item in features:
        for row in filter(is_meant, item.state.differences):
            if item not in concerned[row]:
                concerned[row].append(item)
    groups: dict[tuple[CheckedFeature, ...], list[BehaviourDifference]] = defaultdict(list)
    for row, items in concerned.items():
        groups[tuple(items)].append(row)
    for items, rows in groups.items():
        yield from _locations_only(items, everywhere)
        for row in rows:
            yield f"    - {row.row}"
            yield f"      {row.outcomes}"
            if row.to_do:
                yield f"      To do: {row.to_do}."


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
    broken = f", {len(checked.broken)} could not be read" if checked.broken else ""
    features, files = _counted(len(checked.found), "CrewAI feature"), _counted(checked.files, "file")
    needs = "needs" if differs == 1 else "need"
    hidden = (
        " `--all` lists what works, and what may differ in cases that the code does not show." if not everything else ""
    )
    return (
        f"{features} in {files}: {absent} not available, {differs} {needs} attention, {works} "
        f"work{'s' if works == 1 else ''}{broken}.{hidden}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
