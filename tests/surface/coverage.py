"""`python -m surface.coverage [--write] [--gaps]` reports the coverage of CrewAI's API, and what is missing."""

import importlib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crewgraph_compat.surface.absent import reason
from crewgraph_compat.surface.names import MODULES, target

from crewgraph.annotations import annotations_of
from surface.manifest import VERSIONS, ClassNames, manifest

__all__ = ["GAP", "REPORT", "Name", "members", "names", "report", "table"]

REPORT = Path(__file__).parents[2] / "docs" / "reference" / "coverage.md"
"""The folder of the tables."""

_FOREIGN = frozenset(
    {
        *("CoreSchema", "DirectoryPath", "FilePath", "NDArray", "NewPath", "StrictBytes", "TYPE_CHECKING"),
        *("UUID1", "UUID3", "UUID4", "UUID5"),
    }
)
"""Names of other packages that modules of CrewAI import."""

HAVE, ABSENT, GAP = "works", "absent with a reason", "missing"


@dataclass(frozen=True)
class Name:
    """A name of the manifest, with its status."""

    path: str
    state: str
    why: str = ""

    @property
    def area(self) -> str:
        """The first part of its module."""
        parts = self.path.split(".")
        return ".".join(parts[:2]) if len(parts) > 2 else "crewai"


def names(version: str) -> Iterator[Name]:
    """Every name of every module."""
    for module, found in manifest(version)["modules"].items():
        for name in found:
            if name in _FOREIGN:
                continue
            path = f"{module}.{name}"
            if path in MODULES or target(module, name) is not None:
                yield Name(path, HAVE)
            elif why := reason(path):
                yield Name(path, ABSENT, why)
            else:
                yield Name(path, GAP)


def members(version: str) -> Iterator[Name]:
    """Yield every field (with its default), method (with its parameters) and property of every provided class."""
    for path, offered in manifest(version)["classes"].items():
        module, _, name = path.rpartition(".")
        found = target(module, name)
        if found is not None:
            home, _, attribute = found.partition(":")
            ours = getattr(importlib.import_module(home), attribute)
            yield from _members(path, ours, offered)


def _members(path: str, ours: Any, offered: ClassNames) -> Iterator[Name]:
    for name, default in offered.get("fields", {}).items():
        yield _judged(f"{path}.{name}", _field_fault(ours, name, default))
    for name, parameters in offered.get("methods", {}).items():
        yield _judged(f"{path}.{name}", _method_fault(ours, name, parameters))
    for name in (*offered.get("properties", ()), *offered.get("members", ())):
        yield _judged(f"{path}.{name}", "" if _has(ours, name) else "not there")


def _judged(path: str, fault: str) -> Name:
    return Name(path, GAP, fault) if fault else Name(path, HAVE)


def _has(ours: Any, name: str) -> bool:
    if hasattr(ours, name) or name in getattr(ours, "model_fields", {}):
        return True
    return any(name in annotations_of(cls) for cls in getattr(ours, "__mro__", ()))


def _field_fault(ours: Any, name: str, default: str | None) -> str:
    field = getattr(ours, "model_fields", {}).get(name)
    if field is None:
        given = _signature(ours).get(name)
        if given is not None and default is not None:
            return _default_fault(default, repr(given.default))
        return "" if given is not None or _has(ours, name) else "not there"
    if default is None:
        return ""
    if field.is_required():
        return f"is required; CrewAI's default is {default}"
    factory = field.default_factory
    return _default_fault(
        default, f"factory:{getattr(factory, '__name__', factory)}" if factory else repr(field.default)
    )


def _default_fault(theirs: str, ours: str) -> str:
    return "" if _plain(theirs) == _plain(ours) else f"defaults to {ours}; CrewAI's default is {theirs}"


def _plain(default: str) -> str:
    if not default or default.startswith(("factory", "function", "<")) or default in ("...", "NOT_SPECIFIED"):
        return {"factory:list": "[]", "factory:dict": "{}", "factory:set": "set()"}.get(default, "made")
    plain = re.sub(r"^<\w+\.\w+: (.*)>$", r"\1", default)
    return {"PydanticUndefined": "None"}.get(plain, plain)


def _signature(ours: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(ours).parameters)
    except (TypeError, ValueError):
        return {}


def _method_fault(ours: Any, name: str, parameters: list[str] | None) -> str:
    method = inspect.getattr_static(ours, name, None)
    if method is None:
        return "" if _has(ours, name) else "not there"
    if parameters is None or not callable(getattr(ours, name, None)):
        return ""
    taken = _signature(getattr(ours, name))
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in taken.values()):
        return ""
    expected = [parameter.partition("=")[0] for parameter in parameters]
    lacking = [name for name in expected if name not in taken and name not in ("self", "cls") and name[0] not in "*_"]
    return f"does not take {', '.join(lacking)}" if lacking else ""


def table(version: str) -> list[str]:
    """The coverage of a release, as rows of a Markdown table."""
    found = [*names(version)]
    inside = [*members(version)]
    rows = [
        f"| area of {version} | names | work | absent with a reason | missing | fields and methods | same signature |"
    ]
    rows.append("|---|---|---|---|---|---|---|")
    areas = sorted({name.area for name in found})
    for area in [*areas, "all"]:
        here = Counter(name.state for name in found if area in ("all", name.area))
        parts = Counter(name.state for name in inside if area in ("all", name.area))
        rows.append(
            f"| {area} | {here.total()} | {_share(here[HAVE], here)} | {_share(here[ABSENT], here)} | {here[GAP]} "
            f"| {parts.total()} | {_share(parts[HAVE], parts)} |"
        )
    return rows


def _share(part: int, counted: Counter[str]) -> str:
    return f"{100 * part / counted.total():.1f} %" if counted.total() else "-"


def report() -> str:
    """Return the coverage page."""
    tables = "\n\n".join("\n".join(table(version)) for version in VERSIONS)
    return f"{_TOLD}\n{tables}\n"


_TOLD = """\
# Coverage of CrewAI's API

`crewgraph check .` lists the names that your project uses, and whether crewgraph has them. This page counts all names in the
public modules of two releases of CrewAI. `make coverage` generates it, and a test compares it with the code.

| Column | Counts |
|---|---|
| names | names in the modules of this area, including names that a module only imports from another |
| work | names for which `from crewai... import name` gives a working object |
| absent with a reason | names whose `ImportError` says why they are absent and what to use instead |
| missing | names that are neither; `tests/surface/gaps.toml` says why |
| fields and methods | fields, methods and properties of the provided classes |
| same signature | the share of these with CrewAI's default or parameters; the others are in `tests/surface/gaps.toml` |

A provided name may still behave differently: see [differences](../differences.md).
"""


def _print() -> None:
    print(report())
    if "--write" in sys.argv:
        REPORT.write_text(report(), "utf-8")
    if "--gaps" in sys.argv:
        for version in VERSIONS:
            for name in (*names(version), *members(version)):
                if name.state == GAP:
                    print(f"{version}  {name.path}  {name.why}")


if __name__ == "__main__":
    _print()
