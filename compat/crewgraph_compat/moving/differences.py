"""The table of behaviour differences between crewgraph and CrewAI, looked up by feature."""

import re
import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

from crewgraph_compat.moving.features import Feature, FeatureKind, crewgraph_class

_WORDS = ("row", "theirs", "here", "to_do")
_LINK = re.compile(r"\[([^\[\]]++)\]\([^()\[]++\)")

_FORMS: tuple[tuple[FeatureKind, re.Pattern[str]], ...] = (
    (FeatureKind.base, re.compile(r"class\((?P<owner>\w+)\)")),
    (FeatureKind.override, re.compile(r"override (?P<owner>\w+)\.(?P<word>\w+)")),
    (FeatureKind.awaited, re.compile(r"await (?P<owner>\w+)\.(?P<word>\w+)")),
    (FeatureKind.bare, re.compile(r"@(?P<owner>\w+)")),
    (FeatureKind.argument, re.compile(r"(?P<owner>\w+)\.(?P<method>\w+)\((?P<word>\w+)=\)")),
    (FeatureKind.attribute, re.compile(r"(?P<owner>\w+)\.(?P<word>\w+)")),
    (FeatureKind.keyword, re.compile(r"(?P<owner>\w+)\((?P<word>\w+)=(?P<value>.*)\)")),
    (FeatureKind.imported, re.compile(r"(?P<owner>\w+)")),
)


class DifferenceKind(StrEnum):
    """What a difference means for a program that is moved from CrewAI."""

    may_break = "may break"
    """The program may fail or behave differently."""

    safer_default = "safer default"
    """Less is sent, shown, written or repeated."""

    improvement = "improvement"
    """Fails or has no effect on CrewAI, and works here."""

    older = "older"
    """Only CrewAI 1.2 differs; crewgraph does what CrewAI 1.15 does."""


@dataclass(frozen=True)
class BehaviourDifference:
    """A row of the table of differences."""

    kind: DifferenceKind

    row: str
    """What a program does."""

    theirs: str
    """What happens on CrewAI: on 1.2 if the kind is `older`, else on 1.15."""

    here: str
    """What happens on crewgraph."""

    to_do: str
    """What to do when moving a program; empty if nothing."""

    of: tuple[str, ...]
    """Addresses of the features whose use makes the difference relevant."""

    is_certain: bool = False
    """Whether the use itself makes the difference, so that the program's code shows it."""

    @property
    def needs_attention(self) -> bool:
        """Whether a person who moves a program has something to do."""
        return self.is_certain and self.kind in (DifferenceKind.may_break, DifferenceKind.safer_default)

    @property
    def outcomes(self) -> str:
        """What happens on CrewAI, and here."""
        if self.kind is DifferenceKind.older:
            return f"CrewAI 1.2: {self.theirs}. CrewAI 1.15 and here: {self.here}."
        return f"CrewAI 1.15: {self.theirs}. Here: {self.here}."

    @property
    def sentence(self) -> str:
        """The whole row as text."""
        to_do = f" To do: {self.to_do}." if self.to_do else ""
        return f"{self.row}. {self.outcomes}{to_do}"


@dataclass(frozen=True)
class _Address:
    sort: FeatureKind
    owner: str
    word: str
    value: str
    method: str


def differences_of(feature: Feature) -> list[BehaviourDifference]:
    """Return the behaviour differences that concern a feature."""
    owners = _owners(feature)
    return [item for address, item in _addressed() if address.owner in owners and _is_meant(address, feature)]


def _owners(feature: Feature) -> set[str]:
    """Return the names of a class and its bases, or the last part of a dotted path."""
    if not feature.owner:
        return {feature.path.rpartition(".")[2]}
    built = crewgraph_class(feature.owner)
    return {feature.owner.rpartition(":")[2], *(item.__name__ for item in getattr(built, "__mro__", ()))}


def _is_meant(address: _Address, feature: Feature) -> bool:
    if address.sort is not feature.sort or address.word != feature.word or address.method != feature.of_method:
        return False
    if feature.sort is not FeatureKind.keyword or address.value:
        return address.value == feature.value if feature.sort is FeatureKind.keyword else True
    return feature.value not in ("False", "None")


@cache
def _addressed() -> tuple[tuple[_Address, BehaviourDifference], ...]:
    table = tomllib.loads((resources.files("crewgraph_compat.moving") / "differences.toml").read_text("utf-8"))
    values: list[dict[str, Any]] = table["difference"]
    rows = [
        BehaviourDifference(
            DifferenceKind(item["kind"]), *(_plain(item[name]) for name in _WORDS), of=tuple(item["of"])
        )
        for item in values
    ]
    certain: list[str] = table["certain"]
    return tuple((_address(text), replace(row, is_certain=text in certain)) for row in rows for text in row.of)


def _plain(words: str) -> str:
    """Strip Markdown links, which lead nowhere in a terminal."""
    return _LINK.sub(r"\1", words)


def _address(text: str) -> _Address:
    for sort, form in _FORMS:
        if (result := form.fullmatch(text)) is not None:
            parts = result.groupdict(default="")
            return _Address(
                sort, parts["owner"], parts.get("word", ""), parts.get("value", ""), parts.get("method", "")
            )
    raise ValueError(f"`{text}` in differences.toml is not a valid address; the head of that file describes the forms")
