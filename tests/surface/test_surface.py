import importlib
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
from crewgraph_compat.surface.names import target

from surface.coverage import GAP, REPORT, members, names, report
from surface.manifest import VERSIONS, manifest, origin_of


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_is_the_same_thing_wherever_crewai_has_the_same_thing(version: str):
    different = {
        f"{module}.{name}": (here, home)
        for module, names in manifest(version)["modules"].items()
        for name, kind in names.items()
        if (path := origin_of(kind)) and (here := target(module, name)) and (home := _target(path)) and here != home
    }
    assert {path for path, pair in different.items() if _object(pair[0]) is not _object(pair[1])} <= {
        f"crewai.memory.{kind}.{kind}_memory.Memory" for kind in ("entity", "external", "long_term", "short_term")
    }  # the base class of older releases, which has the name of today's memory


@cache
def _gaps() -> dict[str, str]:
    reported: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("gaps.toml").read_text("utf-8"))
    return {pattern: why for section in reported.values() for pattern, why in section.items()}


@cache
def _missing() -> frozenset[str]:
    found = [name for version in VERSIONS for name in (*names(version), *members(version))]
    return frozenset(name.path for name in found if name.state == GAP)


def test_every_name_field_and_method_that_is_missing_or_differs_is_listed_with_why():
    assert {path for path in _missing() if not any(fnmatchcase(path, pattern) for pattern in _gaps())} == set()


def test_nothing_is_listed_as_missing_that_is_there():
    assert {pattern for pattern in _gaps() if not any(fnmatchcase(path, pattern) for path in _missing())} == set()
    assert {pattern for pattern, why in _gaps().items() if len(why) < 20 or not why.endswith(".")} == set()


def test_the_page_on_coverage_tells_what_is_so():
    assert REPORT.read_text("utf-8") == report(), "write it with `make coverage`"


def _target(path: str) -> str | None:
    module, _, name = path.rpartition(".")
    return target(module, name)


def _object(row: str | None) -> object:
    module, _, name = (row or "").partition(":")
    return getattr(importlib.import_module(module), name)
