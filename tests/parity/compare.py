"""Compares crewgraph's trace of a program with CrewAI's, and looks up the known differences."""

import json
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

__all__ = [
    "ASPECTS", "NEW", "OLD", "Difference", "alike", "differences", "follows", "known", "recording", "relation",
    "whole",
]  # fmt: skip

OLD, NEW = "1.2.1", "1.15"
ASPECTS = ("outcome", "usage", "tasks", "tools", "requests", "conversations", "events", "memory")
"""The aspects of a trace, which are compared separately."""

_HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The reason why programs behave differently on crewgraph than on CrewAI 1.15."""

    relation: str
    """"1.2.1": as there; "better": as on neither, on purpose; "bug": to be fixed; "missing": not there yet."""

    reason: str
    row: str = ""
    """The beginning of the row in docs/differences.md."""

    where: tuple[str, ...]
    """Each a program and an aspect, with a dot between; `*` for a program as a whole, if it is "missing" or a "bug"."""

    @property
    def is_fault(self) -> bool:
        """Whether it is to be removed."""
        return self.relation in ("bug", "missing")


@cache
def differences() -> tuple[Difference, ...]:
    """The table of known differences."""
    table = tomllib.loads((_HERE / "differences.toml").read_text("utf-8"))
    return tuple(
        Difference(relation=row["relation"], reason=row["reason"], row=row.get("row", ""), where=tuple(row["where"]))
        for row in cast("list[dict[str, Any]]", table.get("difference", []))
    )


def known(program: str, aspect: str) -> Difference | None:
    """The difference that a program is known to have in an aspect."""
    names = {f"{program}.{aspect}", f"{program}.*"}
    found = [one for one in differences() if names & set(one.where)]
    if len(found) > 1:
        raise ValueError(f"`{program}.{aspect}` stands twice in differences.toml")
    return found[0] if found else None


def recording(program: str) -> dict[str, Any]:
    """The recorded traces of a program: "1.2.1" and "1.15" and, of crewgraph, what differs on purpose."""
    path = _HERE / "recordings" / f"{program}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def relation(ours: dict[str, Any], theirs: dict[str, Any], aspect: str) -> str:
    """Return which trace ours equals in an aspect: "both", "1.15", "1.2.1" or "neither"."""
    found = [version for version in (OLD, NEW) if alike(ours, theirs[version], aspect)]
    return "both" if len(found) == 2 else found[0] if found else "neither"


def follows(found: str) -> bool:
    """Whether a relation is the intended one."""
    return found in ("both", NEW)


def whole(program: str) -> Difference | None:
    """The difference that a program is known to have as a whole."""
    return next((one for one in differences() if f"{program}.*" in one.where), None)


def alike(ours: dict[str, Any], theirs: dict[str, Any], aspect: str) -> bool:
    """Whether two traces are equal in an aspect."""
    if "broken" in ours or "broken" in theirs:
        return ours.get("broken") == theirs.get("broken")
    if aspect == "outcome":
        same = all(
            _without_usage(ours[name]) == _without_usage(theirs[name]) for name in ("printed", "results", "files")
        )
        return same and _raises_as(ours["raised"], theirs["raised"])
    if aspect == "usage":
        return _usage(ours["results"]) == _usage(theirs["results"])
    return ours.get(aspect) == theirs.get(aspect)


def _raises_as(ours: dict[str, Any] | None, theirs: dict[str, Any] | None) -> bool:
    """Whether code that catches their exception catches ours, and finds the expected texts in it."""
    if ours is None or theirs is None:
        return ours is theirs
    return (
        theirs["types"][0] in ours["types"]
        and set(theirs["marks"]) <= set(ours["marks"])
        and set(theirs["phrases"]) <= set(ours["phrases"])
        and theirs.get("codes") == ours.get("codes")
    )


def _without_usage(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_usage(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {key: _without_usage(one) for key, one in cast("dict[str, Any]", value).items() if key != "usage"}
    return value


def _usage(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [found for one in cast("list[Any]", value) for found in _usage(one)]
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        return [held["usage"]] if "usage" in held else [found for one in held.values() for found in _usage(one)]
    return []
