"""Rewrite the dependency tables of Poetry and Pipenv, and the declared Python versions of a project."""

import re
import tomllib
from collections.abc import Callable, Iterator

from crewgraph_compat.moving.dependencies.requirements import LOCKS, OURS, TOOLS, pipfile_lines, poetry_lines
from crewgraph_compat.moving.rewriting.imports import TOOLS_NOTE
from crewgraph_compat.moving.rewriting.program import UnreadableSource
from crewgraph_compat.moving.rewriting.tree import MigrationNote

LOWEST = 11
"""Minor version of the lowest Python 3 that crewgraph supports."""

_RANGE = re.compile(r"^\s*(?P<sign>>=|\^)\s*(?P<version>3\.(?P<minor>\d+)(?:\.\d+)?)(?P<rest>\s*(?:,.*)?)$")
_FIRST = re.compile(r"(?:(?P<sign>>=|<=|==|~=|[\^~<>])\s*+)?3\.(?P<minor>\d+)")
_LAST = re.compile(r"<(?P<is_with>=?)\s*3\.(?P<minor>\d+)")


def raised_python_bound(version_range: str, file: str, line: int) -> tuple[str, list[MigrationNote]]:
    """Return a Python version range with its lower bound raised (if any version remains), and the notes on it."""
    if not _is_too_old(version_range):
        return version_range, []
    form = _RANGE.match(version_range)
    if form is None or _ends_before(form["rest"]):
        return version_range, python_version_notes(version_range, file, line)
    raised = f"{version_range[: form.start('version')]}3.{LOWEST}{form['rest']}"
    return raised, [
        MigrationNote(file, line, f"crewgraph needs Python 3.{LOWEST} or newer: the lower bound was raised.")
    ]


def python_version_notes(version_range: str, file: str, line: int) -> list[MigrationNote]:
    """Return notes on a Python version range that allows versions too old for crewgraph."""
    if not _is_too_old(version_range):
        return []
    return [
        MigrationNote(
            file,
            line,
            f"crewgraph needs Python 3.{LOWEST} or newer, but `{version_range.strip()}` allows older versions.",
        )
    ]


def _is_too_old(version_range: str) -> bool:
    first = _FIRST.search(version_range)
    return first is not None and first["sign"] not in ("<", "<=") and int(first["minor"]) < LOWEST


def _ends_before(rest: str) -> bool:
    last = _LAST.search(rest)
    return last is not None and int(last["minor"]) < LOWEST + (not last["is_with"])


_OF_CREWAI = re.compile(
    r"\b(?:version|extras|git|url|path|file|branch|tag|ref|rev|subdirectory|develop|editable|source|index|"
    r"""allow-prereleases)\s*+=\s*+(?:\[[^\]]*\]|"[^"]*"|'[^']*'|true|false)\s*+,?\s*+"""
)
"""Keys that describe the crewai package itself; markers, `python` and `optional` are kept."""

_OWN_TABLE = re.compile(r"""^\s*\[[^\]]*(?:dependencies|packages)\.["']?crewai["']?\s*\]""")


def rewrite_pipfile(text: str, file: str, *, with_tools: bool) -> tuple[str, list[MigrationNote]]:
    """Replace crewai with crewgraph in a Pipfile.

    Raises:
        UnreadableSource: The text is not valid TOML, or would not be after rewriting.
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
        raise UnreadableSource(f"the file is not valid TOML ({error}) and is left unchanged") from None


def rewrite_poetry(text: str, file: str, notes: list[MigrationNote], *, with_tools: bool) -> str:
    """Rewrite Poetry's tables in a pyproject.toml."""
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
            now, more_notes = _python(form["value"], file, number)
            lines[number - 1] = f"{form['start']}python{form['mid']}{now}{form['end']}{end}"
            notes += more_notes
        elif form["name"] == TOOLS:
            notes.append(MigrationNote(file, number, TOOLS_NOTE))
        elif form["value"].count("[") != form["value"].count("]"):
            notes.append(
                MigrationNote(
                    file, number, "this dependency on crewai spans several lines and is left unchanged.", left=True
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
                MigrationNote(
                    file, number, f"this table requires crewai and is left unchanged: replace it with `{OURS}`."
                )
            )
    return "".join(lines)


def _python(value: str, file: str, number: int) -> tuple[str, list[MigrationNote]]:
    if value[:1] not in "\"'":
        return value, []
    now, notes = raised_python_bound(value[1:-1], file, number)
    return f"{value[0]}{now}{value[-1]}", notes


def _entry(value: str) -> str:
    """Return a version, or a table that keeps everything but the source of the package."""
    version = f'"{OURS.removeprefix("crewgraph")}"'
    if not value.startswith("{"):
        return version
    inner = _OF_CREWAI.sub("", value).strip("{} ").rstrip(", ")
    return f"{{version = {version}, {inner}}}" if inner else version
