"""What was found in a project, for people."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from crewgraph_compat.moving.check import CheckedFeature, CheckResult
from crewgraph_compat.moving.features import Use
from crewgraph_compat.moving.states import Support

__all__ = ["report"]

_SHOWN = 3
"""How many places of a feature are told one by one."""

_HEADS = {
    Support.absent: "Absent: the program has to do without, or run on CrewAI",
    Support.differs: "Differs: it works, and does something else than on CrewAI",
    Support.works: "Works",
}


def report(checked: CheckResult, *, everywhere: bool = False) -> str:
    """What was found, as text: what is absent, what differs, what works, a line that sums it up.

    Args:
        checked: what was found.
        everywhere: whether all places are told, not the first few of each.
    """
    parts = [
        "\n".join([_HEADS[mark], *(line for line in _LINES[mark](checked.of(mark), everywhere))])
        for mark in (Support.absent, Support.differs, Support.works)
        if checked.of(mark)
    ]
    if checked.broken:
        parts.append("\n".join(["Not read", *(f"  {item.file}:{item.line}: {item.why}" for item in checked.broken)]))
    return "\n\n".join([*parts, _summary(checked)])


def _each(found: Sequence[CheckedFeature], everywhere: bool) -> Iterator[str]:
    for item in found:
        yield f"  {item.feature.shown}  {_places(item.uses, everywhere)}"
        yield from (f"    {text}" for text in item.state.said)


def _by_words(found: Sequence[CheckedFeature], everywhere: bool) -> Iterator[str]:
    """What is told of several features is told once."""
    values: dict[tuple[str, ...], list[CheckedFeature]] = defaultdict(list)
    for item in found:
        values[item.state.said].append(item)
    for said, several in values.items():
        for item in several:
            yield f"  {item.feature.shown}  {_places(item.uses, everywhere)}"
        yield from (f"    - {line}" for line in said)


def _short(found: Sequence[CheckedFeature], everywhere: bool) -> Iterator[str]:
    for item in found:
        yield f"  {item.feature.shown}  {_places(item.uses, everywhere)}"


_LINES = {Support.absent: _each, Support.differs: _by_words, Support.works: _short}


def _places(uses: Sequence[Use], everywhere: bool) -> str:
    places = list(dict.fromkeys(_place(use) for use in uses))
    shown = places if everywhere else places[:_SHOWN]
    more = f" and {len(places) - len(shown)} more" if len(places) > len(shown) else ""
    return f"{', '.join(shown)}{more}"


def _place(use: Use) -> str:
    return f"{use.file}:{use.line}" if not use.cell else f"{use.file}:cell {use.cell}:{use.line}"


def _summary(checked: CheckResult) -> str:
    works, differs, absent = (len(checked.of(support)) for support in (Support.works, Support.differs, Support.absent))
    broken = f"; {len(checked.broken)} not read" if checked.broken else ""
    features, files = _counted(len(checked.found), "feature"), _counted(checked.files, "file")
    return f"{features} in {files}: {works} work, {differs} differ, {absent} absent{broken}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
