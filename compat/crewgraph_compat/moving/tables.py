"""Tables of dependencies, of Poetry and Pipenv: a key for each package. TOML has no way to rename a key in its place."""

import re
import tomllib
from collections.abc import Callable, Iterator

from crewgraph_compat.moving.places import pipfile_lines, poetry_lines
from crewgraph_compat.moving.python_bound import bound, too_old
from crewgraph_compat.moving.reading import Note
from crewgraph_compat.moving.requirement import LOCKS, OURS, TOOLS
from crewgraph_compat.moving.rewrite_imports import TOOLS_NOTE
from crewgraph_compat.moving.rewriting import Unreadable

__all__ = ["rewrite_pipfile", "rewrite_poetry"]

_OF_CREWAI = re.compile(
    r"\b(?:version|extras|git|url|path|file|branch|tag|ref|rev|subdirectory|develop|editable|source|index|"
    r"""allow-prereleases)\s*=\s*(?:\[[^\]]*\]|"[^"]*"|'[^']*'|true|false)\s*,?\s*"""
)
"""What an entry says of the package that is not so of another one; markers, `python` and `optional` stay."""

_OWN_TABLE = re.compile(r"""^\s*\[[^\]]*(?:dependencies|packages)\.["']?crewai["']?\s*\]""")


def rewrite_pipfile(text: str, file: str, *, with_tools: bool) -> tuple[str, list[Note]]:
    """A Pipfile that asks for crewgraph where it asked for crewai.

    Raises:
        Unreadable: it is no TOML, or would be none.
    """
    _loaded(text)
    notes: list[Note] = []
    done = _rewrite(text, file, notes, pipfile_lines, with_tools=with_tools)
    for number, line in enumerate(text.splitlines(), 1):
        if form := re.match(r"""\s*python_(?:full_)?version\s*=\s*["']([^"']+)""", line):
            notes += too_old(form[1], file, number)
    _loaded(done)
    return done, notes


def _loaded(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"it cannot be read as TOML ({error}), and stays as it is") from None


def rewrite_poetry(text: str, file: str, notes: list[Note], *, with_tools: bool) -> str:
    """Poetry's tables of a pyproject.toml."""
    return _rewrite(text, file, notes, poetry_lines, with_tools=with_tools)


_Lines = Callable[[str], Iterator[tuple[int, re.Match[str]]]]


def _rewrite(text: str, file: str, notes: list[Note], found: _Lines, *, with_tools: bool) -> str:
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
            notes.append(Note(file, number, TOOLS_NOTE))
        elif form["value"].count("[") != form["value"].count("]"):
            notes.append(
                Note(file, number, "this dependency on crewai is written over several lines; it stays.", left=True)
            )
        else:
            lines[number - 1] = f"{form['start']}crewgraph{form['mid']}{_entry(form['value'])}{form['end']}{end}"
            notes.append(Note(file, number, LOCKS))
            if re.search(r"""["']tools["']""", form["value"]) and with_tools and not has_tools:
                notes.append(Note(file, number, TOOLS_NOTE))
                lines[number - 1] = lines[number - 1].rstrip("\r\n") + (end or "\n") + f'{TOOLS} = "*"{end}'
    for number, line in enumerate(lines, 1):
        if _OWN_TABLE.match(line):
            notes.append(Note(file, number, f"this table asks for crewai, and stays: write `{OURS}` in its place."))
    return "".join(lines)


def _python(value: str, file: str, number: int) -> tuple[str, list[Note]]:
    if value[:1] not in "\"'":
        return value, []
    now, told = bound(value[1:-1], file, number)
    return f"{value[0]}{now}{value[-1]}", told


def _entry(value: str) -> str:
    """A version, or a table that keeps what it says beside of where the package is from."""
    version = f'"{OURS.removeprefix("crewgraph")}"'
    if not value.startswith("{"):
        return version
    inner = _OF_CREWAI.sub("", value).strip("{} ").rstrip(", ")
    return f"{{version = {version}, {inner}}}" if inner else version
