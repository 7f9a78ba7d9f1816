"""CrewAI's public names as data: modules, classes, fields, defaults and parameters of two releases."""

import json
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

__all__ = ["VERSIONS", "ClassNames", "Manifest", "manifest", "origin_of"]

VERSIONS = ("1.2.1", "1.15.30")
_FOLDER = Path(__file__).parent / "manifests"


class ClassNames(TypedDict, total=False):
    """The members of a class."""

    fields: dict[str, str | None]
    """The default of each field as text; None if it is required."""

    methods: dict[str, list[str] | None]
    """A method to its parameters, as `name` or `name=default`."""

    properties: list[str]
    members: list[str]


class Manifest(TypedDict):
    """The names of a release."""

    version: str
    modules: dict[str, dict[str, Any]]
    """A module to its names, each a kind ("class", "function crewai.task.f" where it is defined elsewhere) or parameters."""

    classes: dict[str, ClassNames]


@cache
def manifest(version: str) -> Manifest:
    """The names of a release."""
    read: Manifest = json.loads((_FOLDER / f"{version}.json").read_text("utf-8"))
    return read


def origin_of(kind: Any) -> str | None:
    """Where a name is defined, if that is not where it stands."""
    return kind.partition(" ")[2] or None if isinstance(kind, str) else None
