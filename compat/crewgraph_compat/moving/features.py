"""What a project uses of CrewAI, each with its places, and what crewgraph's own classes take and have."""

import importlib
import inspect
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

__all__ = [
    "Feature",
    "FeatureKind",
    "Use",
    "accepted_keywords",
    "accepts_any_keyword",
    "crewgraph_class",
    "is_former_keyword",
    "known_attributes",
]


class FeatureKind(StrEnum):
    """What kind of thing a program uses."""

    imported = "name"
    """It is imported: `crewai.tools.BaseTool`."""

    keyword = "keyword"
    """It is passed to what makes an object: `Crew(memory=)`."""

    attribute = "attribute"
    """It is read, set or called: `CrewOutput.raw`."""

    argument = "argument"
    """It is passed to a method: `Crew.kickoff(inputs=)`."""

    base = "base"
    """A class is made of it: `class(BaseTool)`."""

    override = "override"
    """A class has a version of its own of it: `override BaseTool._run`."""

    bare = "bare"
    """It stands above a function without brackets: `@listen`."""

    dependency = "dependency"
    """The project asks for its package: `crewai[tools]>=1`."""


@dataclass(frozen=True, order=True)
class Feature:
    """One thing that can be used."""

    sort: FeatureKind
    shown: str
    """How it is written, as in the lines above."""

    path: str = ""
    """crewai's dotted path, of names."""

    owner: str = ""
    """ "module:name" of the class in crewgraph that it is of."""

    word: str = ""
    """The keyword, attribute or argument."""

    value: str = ""
    """What a keyword is given, as Python writes it, if that is a constant."""

    of_method: str = ""
    """The method that an argument is passed to."""


@dataclass(frozen=True, order=True)
class Use:
    """A place where a feature is used."""

    file: str
    line: int
    feature: Feature
    cell: int = 0
    """Of a notebook: the cell, from 1, in which the line is counted."""


@cache
def crewgraph_class(target: str) -> Any:
    """What a target of the table is; of "module:Class.method", the method."""
    module, _, names = target.partition(":")
    result: Any = importlib.import_module(module)
    for name in names.split("."):
        result = getattr(result, name)
    return result


@cache
def accepted_keywords(target: str) -> tuple[str, ...]:
    """The keywords that a class or function takes by name."""
    built = crewgraph_class(target)
    fields: Any = getattr(built, "model_fields", None)
    if fields is not None:
        named: dict[str, Any] = fields
        return (*named, *(field.alias for field in named.values() if field.alias))
    return tuple(name for name, item in _parameters(built).items() if item.kind is not item.VAR_KEYWORD)


@cache
def accepts_any_keyword(target: str) -> bool:
    """Whether a class or function takes keywords that it does not name."""
    built = crewgraph_class(target)
    if hasattr(built, "model_fields"):
        return built.model_config.get("extra") == "allow"
    parameters = _parameters(built)
    return not parameters or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def is_former_keyword(target: str, keyword: str) -> bool:
    """Whether a keyword is one that older programs pass and that needs no word."""
    return keyword in getattr(crewgraph_class(target), "_ignored_keywords", ())


@cache
def known_attributes(target: str) -> frozenset[str]:
    """The names that an object of a class has."""
    built = crewgraph_class(target)
    kinds: tuple[type, ...] = getattr(built, "__mro__", ())
    annotated: list[dict[str, Any]] = [vars(kind).get("__annotations__", {}) for kind in kinds]
    return frozenset({*dir(built), *getattr(built, "model_fields", ()), *(name for item in annotated for name in item)})


def _parameters(built: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(built).parameters)
    except (TypeError, ValueError):
        return {}
