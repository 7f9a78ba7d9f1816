"""Dependency tables of Poetry and Pipenv, and the Python versions that a project declares."""

import re
import tomllib
from collections.abc import Callable, Iterator

from crewgraph_compat.moving.dependencies.requirements import LOCKS, OURS, TOOLS, pipfile_lines, poetry_lines
from crewgraph_compat.moving.rewriting.imports import TOOLS_NOTE
from crewgraph_compat.moving.rewriting.program import UnreadableSource
from crewgraph_compat.moving.rewriting.tree import MigrationNote

__all__ = ["LOWEST", "python_version_notes", "raised_python_bound", "rewrite_pipfile", "rewrite_poetry"]


LOWEST = 11
"""crewgraph needs Python 3.11."""

_RANGE = re.compile(r"^\s*(?P<sign>>=|\^)\s*(?P<version>3\.(?P<minor>\d+)(?:\.\d+)?)(?P<rest>\s*(?:,.*)?)$")
_FIRST = re.compile(r"(?P<sign>>=|<=|==|~=|[\^~<>])?\s*3\.(?P<minor>\d+)")
_LAST = re.compile(r"<(?P<is_with>=?)\s*3\.(?P<minor>\d+)")


def raised_python_bound(said: str, file: str, line: int) -> tuple[str, list[MigrationNote]]:
    """A range of Pythons with its lower bound raised where that leaves something, and what is told of it."""
    if not _is_too_old(said):
        return said, []
    form = _RANGE.match(said)
    if form is None or _ends_before(form["rest"]):
        return said, python_version_notes(said, file, line)
    raised = f"{said[: form.start('version')]}3.{LOWEST}{form['rest']}"
    return raised, [
        MigrationNote(file, line, f"crewgraph needs Python 3.{LOWEST} or newer: the lower bound is raised.")
    ]


def python_version_notes(said: str, file: str, line: int) -> list[MigrationNote]:
    """What is told of a range of Pythons that begins below crewgraph's; nothing where it does not."""
    if not _is_too_old(said):
        return []
    return [
        MigrationNote(
            file, line, f"crewgraph needs Python 3.{LOWEST} or newer, and `{said.strip()}` allows older ones."
        )
    ]


def _is_too_old(said: str) -> bool:
    first = _FIRST.search(said)
    return first is not None and first["sign"] not in ("<", "<=") and int(first["minor"]) < LOWEST


def _ends_before(rest: str) -> bool:
    last = _LAST.search(rest)
    return last is not None and int(last["minor"]) < LOWEST + (not last["is_with"])


_OF_CREWAI = re.compile(
    r"\b(?:version|extras|git|url|path|file|branch|tag|ref|rev|subdirectory|develop|editable|source|index|"
    r"""allow-prereleases)\s*=\s*(?:\[[^\]]*\]|"[^"]*"|'[^']*'|true|false)\s*,?\s*"""
)
"""What an entry says of the package that is not so of another one; markers, `python` and `optional` stay."""

_OWN_TABLE = re.compile(r"""^\s*\[[^\]]*(?:dependencies|packages)\.["']?crewai["']?\s*\]""")


def rewrite_pipfile(text: str, file: str, *, with_tools: bool) -> tuple[str, list[MigrationNote]]:
    """A Pipfile that asks for crewgraph where it asked for crewai.

    Raises:
        Unreadable: it is no TOML, or would be none.
    """
    _loaded(text)
    notes: list[MigrationNote] = []
    done = _rewrite(text, file, notes, pipfile_lines, with_tools=with_tools)
    for number, line in enumerate(text.splitlines(), 1):
        if form := re.match(r"""\s*python_(?:full_)?version\s*=\s*["']([^"']+)""", line):
            notes += python_version_notes(form[1], file, number)
    _loaded(done)
    return done, notes


def _loaded(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableSource(f"it cannot be read as TOML ({error}), and stays as it is") from None


def rewrite_poetry(text: str, file: str, notes: list[MigrationNote], *, with_tools: bool) -> str:
    """Poetry's tables of a pyproject.toml."""
    return _rewrite(text, file, notes, poetry_lines, with_tools=with_tools)


_Lines = Callable[[str], Iterator[tuple[int, re.Match[str]]]]


def _rewrite(text: str, file: str, notes: list[MigrationNote], found: _Lines, *, with_tools: bool) -> str:
    lines = text.splitlines(keepends=True)
    forms = list(found(text))
    has_tools = any(form["name"] == TOOLS for _, form in forms)
    for number, form in forms:
        line = lines[number - 1]
        end = line[len(line.rstrip("\r\n")) :]
        if form["name"] == "python":
            now, told = _python(form["value"], file, number)
            lines[number - 1] = f"{form['start']}python{form['mid']}{now}{form['end']}{end}"
            notes += told
        elif form["name"] == TOOLS:
            notes.append(MigrationNote(file, number, TOOLS_NOTE))
        elif form["value"].count("[") != form["value"].count("]"):
            notes.append(
                MigrationNote(
                    file, number, "this dependency on crewai is written over several lines; it stays.", left=True
                )
            )
        else:
            lines[number - 1] = f"{form['start']}crewgraph{form['mid']}{_entry(form['value'])}{form['end']}{end}"
            notes.append(MigrationNote(file, number, LOCKS))
            if re.search(r"""["']tools["']""", form["value"]) and with_tools and not has_tools:
                notes.append(MigrationNote(file, number, TOOLS_NOTE))
                lines[number - 1] = lines[number - 1].rstrip("\r\n") + (end or "\n") + f'{TOOLS} = "*"{end}'
    for number, line in enumerate(lines, 1):
        if _OWN_TABLE.match(line):
            notes.append(
                MigrationNote(file, number, f"this table asks for crewai, and stays: write `{OURS}` in its place.")
            )
    return "".join(lines)


def _python(value: str, file: str, number: int) -> tuple[str, list[MigrationNote]]:
    if value[:1] not in "\"'":
        return value, []
    now, told = raised_python_bound(value[1:-1], file, number)
    return f"{value[0]}{now}{value[-1]}", told


def _entry(value: str) -> str:
    """A version, or a table that keeps what it says beside of where the package is from."""
    version = f'"{OURS.removeprefix("crewgraph")}"'
    if not value.startswith("{"):
        return version
    inner = _OF_CREWAI.sub("", value).strip("{} ").rstrip(", ")
    return f"{{version = {version}, {inner}}}" if inner else version
