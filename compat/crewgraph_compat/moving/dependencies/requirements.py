"""Find requirements on CrewAI in dependency files and derive their replacements."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crewgraph import __version__
from crewgraph_compat.moving.reading.files import parse_python

OURS = f"crewgraph>={__version__}"
"""The requirement that replaces one on CrewAI."""

TOOLS = "crewai-tools"
"""The tools package, still needed where the extra `tools` was requested."""

LOCKS = "Regenerate lock files with their own tools (`uv lock`, `poetry lock`)."
"""The note added where a lock file may name crewai."""

_FORM = re.compile(
    r"^\s*+(crewai|crewai[-_.]tools)\s*+(?:\[([^\]]*+)\]\s*+)?(\(?[=<>!~^@][^;#]*+|)(;[^#]*)?$", re.IGNORECASE
)


@dataclass(frozen=True)
class Requirement:
    """A requirement on CrewAI or on its tools package."""

    name: str
    extras: tuple[str, ...]
    version: str
    marker: str
    """The environment marker with its semicolon, or an empty string."""

    @property
    def is_tools(self) -> bool:
        """Whether the requirement is on the tools package."""
        return self.name != "crewai"

    @property
    def ours(self) -> str:
        """The requirement on crewgraph that replaces it."""
        return f"{OURS}{' ' if self.marker else ''}{self.marker}"


def parse_requirement(text: str) -> Requirement | None:
    """Parse a requirement; None if it is not on CrewAI."""
    form = _FORM.match(text)
    if form is None:
        return None
    name = form[1].lower().replace("_", "-").replace(".", "-")
    extras = tuple(item.strip().lower() for item in (form[2] or "").split(",") if item.strip())
    return Requirement(name, extras, form[3].strip(), (form[4] or "").strip())


def requirement_lists(document: Any) -> Iterator[Any]:
    """Yield the requirement lists of a pyproject.toml: PEP 621, dependency groups, uv, Hatch and PDM."""
    project, tool = document.get("project", {}), document.get("tool", {})
    uv = tool.get("uv", {})
    yield from (project["dependencies"],) if "dependencies" in project else ()
    yield from project.get("optional-dependencies", {}).values()
    yield from document.get("dependency-groups", {}).values()
    yield from (
        uv[name] for name in ("dev-dependencies", "constraint-dependencies", "override-dependencies") if name in uv
    )
    yield from (environment.get("dependencies", []) for environment in tool.get("hatch", {}).get("envs", {}).values())
    yield from tool.get("pdm", {}).get("dev-dependencies", {}).values()


_LINE = re.compile(r"^\s*+(?P<text>[^#\s]++(?>(?:\s++[^#\s]++)*))\s*+(?:#.*)?$")
_SECTION = re.compile(r"^\s*+\[++\s*+([^\]\s]++(?>(?:\s++[^\]\s]++)*))\s*+\]")
_KEY = re.compile(r"^(?P<key>[\w.-]+)\s*[=:](?P<value>.*)$")
_POETRY = re.compile(r"^tool\.poetry\.(?:dev-)?(?:group\.[^.]+\.)?dependencies$|^tool\.poetry\.dev-dependencies$")
_NO_PACKAGES = frozenset({"pipenv", "requires", "scripts", "source"})
"""The tables of a Pipfile that do not list packages."""

_TABLE_LINE = re.compile(
    r"""^(?P<start>\s*+["']?)(?P<name>crewai|crewai-tools|python)(?P<mid>["']?\s*+=\s*+)"""
    r"""(?P<value>[^\s#]++(?>(?:\s++[^\s#]++)*))(?P<end>\s*+(?:\#.*)?)$"""
)
_PIP = re.compile(r"^(?P<indent>\s*)-\s*pip\s*:\s*(?:#.*)?$")
_ITEM = re.compile(
    r"""^(?P<indent>\s*+)-\s++(?P<quote>["']?)\s*+(?P<text>[^"'#\s]++(?>(?:\s++[^"'#\s]++)*))\s*+(?P=quote)\s*+(?:#.*)?$"""
)


@dataclass(frozen=True)
class RequirementPlace:
    """A requirement (not necessarily on CrewAI) with its position in a file."""

    line: int
    """The line number, from 1."""

    start: int
    end: int
    text: str
    is_alone: bool = True
    """Whether another requirement can be added on a line of its own below it."""

    is_of_pip: bool = True
    """Whether pip installs it."""


def requirements_places(text: str) -> Iterator[RequirementPlace]:
    """Yield the requirements of a requirements file."""
    for number, line in enumerate(text.splitlines(), 1):
        if form := _LINE.match(line):
            yield RequirementPlace(number, form.start("text"), form.end("text"), form["text"])


def setup_cfg_places(text: str) -> Iterator[RequirementPlace]:
    """Yield the requirements of a setup.cfg, on the line of their key or below it."""
    section, is_listing = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if head := _SECTION.match(line):
            section, is_listing = head[1], False
        elif key := _KEY.match(line):
            is_listing = section == "options.extras_require" or (
                section == "options" and key["key"].endswith("_requires")
            )
            if is_listing and (form := _LINE.match(key["value"])):
                first = key.start("value")
                yield RequirementPlace(
                    number, first + form.start("text"), first + form.end("text"), form["text"], is_alone=False
                )
        elif is_listing and (form := _LINE.match(line)):
            yield RequirementPlace(number, form.start("text"), form.end("text"), form["text"])


def environment_places(text: str) -> Iterator[RequirementPlace]:
    """Yield the conda and pip packages of a conda environment."""
    below: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if head := _PIP.match(line):
            below = len(head["indent"])
        elif form := _ITEM.match(line):
            if below is not None and len(form["indent"]) <= below:
                below = None
            alone = not form["quote"]
            yield RequirementPlace(
                number, form.start("text"), form.end("text"), form["text"], is_alone=alone, is_of_pip=below is not None
            )


def setup_py_places(text: str) -> Iterator[RequirementPlace]:
    """Yield the strings in the lists of a setup.py.

    Raises:
        SyntaxError: The text is not valid Python.
    """
    lines = text.splitlines()
    for node in ast.walk(parse_python(text)):
        for item in node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else ():
            if isinstance(item, ast.Constant) and isinstance(item.value, str) and item.end_lineno == item.lineno:
                line = lines[item.lineno - 1]
                start = len(line.encode()[: item.col_offset].decode()) + 1
                end = start + len(item.value)
                if line[start:end] == item.value and line[start - 1 : start] == line[end : end + 1]:
                    yield RequirementPlace(item.lineno, start, end, item.value, is_alone=False)


def poetry_lines(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the lines of Poetry's tables that name CrewAI or Python, numbered from 1."""
    for number, section, form in _table_lines(text):
        if _POETRY.match(section):
            yield number, form


def pipfile_lines(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield the lines of a Pipfile that name CrewAI, numbered from 1."""
    for number, section, form in _table_lines(text):
        if section not in _NO_PACKAGES:
            yield number, form


def _table_lines(text: str) -> Iterator[tuple[int, str, re.Match[str]]]:
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := _SECTION.match(line):
            section = head[1].replace('"', "")
        elif form := _TABLE_LINE.match(line):
            yield number, section, form
