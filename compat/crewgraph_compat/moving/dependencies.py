"""What projects depend on: pyproject.toml, requirements files, setup.cfg."""

import re
import tomllib
from collections.abc import Callable
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError

from crewgraph_compat.moving.reading import Note
from crewgraph_compat.moving.requirement import OURS, TOOLS, requirement, requirement_lists
from crewgraph_compat.moving.rewrite_imports import TOOLS_NOTE
from crewgraph_compat.moving.rewriting import Unreadable

__all__ = ["rewrite_pyproject", "rewrite_requirements", "rewrite_setup_cfg"]

_LINE = re.compile(r"^(?P<start>\s*)(?P<said>[^#\s][^#]*?)(?P<end>\s*(?:#.*)?)$")
_SECTION = re.compile(r"^\s*\[+\s*([^\]]+?)\s*\]+")
_POETRY = re.compile(r"^tool\.poetry\.(?:dev-)?(?:group\.[^.]+\.)?dependencies$|^tool\.poetry\.dev-dependencies$")
_POETRY_LINE = re.compile(r"""^(?P<start>\s*["']?)crewai(?P<mid>["']?\s*=\s*)(?P<value>.+?)(?P<end>\s*(?:\#.*)?)$""")
_LOCKS = "Lock files are made anew by their own tools (`uv lock`, `poetry lock`)."


def rewrite_requirements(text: str, file: str, *, with_tools: bool) -> tuple[str, list[Note]]:
    """A requirements file that asks for crewgraph where it asked for crewai."""
    return _by_line(text, file, lambda _: True, with_tools=with_tools)


def rewrite_setup_cfg(text: str, file: str, *, with_tools: bool) -> tuple[str, list[Note]]:
    """A setup.cfg that asks for crewgraph where it asked for crewai, in its lists of requirements."""
    inside = _requiring_lines(text)
    return _by_line(text, file, inside.__contains__, with_tools=with_tools)


def _requiring_lines(text: str) -> set[int]:
    """The lines of lists of requirements."""
    found: set[int] = set()
    section, listing = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if head := _SECTION.match(line):
            section, listing = head[1], False
        elif line[:1].strip():
            key = line.partition("=")[0].strip()
            listing = section == "options.extras_require" or (section == "options" and key.endswith("_requires"))
        elif listing and line.strip():
            found.add(number)
    return found


def _by_line(text: str, file: str, is_asked: Callable[[int], bool], *, with_tools: bool) -> tuple[str, list[Note]]:
    lines, notes = text.splitlines(keepends=True), list[Note]()
    has_tools = any((found := requirement(line)) is not None and found.is_tools for line in lines)
    for number, line in enumerate(lines, 1):
        bare = line.rstrip("\r\n")
        form = _LINE.match(bare)
        asked = requirement(form["said"]) if form is not None and is_asked(number) else None
        if form is None or asked is None:
            continue
        if asked.is_tools:
            notes.append(_tools_note(file, number))
            continue
        if bare.endswith("\\"):
            notes.append(Note(file, number, "this requirement goes on below; it stays.", left=True))
            continue
        end = line[len(bare) :]
        lines[number - 1] = f"{form['start']}{asked.ours}{form['end']}{end}"
        if "tools" in asked.extras and with_tools:
            notes.append(_tools_note(file, number))
            if not has_tools:
                lines[number - 1] = lines[number - 1].rstrip("\r\n") + (end or "\n") + f"{form['start']}{TOOLS}{end}"
    return "".join(lines), notes


def _tools_note(file: str, number: int) -> Note:
    return Note(file, number, TOOLS_NOTE)


def rewrite_pyproject(text: str, file: str, *, with_tools: bool) -> tuple[str, list[Note]]:
    """A pyproject.toml that asks for crewgraph where it asked for crewai: of PEP 621, groups, uv, Poetry.

    Raises:
        Unreadable: it is no TOML, or would be none.
    """
    try:
        data = tomllib.loads(text)
        document = tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, TOMLKitError) as error:
        raise Unreadable(f"it cannot be read as TOML ({error})") from None
    notes: list[Note] = []
    for listed in requirement_lists(document):
        _rewrite_list(listed, text, file, notes, with_tools=with_tools)
    done = _rewrite_poetry(tomlkit.dumps(document) if notes else text, data, file, notes, with_tools=with_tools)
    if "crewai" in data.get("tool", {}):
        told = "`[tool.crewai]` is read by CrewAI's command alone; crewgraph's reads `target` of `[tool.crewgraph]`."
        notes.append(Note(file, _line_of(text, "[tool.crewai]"), told))
    try:
        tomllib.loads(done)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"it would be no TOML any more ({error}); it stays as it is") from None
    return done, sorted(set(notes))


def _rewrite_list(listed: Any, text: str, file: str, notes: list[Note], *, with_tools: bool) -> None:
    if not isinstance(listed, list):
        return
    items = cast("list[Any]", listed)
    asked = [requirement(str(one)) if isinstance(one, str) else None for one in items]
    has_tools = any(one is not None and one.is_tools for one in asked)
    for place in reversed(range(len(items))):
        if (one := asked[place]) is None:
            continue
        line = _line_of(text, str(items[place]))
        if not one.is_tools:
            items[place] = one.ours
            notes.append(Note(file, line, _LOCKS))
        if one.is_tools or "tools" in one.extras and with_tools:
            notes.append(_tools_note(file, line))
        if "tools" in one.extras and with_tools and not has_tools:
            items.insert(place + 1, TOOLS)


def _line_of(text: str, said: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if said in line), 1)


def _rewrite_poetry(text: str, data: dict[str, Any], file: str, notes: list[Note], *, with_tools: bool) -> str:
    """Poetry's tables, line by line: TOML has no way to rename a key in its place."""
    if "poetry" not in data.get("tool", {}):
        return text
    lines, section = text.splitlines(keepends=True), ""
    has_tools = re.search(r"""^\s*["']?crewai-tools["']?\s*=""", text, re.MULTILINE) is not None
    for number, line in enumerate(lines, 1):
        if head := _SECTION.match(line):
            section = head[1].replace('"', "")
            continue
        bare = line.rstrip("\r\n")
        form = _POETRY_LINE.match(bare) if _POETRY.match(section) else None
        if form is None:
            continue
        if form["value"].count("[") != form["value"].count("]"):
            notes.append(
                Note(file, number, "this dependency on crewai is written over several lines; it stays.", left=True)
            )
            continue
        end = line[len(bare) :]
        lines[number - 1] = f"{form['start']}crewgraph{form['mid']}{_poetry_value(form['value'])}{form['end']}{end}"
        notes.append(Note(file, number, _LOCKS))
        if re.search(r"""["']tools["']""", form["value"]) and with_tools:
            notes.append(_tools_note(file, number))
            if not has_tools:
                lines[number - 1] = lines[number - 1].rstrip("\r\n") + (end or "\n") + f'{TOOLS} = "*"{end}'
    return "".join(lines)


def _poetry_value(value: str) -> str:
    """A version, or a table that keeps what it says beside version and extras."""
    version = f'"{OURS.removeprefix("crewgraph")}"'
    if not value.startswith("{"):
        return version
    rest = re.sub(r"""\b(?:extras\s*=\s*\[[^\]]*\]|version\s*=\s*(?:"[^"]*"|'[^']*'))\s*,?\s*""", "", value)
    inner = rest.strip("{} ").rstrip(", ")
    return f"{{version = {version}, {inner}}}" if inner else version
