"""Features of CrewAI that a project uses, and the keywords and attributes that crewgraph's classes accept."""

import dis
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel

from crewgraph.annotations import annotations_of


class FeatureKind(StrEnum):
    """The kinds of features."""

    imported = "name"
    """An imported name: `crewai.tools.BaseTool`."""

    keyword = "keyword"
    """A constructor keyword: `Crew(memory=)`."""

    attribute = "attribute"
    """An attribute that is read, set or called: `CrewOutput.raw`."""

    argument = "argument"
    """A method argument: `Crew.kickoff(inputs=)`."""

    base = "base"
    """A base class: `class(BaseTool)`."""

    override = "override"
    """An overridden method: `override BaseTool._run`."""

    awaited = "awaited"
    """A `kickoff` that `asyncio.run` is to await: `await Flow.kickoff`."""

    bare = "bare"
    """A decorator used without parentheses: `@listen`."""

    dependency = "dependency"
    """A requirement on the package: `crewai[tools]>=1`."""


@dataclass(frozen=True, order=True)
class Feature:
    """A single feature of CrewAI."""

    sort: FeatureKind
    shown: str
    """Its displayed form, as in the examples of `FeatureKind`."""

    path: str = ""
    """The dotted path in crewai; set for names."""

    owner: str = ""
    """ "module:name" of the crewgraph class it belongs to."""

    word: str = ""
    """The name of the keyword, attribute or argument."""

    value: str = ""
    """The `repr` of a keyword's value, if it is a constant; `?` for the `result` of what may be a stream."""

    of_method: str = ""
    """The method that an argument belongs to."""

    is_guarded: bool = False
    """Whether the program goes on without it: it asks `hasattr` or `getattr` first, or catches the error."""


@dataclass(frozen=True, order=True)
class Use:
    """A location where a feature is used."""

    file: str
    line: int
    feature: Feature
    cell: int = 0
    """In a notebook, the cell (from 1) that `line` is relative to; 0 in other files."""


@cache
def crewgraph_class(target: str) -> Any:
    """Import the object that a table target such as "module:Class.method" names."""
    module, _, names = target.partition(":")
    result: Any = importlib.import_module(module)
    for name in names.split("."):
        result = getattr(result, name)
    return result


@cache
def accepted_keywords(target: str) -> tuple[str, ...]:
    """Return the keywords that a class or function declares."""
    built = crewgraph_class(target)
    fields: Any = getattr(built, "model_fields", None)
    if fields is not None:
        named: dict[str, Any] = fields
        aliases = (field.alias for field in named.values() if field.alias)
        return tuple(dict.fromkeys((*named, *aliases, *_taken_by_init(built))))
    return tuple(name for name, item in _parameters(built).items() if item.kind is not item.VAR_KEYWORD)


@cache
def accepts_any_keyword(target: str) -> bool:
    """Whether a class or function accepts undeclared keywords."""
    built = crewgraph_class(target)
    if hasattr(built, "model_fields"):
        return built.model_config.get("extra") == "allow"
    parameters = _parameters(built)
    return not parameters or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def is_former_keyword(target: str, keyword: str) -> bool:
    """Whether older programs pass this keyword and it is silently ignored."""
    return keyword in getattr(crewgraph_class(target), "_ignored_keywords", ())


@cache
def known_attributes(target: str) -> frozenset[str]:
    """Return the attribute names of a class's objects."""
    built = crewgraph_class(target)
    kinds: tuple[type, ...] = getattr(built, "__mro__", ())
    annotated: list[dict[str, Any]] = [annotations_of(kind) for kind in kinds]
    assigned = (name for kind in kinds for name in _assigned_by_init(kind))
    names = (name for item in annotated for name in item)
    return frozenset({*dir(built), *getattr(built, "model_fields", ()), *names, *assigned})


def _assigned_by_init(kind: type) -> Iterator[str]:
    """Yield the attributes that the `__init__` of a class sets."""
    init = vars(kind).get("__init__")
    if inspect.isfunction(init):
        yield from (str(step.argval) for step in dis.get_instructions(init) if step.opname == "STORE_ATTR")


def _taken_by_init(model: Any) -> Iterator[str]:
    """Yield the keywords that the classes of a model take by an `__init__` of their own."""
    kinds: tuple[type, ...] = model.__mro__
    for kind in kinds:
        if kind is BaseModel:
            return
        if "__init__" in vars(kind):
            parameters = list(inspect.signature(vars(kind)["__init__"]).parameters.values())[1:]
            yield from (item.name for item in parameters if item.kind not in (item.VAR_KEYWORD, item.VAR_POSITIONAL))


def _parameters(built: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(built).parameters)
    except (TypeError, ValueError):
        return {}
