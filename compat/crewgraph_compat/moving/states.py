"""Whether what a program uses works on crewgraph, differs, or is not there."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from crewgraph.compiler.preflight import refused_keywords
from crewgraph.definitions.base import KEYWORD_HINTS
from crewgraph_compat.absent import reason
from crewgraph_compat.missing import no_module, no_name
from crewgraph_compat.moving.classes import attributes, class_of, is_former, keywords, takes_any
from crewgraph_compat.moving.differences import Difference, differences_of
from crewgraph_compat.moving.former import ATTRIBUTES, KEYWORDS, OF_TEXTS, RENAMED
from crewgraph_compat.moving.names import meant
from crewgraph_compat.moving.uses import Feature, Sort
from crewgraph_compat.table import TABLE

__all__ = ["Mark", "State", "state_of"]

_TOOLS = "`crewai_tools` imports crewai itself: run the program with `crewgraph run`, or call `crewgraph_compat.install()` first"


class Mark(StrEnum):
    """How it stands with a feature."""

    works = "works"
    differs = "differs"
    absent = "absent"


@dataclass(frozen=True)
class State:
    """How it stands with a feature, and what there is to say of it."""

    mark: Mark
    said: tuple[str, ...] = ()
    """Each a sentence: what is not there and what to do instead, or what is different."""

    differences: tuple[Difference, ...] = ()
    """The rows of the table of differences, where these are what is different."""


@cache
def state_of(feature: Feature) -> State:
    """How it stands with a feature."""
    if (gone := _absence(feature)) is not None:
        return State(Mark.absent, (gone,))
    rows = tuple(differences_of(feature))
    said = (*_remarks(feature), *(f"{one.row}: {one.here}" for one in rows))
    return State(Mark.differs if said else Mark.works, said, rows)


def _absence(feature: Feature) -> str | None:
    """Why a feature is not there; None where it is."""
    if feature.sort is Sort.imported:
        return _no_such_path(feature.path)
    if feature.sort is Sort.keyword and _is_refused(feature):
        return f"`{feature.word}` is refused by this version of crewgraph; leave it out for now."
    if feature.sort is Sort.attribute and not _has(feature):
        return (
            f"objects of `{_name(feature)}` have no `{feature.word}`.{_near(feature.word, attributes(feature.owner))}"
        )
    if feature.sort is Sort.argument and not _takes(feature):
        return f"`{feature.of_method}` of `{_name(feature)}` takes no `{feature.word}`."
    return None


def _no_such_path(path: str) -> str | None:
    if path.partition(".")[0] == "crewai_tools" or path in TABLE:
        return None
    module, _, name = path.rpartition(".")
    if meant(path) is not None:
        return None
    if reason(path) is None and module in TABLE:
        return no_name(module, name)
    return no_module(path)


def _remarks(feature: Feature) -> Iterator[str]:
    """What is different and stands in no row of the table."""
    name = _name(feature)
    if feature.path.partition(".")[0] == "crewai_tools" and meant(feature.path) is None:
        yield f"{_TOOLS}."
    elif feature.sort is Sort.keyword and isinstance(class_of(feature.owner), type):
        yield from _of_keyword(feature, name)
    elif feature.sort is Sort.attribute and (instead := ATTRIBUTES.get(name, {}).get(feature.word)):
        yield f"`{feature.word}` is a former name: write `{instead}`."
    elif feature.sort is Sort.attribute and _is_of_text(name, feature.word):
        yield f"an output is no text any more: `crewgraph migrate` writes `str(...).{feature.word}`."


def _of_keyword(feature: Feature, name: str) -> Iterator[str]:
    known, word = keywords(feature.owner), feature.word
    if word not in known and not takes_any(feature.owner) and not is_former(feature.owner, word):
        belongs = next(
            (KEYWORD_HINTS[kind][word] for kind in _kinds(feature.owner) if word in KEYWORD_HINTS.get(kind, {})), None
        )
        yield f"`{name}` has no keyword `{word}`: it has no effect.{f' {belongs}' if belongs else _near(word, known)}"
    elif word == "verbose" and feature.value.isdigit():
        yield "`verbose` is True or False: `crewgraph migrate` rewrites the number."
    elif (name, word) in RENAMED:
        yield f"`{word}` is a former name: `crewgraph migrate` writes `{RENAMED[name, word]}`."
    elif (name, word) in KEYWORDS and feature.value not in ("False", "None"):
        yield f"`{word}` is of older versions: `crewgraph migrate` rewrites it ({KEYWORDS[name, word]})."


def _kinds(owner: str) -> list[str]:
    return [kind.__name__ for kind in class_of(owner).__mro__]


def _is_refused(feature: Feature) -> bool:
    refused = feature.word in refused_keywords().get(_name(feature), ())
    return refused and feature.value not in ("False", "None")


def _takes(feature: Feature) -> bool:
    if not callable(getattr(class_of(feature.owner), feature.of_method, None)):
        return True  # it is told that there is no such method
    method = f"{feature.owner}.{feature.of_method}"
    return feature.word in keywords(method) or takes_any(method)


def _has(feature: Feature) -> bool:
    made, word = class_of(feature.owner), feature.word
    if not isinstance(made, type) or word.startswith("_") or "__getattr__" in vars(made) or _is_open(made):
        return True
    name = _name(feature)
    return word in attributes(feature.owner) or word in ATTRIBUTES.get(name, ()) or _is_of_text(name, word)


def _is_of_text(name: str, word: str) -> bool:
    """Whether an output is asked for what texts have."""
    return name in ("CrewOutput", "TaskOutput") and word in OF_TEXTS


def _is_open(made: object) -> bool:
    """Whether objects may have attributes that nobody declares: those of flows are their authors'."""
    config: dict[str, Any] = getattr(made, "model_config", {})
    return config.get("extra") == "allow"


def _name(feature: Feature) -> str:
    return feature.owner.rpartition(":")[2]


def _near(word: str, known: "frozenset[str] | tuple[str, ...]") -> str:
    near = difflib.get_close_matches(word, [one for one in known if not one.startswith("_")], n=1)
    return f" Is `{near[0]}` meant?" if near else ""
