"""Rewrite files that declare dependencies: pyproject.toml, requirements files, setup.cfg, setup.py, conda environments."""

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

from crewgraph_compat.moving.dependencies.requirements import (
    LOCKS,
    OURS,
    TOOLS,
    RequirementPlace,
    environment_places,
    parse_requirement,
    requirement_lists,
    requirements_places,
    setup_cfg_places,
    setup_py_places,
)
from crewgraph_compat.moving.dependencies.tables import python_version_notes, raised_python_bound, rewrite_poetry
from crewgraph_compat.moving.rewriting.imports import TOOLS_NOTE
from crewgraph_compat.moving.rewriting.program import UnreadableSource
from crewgraph_compat.moving.rewriting.tree import MigrationNote

_FROM_GIT = re.compile(r"^\s*[^#\s].*\bgit\+\S*/crewai(?:-tools)?(?:\.git)?(?=[@#\s]|$)", re.IGNORECASE)
_REQUIRES_PYTHON = re.compile(r"""^\s*requires-python\s*=\s*["'](?P<text>[^"']*)""")
_PYTHON = re.compile(r"""^\s*(?:-\s*python|python_requires)\s*=\s*["']?(?P<text>[^"'#]+)""")


def rewrite_requirements(text: str, file: str, *, with_tools: bool) -> tuple[str, list[MigrationNote]]:
    """Replace crewai with crewgraph in a requirements file."""
    done, notes = _rewrite_places(text, file, requirements_places(text), with_tools=with_tools)
    notes += [
        MigrationNote(file, number, f"crewai is installed from its repository here; write `{OURS}` instead.")
        for number, line in enumerate(done.splitlines(), 1)
        if _FROM_GIT.match(line)
    ]
    return done, notes


def rewrite_setup_cfg(text: str, file: str, *, with_tools: bool) -> tuple[str, list[MigrationNote]]:
    """Replace crewai with crewgraph in the requirement lists of a setup.cfg."""
    done, notes = _rewrite_places(text, file, setup_cfg_places(text), with_tools=with_tools)
    return done, notes + _python_notes(text, file)


def rewrite_setup_py(text: str, file: str, *, with_tools: bool) -> tuple[str, list[MigrationNote]]:
    """Replace crewai with crewgraph in the string lists of a setup.py.

    Raises:
        SyntaxError: The text is not valid Python.
    """
    done, notes = _rewrite_places(text, file, setup_py_places(text), with_tools=with_tools)
    return done, notes + _python_notes(text, file)


def rewrite_environment(text: str, file: str, *, with_tools: bool) -> tuple[str, list[MigrationNote]]:
    """Replace crewai with crewgraph among the pip packages of a conda environment."""
    done, notes = _rewrite_places(text, file, environment_places(text), with_tools=with_tools)
    return done, notes + _python_notes(text, file)


def _python_notes(text: str, file: str) -> list[MigrationNote]:
    """Return notes on Python versions that are too old for crewgraph."""
    lines = enumerate(text.splitlines(), 1)
    return [
        note
        for number, line in lines
        if (form := _PYTHON.match(line))
        for note in python_version_notes(form["text"], file, number)
    ]


def _rewrite_places(
    text: str, file: str, places: Iterable[RequirementPlace], *, with_tools: bool
) -> tuple[str, list[MigrationNote]]:
    lines, notes = text.splitlines(keepends=True), list[MigrationNote]()
    requirements = [(place, item) for place in places if (item := parse_requirement(place.text)) is not None]
    has_tools = any(entry.is_tools for _, entry in requirements)
    for place, item in reversed(requirements):
        line = lines[place.line - 1]
        if item.is_tools:
            notes.append(_tools_note(file, place.line))
        elif not place.is_of_pip:
            notes.append(
                MigrationNote(file, place.line, f"crewgraph is installed with pip: write `{OURS}` below `- pip:`.")
            )
        elif place.text.endswith("\\") or "--hash" in place.text:
            message = f"left unchanged because it is pinned by hashes or continued below: write `{OURS}` in this file's source."
            notes.append(MigrationNote(file, place.line, message))
        else:
            lines[place.line - 1] = f"{line[: place.start]}{item.ours}{line[place.end :]}"
            if "tools" in item.extras and with_tools:
                notes.append(_tools_note(file, place.line))
                if not has_tools:
                    lines[place.line - 1] = _with_tools(lines[place.line - 1], place, notes, file)
    return "".join(lines), notes


def _with_tools(line: str, place: RequirementPlace, notes: list[MigrationNote], file: str) -> str:
    if not place.is_alone:
        notes.append(
            MigrationNote(
                file, place.line, f"the extra `tools` was removed along with crewai: add `{TOOLS}` here, too."
            )
        )
        return line
    end = line[len(line.rstrip("\r\n")) :]
    return line.rstrip("\r\n") + (end or "\n") + f"{line[: place.start]}{TOOLS}{end}"


def _tools_note(file: str, number: int) -> MigrationNote:
    return MigrationNote(file, number, TOOLS_NOTE)


def rewrite_pyproject(text: str, file: str, *, with_tools: bool) -> tuple[str, list[MigrationNote]]:
    """Replace crewai with crewgraph in a pyproject.toml: PEP 621, dependency groups, uv, Poetry.

    Raises:
        UnreadableSource: The text is not valid TOML, or would not be after rewriting.
    """
    try:
        data = tomllib.loads(text)
        document = tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, TOMLKitError) as error:
        raise UnreadableSource(f"the file is not valid TOML ({error})") from None
    notes: list[MigrationNote] = []
    for listed in requirement_lists(document):
        _rewrite_list(listed, text, file, notes, with_tools=with_tools)
    done = tomlkit.dumps(document) if notes else text
    if "poetry" in data.get("tool", {}):
        done = rewrite_poetry(done, file, notes, with_tools=with_tools)
    if done != text and "requires-python" in data.get("project", {}):
        done = _rewrite_python(done, file, notes)
    notes += _table_notes(text, data, file)
    try:
        tomllib.loads(done)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableSource(f"the result would not be valid TOML ({error}); the file is left unchanged") from None
    return done, sorted(set(notes))


def _rewrite_python(text: str, file: str, notes: list[MigrationNote]) -> str:
    """Raise `requires-python` to the versions that crewgraph supports."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if form := _REQUIRES_PYTHON.match(line):
            now, more_notes = raised_python_bound(form["text"], file, number)
            lines[number - 1] = f"{line[: form.start('text')]}{now}{line[form.end('text') :]}"
            notes += more_notes
    return "".join(lines)


def _table_notes(text: str, data: dict[str, Any], file: str) -> list[MigrationNote]:
    """Return notes on `[tool.*]` tables that mention crewai."""
    tools, notes = data.get("tool", {}), list[MigrationNote]()
    if "crewai" in tools:
        message = "`[tool.crewai]` is read by `crewgraph run`; other commands read `target` of `[tool.crewgraph]`."
        notes.append(MigrationNote(file, _line_of(text, "[tool.crewai]"), message))
    if "crewai" in tools.get("uv", {}).get("sources", {}):
        below = _line_of(text, "[tool.uv.sources")
        line = next((at for at, text in enumerate(text.splitlines(), 1) if at >= below and "crewai" in text), below)
        notes.append(MigrationNote(file, line, "`[tool.uv.sources]` has a source for crewai; remove it."))
    return notes


def _rewrite_list(listed: Any, text: str, file: str, notes: list[MigrationNote], *, with_tools: bool) -> None:
    if not isinstance(listed, list):
        return
    items = cast("list[Any]", listed)
    requirements = [parse_requirement(str(entry)) if isinstance(entry, str) else None for entry in items]
    has_tools = any(entry is not None and entry.is_tools for entry in requirements)
    for place in reversed(range(len(items))):
        if (item := requirements[place]) is None:
            continue
        line = _line_of(text, str(items[place]))
        if not item.is_tools:
            items[place] = item.ours
            notes.append(MigrationNote(file, line, LOCKS))
        if item.is_tools or "tools" in item.extras and with_tools:
            notes.append(_tools_note(file, line))
        if "tools" in item.extras and with_tools and not has_tools:
            items.insert(place + 1, TOOLS)


def _line_of(text: str, phrase: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if phrase in line), 1)


_WHOLE = PurePosixPath(".")


class ProjectScopes:
    """Maps each dependency file to the folder of the programs that it covers.

    A dependency file covers its own folder, or, if that contains no program (as with `requirements/` and `docker/`), the
    nearest folder above that does.

    Args:
        dependencies: The displayed paths of the dependency files.
        programs: The displayed paths of the programs.
    """

    def __init__(self, dependencies: Iterable[str], programs: Iterable[str]) -> None:
        folders = {folder for name in programs for folder in PurePosixPath(name).parents}
        self._realms: dict[str, PurePosixPath] = {}
        for name in dependencies:
            above = PurePosixPath(name).parents
            self._realms[name] = next((folder for folder in above if folder in folders), _WHOLE)

    def of(self, dependency: str, files: Sequence[str]) -> list[str]:
        """Return the files that a dependency file covers: those in its folder, and those that no folder covers."""
        realm = self._realms[dependency]
        return [name for name in files if self._is_in(name, realm) or not self._has_any(name)]

    def _has_any(self, name: str) -> bool:
        return any(self._is_in(name, realm) for realm in self._realms.values())

    @staticmethod
    def _is_in(name: str, realm: PurePosixPath) -> bool:
        return realm in PurePosixPath(name).parents
