import importlib
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
from crewgraph_compat.surface.reexports import origin, target
from crewgraph_compat.surface.table import TABLE

from surface.coverage import GAP, REPORT, members, names, report
from surface.manifest import VERSIONS, manifest
from surface.reexports import PATH, reexports, written


def test_the_file_of_reexported_names_is_what_the_manifests_say():
    assert PATH.read_text("utf-8") == written(reexports()), "write it with `python -m surface.reexports`"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_is_the_same_thing_wherever_crewai_has_the_same_thing(version: str):
    different = {
        f"{module}.{name}": (target(module, name), home)
        for module, names in manifest(version)["modules"].items()
        for name in names
        if (path := origin(module, name)) and (home := _target(path)) and target(module, name) != home
    }
    found = {path for path, pair in different.items() if _object(pair[0]) is not _object(pair[1])}
    assert found <= {"crewai.rag.config.types.QdrantConfig"}  # the manifests are of machines without Qdrant


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


def test_a_name_that_a_module_merely_imports_is_found_there():
    assert target("crewai.crew", "Task") == TABLE["crewai.task"]["Task"]
    assert target("crewai.crew", "UUID4") == "pydantic:UUID4"
    assert target("crewai.crew", "nothing_like_it") is None


def _target(path: str) -> str | None:
    module, _, name = path.rpartition(".")
    return path if ":" in path else target(module, name)


def _object(row: str | None) -> object:
    module, _, name = (row or "").partition(":")
    return getattr(importlib.import_module(module), name)
