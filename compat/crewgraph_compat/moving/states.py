"""Decide whether a CrewAI feature works on crewgraph, behaves differently, or is absent."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from crewgraph.compiler.preflight import refused_keywords
from crewgraph.definitions.base import KEYWORD_HINTS
from crewgraph_compat.moving.differences import BehaviourDifference, differences_of
from crewgraph_compat.moving.features import (
    Feature,
    FeatureKind,
    accepted_keywords,
    accepts_any_keyword,
    crewgraph_class,
    is_former_keyword,
    known_attributes,
)
from crewgraph_compat.moving.names import ATTRIBUTES, KEYWORDS, OF_TEXTS, RENAMED, resolve_moved_name
from crewgraph_compat.moving.reading.types import INSTRUMENTOR, MAY_STREAM
from crewgraph_compat.surface.missing import missing_module_message, missing_name_message
from crewgraph_compat.surface.names import MODULES

_TOOLS = (
    "`crewai_tools` imports crewai: run the program with `crewgraph run`, or call `crewgraph_compat.install()` first"
)


class Support(StrEnum):
    """How well crewgraph supports a feature."""

    works = "works"
    """As on CrewAI 1.15, or better."""

    differs = "differs"
    """Works, but something about it needs attention."""

    absent = "absent"


@dataclass(frozen=True)
class FeatureState:
    """The support of a feature, with what explains it."""

    mark: Support
    remarks: tuple[str, ...] = ()
    """Sentences: what is absent and what to do instead, or a difference that the table has no row for."""

    differences: tuple[BehaviourDifference, ...] = ()
    """The matching rows of the table of differences, in its order."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The remarks, and the rows as sentences."""
        return (*self.remarks, *(row.sentence for row in self.differences))


@cache
def feature_state(feature: Feature) -> FeatureState:
    """Return how crewgraph supports a feature."""
    if (absence := _absence(feature)) is not None:
        return FeatureState(Support.works if feature.is_guarded else Support.absent, (absence,))
    rows, remarks = tuple(differences_of(feature)), tuple(_remarks(feature))
    differs = any(row.needs_attention for row in rows)
    return FeatureState(Support.differs if differs else Support.works, remarks, rows)


def _absence(feature: Feature) -> str | None:
    """Return why a feature is absent, or None if it is supported."""
    if feature.sort is FeatureKind.imported:
        return _no_such_path(feature.path)
    if feature.sort is FeatureKind.keyword and _is_refused(feature):
        return f"`{feature.word}` is not supported by this version of crewgraph; leave it out for now."
    if feature.sort is FeatureKind.attribute and not _has(feature):
        near = _near(feature.word, known_attributes(feature.owner))
        return f"`{_name(feature)}` objects have no attribute `{feature.word}`.{near}"
    if feature.sort is FeatureKind.awaited and "Flow" in _kinds(feature.owner):
        return "`asyncio.run` takes a coroutine, and `kickoff` returns the result: `crewgraph migrate` writes `kickoff_async`."
    if feature.sort is FeatureKind.argument and not feature.of_method:
        return f"`{feature.word}` takes strings, and outputs are objects, as in CrewAI 1.15: `crewgraph migrate` converts them."
    if feature.sort is FeatureKind.argument and not _is_accepted(feature):
        return f"`{_name(feature)}.{feature.of_method}` takes no argument `{feature.word}`."
    return None


def _no_such_path(path: str) -> str | None:
    if path == INSTRUMENTOR:
        return (
            "It wraps methods that crewgraph does not call, and makes one span for each kickoff: "
            "`openinference-instrumentation-langchain` makes those of tasks, models and tools, too."
        )
    if path.partition(".")[0] == "crewai_tools" or path in MODULES:
        return None
    module, _, name = path.rpartition(".")
    if resolve_moved_name(path) is not None:
        return None
    if module in MODULES:
        return missing_name_message(module, name)
    return missing_module_message(path)


def _remarks(feature: Feature) -> Iterator[str]:
    """Yield the differences that the table of differences has no row for."""
    name = _name(feature)
    if feature.path.partition(".")[0] == "crewai_tools" and resolve_moved_name(feature.path) is None:
        yield f"{_TOOLS}."
    elif feature.sort is FeatureKind.keyword and isinstance(crewgraph_class(feature.owner), type):
        yield from _of_keyword(feature, name)
    elif feature.sort is FeatureKind.attribute and feature.value == MAY_STREAM:
        yield (
            "if the crew streams (`Crew(stream=True)`), this is the stream's result and stays; of an output, `result` is a "
            "former name: write `raw`."
        )
    elif feature.sort is FeatureKind.attribute and (instead := ATTRIBUTES.get(name, {}).get(feature.word)):
        yield f"`{feature.word}` is a former name: write `{instead}`."
    elif feature.sort is FeatureKind.attribute and _is_of_text(name, feature.word):
        yield f"outputs are no longer strings: `crewgraph migrate` writes `str(...).{feature.word}`."


def _of_keyword(feature: Feature, name: str) -> Iterator[str]:
    known, word = accepted_keywords(feature.owner), feature.word
    if word not in known and not accepts_any_keyword(feature.owner) and not is_former_keyword(feature.owner, word):
        hint = next(
            (KEYWORD_HINTS[kind][word] for kind in _kinds(feature.owner) if word in KEYWORD_HINTS.get(kind, {})), None
        )
        yield f"`{name}` has no keyword `{word}`; it has no effect.{f' {hint}' if hint else _near(word, known)}"
    elif word == "verbose" and feature.value.isdigit():
        yield "`verbose` must be True or False: `crewgraph migrate` rewrites the number."
    elif (name, word) in RENAMED:
        yield f"`{word}` is a former name: `crewgraph migrate` writes `{RENAMED[name, word]}`."
    elif (name, word) in KEYWORDS and feature.value not in ("False", "None"):
        yield f"`{word}` is from an older version: `crewgraph migrate` rewrites it ({KEYWORDS[name, word]})."


def _kinds(owner: str) -> list[str]:
    return [kind.__name__ for kind in crewgraph_class(owner).__mro__]


def _is_refused(feature: Feature) -> bool:
    refused = feature.word in refused_keywords().get(_name(feature), ())
    return refused and feature.value not in ("False", "None")


def _is_accepted(feature: Feature) -> bool:
    if not callable(getattr(crewgraph_class(feature.owner), feature.of_method, None)):
        return True  # the missing method itself is already reported
    method = f"{feature.owner}.{feature.of_method}"
    return feature.word in accepted_keywords(method) or accepts_any_keyword(method)


def _has(feature: Feature) -> bool:
    built, word = crewgraph_class(feature.owner), feature.word
    if not isinstance(built, type) or word.startswith("_") or "__getattr__" in vars(built) or _is_open(built):
        return True
    name = _name(feature)
    return word in known_attributes(feature.owner) or word in ATTRIBUTES.get(name, ()) or _is_of_text(name, word)


def _is_of_text(name: str, word: str) -> bool:
    """Whether a string method is called on an output."""
    return name in ("CrewOutput", "TaskOutput") and word in OF_TEXTS


def _is_open(built: object) -> bool:
    """Whether objects may have undeclared attributes, as flows do."""
    config: dict[str, Any] = getattr(built, "model_config", {})
    return config.get("extra") == "allow"


def _name(feature: Feature) -> str:
    return feature.owner.rpartition(":")[2]


def _near(word: str, known: "frozenset[str] | tuple[str, ...]") -> str:
    near = difflib.get_close_matches(word, [item for item in known if not item.startswith("_")], n=1)
    return f" Did you mean `{near[0]}`?" if near else ""
