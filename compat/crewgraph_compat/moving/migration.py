"""A project rewritten from crewai to crewgraph: what is to change, told before it is done."""

import difflib
import io
import os
import re
import shutil
import tempfile
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from crewgraph_compat.moving.dependencies.files import (
    ProjectScopes,
    rewrite_environment,
    rewrite_pyproject,
    rewrite_requirements,
    rewrite_setup_cfg,
    rewrite_setup_py,
)
from crewgraph_compat.moving.dependencies.requirements import OURS
from crewgraph_compat.moving.dependencies.tables import rewrite_pipfile
from crewgraph_compat.moving.reading.files import FileKind, SourceFile, parse_python, project_files, read_error
from crewgraph_compat.moving.reading.notebooks import Notebook, read_notebook
from crewgraph_compat.moving.reading.python_uses import imports_of
from crewgraph_compat.moving.reading.returned import classes_with_returns, informative_classes, merge_classes
from crewgraph_compat.moving.reading.types import OwnClass
from crewgraph_compat.moving.rewriting.imports import TOOLS_NOTE
from crewgraph_compat.moving.rewriting.program import rewrite_program
from crewgraph_compat.moving.rewriting.tree import MigrationNote

__all__ = ["Migration", "RewrittenFile", "plan_migration"]

_COMMAND = re.compile(
    r"""(?<![\w.@/-])(?:crewai["']?[\s,]+["']?(?:run|install|create|train|test|replay|chat|flow|reset-memories|log-tasks-outputs|update|version|deploy|login)\b)"""
)
_PIP = re.compile(r"(?<![\w-])pip3?\s+install\b|(?<![\w-])uv\s+(?:add|pip)\b|(?<![\w-])poetry\s+add\b")
_NEXT_COMMAND = re.compile(r"(&&|\|\||;)")
_IMPORTED = re.compile(r"^\s*(?:from|import)\s+crewai\b", re.MULTILINE)
_IN_PIP = re.compile(r"(?<=[\s\"'])crewai(?:\[[\w,\s-]*\])?(?:[=<>!~]=?[\w.*,=<>!~]+)?(?=[\s\"']|$)")


@dataclass(frozen=True)
class RewrittenFile:
    """A file that is to change."""

    path: Path
    shown: str
    before: bytes
    after: bytes
    encoding: str = "utf-8"

    def diff(self) -> str:
        """What changes, as a unified diff."""
        values: list[str] = []
        old, new = (side.decode(self.encoding).splitlines(keepends=True) for side in (self.before, self.after))
        for line in difflib.unified_diff(old, new, f"a/{self.shown}", f"b/{self.shown}"):
            values.append(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n")
        return "".join(values)

    def write(self) -> None:
        """Put the new text in the place of the old one, or nothing.

        Raises:
            OSError: it cannot be written; the old text is there.
        """
        place = self.path.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.after)
            shutil.copymode(place, name)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@dataclass
class Migration:
    """What is to change in a project, and what is left for people."""

    files: list[RewrittenFile] = field(default_factory=list[RewrittenFile])
    notes: list[MigrationNote] = field(default_factory=list[MigrationNote])
    broken: list[MigrationNote] = field(default_factory=list[MigrationNote])
    """Files that could not be read, and stay."""

    def diff(self) -> str:
        """All changes as one unified diff."""
        return "".join(file.diff() for file in self.files)

    def write(self) -> None:
        """Write all files, each whole.

        Raises:
            OSError: one cannot be written; those before it are.
        """
        for file in self.files:
            file.write()


def plan_migration(path: Path) -> Migration:
    """What is to change below a path; nothing is written.

    Raises:
        NoProject: there is nothing at the path.
    """
    result = Migration()
    project = [source for source in project_files(path) if _is_looked_at(source)]
    classes = _classes(project)
    for source in project:
        if source.kind in (FileKind.python, FileKind.notebook):
            _take(result, source, partial(_REWRITERS[source.kind], classes=classes))
    _take_others(result, project)
    result.notes.sort()
    return result


def _take_others(migration: Migration, project: Sequence[SourceFile]) -> None:
    """What is not Python: files of dependencies, by what the programs need that they speak of, and what is told alone."""
    asking = [item for item in project if item.kind in _DEPENDENCIES and b"crewai" in item.data.lower()]
    realms = ProjectScopes(
        (item.shown for item in project if item.kind in _DEPENDENCIES),
        (item.shown for item in project if item.kind in _REWRITERS),
    )
    left = [note for note in migration.notes if note.left]
    tools = [note.file for note in migration.notes if note.text.endswith(TOOLS_NOTE)]
    for source in project:
        if source.kind in _TOLD:
            _take(migration, source, _commands)
    for source in asking:
        holding = realms.of(source.shown, [note.file for note in left])
        if holding:
            migration.notes.append(_still_needed(source, [note for note in left if note.file in holding]))
        else:
            _take(migration, source, partial(_dependencies, with_tools=bool(realms.of(source.shown, tools))))


def _is_looked_at(source: SourceFile) -> bool:
    """Whether a file may have something to rewrite or to tell; large ones that hold data are not kept."""
    return source.kind in (*_REWRITERS, *_DEPENDENCIES) or source.fault is not None or b"crewai" in source.data.lower()


def _classes(project: Sequence[SourceFile]) -> dict[str, OwnClass]:
    """The classes of a project that are made of CrewAI's; files that cannot be read are told later."""
    results: dict[str, OwnClass] = {}
    for source in project:
        if source.kind is FileKind.python and b"crewai" in source.data:
            with suppress(SyntaxError, ValueError):
                tree = parse_python(source.text)
                merge_classes(results, classes_with_returns(tree, imports_of(tree)).items())
    return informative_classes(results)


def _still_needed(source: SourceFile, needed: Sequence[MigrationNote]) -> MigrationNote:
    where = f"`{needed[0].file}:{needed[0].line}`"
    return MigrationNote(
        source.shown, 1, f"stays as it is, as the project still imports crewai ({where}); add `{OURS}` to it."
    )


def _take(migration: Migration, source: SourceFile, rewriter: "_Rewriter") -> None:
    if source.fault is not None:
        migration.broken.append(MigrationNote(source.shown, 1, f"it cannot be opened: {source.fault.strerror}"))
        return
    try:
        after, notes = rewriter(source)
    except (SyntaxError, ValueError) as error:
        migration.broken.append(MigrationNote(source.shown, *read_error(error, source.data)))
        return
    migration.notes += notes
    if after != source.data and source.is_outside:
        message = f"is a link out of the project, and stays: migrate `{source.path.resolve()}` where it belongs."
        migration.notes.append(MigrationNote(source.shown, 1, message, left=True))
    elif after != source.data:
        of_python = source.kind in (FileKind.python, FileKind.setup_py)
        encoding = tokenize.detect_encoding(io.BytesIO(after).readline)[0] if of_python else "utf-8"
        migration.files.append(RewrittenFile(source.path, source.shown, source.data, after, encoding))


def _python(source: SourceFile, classes: Mapping[str, OwnClass]) -> tuple[bytes, list[MigrationNote]]:
    return rewrite_program(source.data, source.shown, classes)


def _notebook(source: SourceFile, classes: Mapping[str, OwnClass]) -> tuple[bytes, list[MigrationNote]]:
    notebook = read_notebook(source.text)
    after, result = rewrite_program(notebook.program.encode(), source.shown, classes)
    notes = [_in_cell(item, notebook) for item in result]
    notes += [
        MigrationNote(source.shown, 1, f"(cell {cell}) is no Python, and stays: {why}") for cell, why in notebook.unread
    ]
    notes += [note for cell, text in notebook.others for note in _of_magic(source.shown, cell, text)]
    notes += _of_lines(notebook, source.shown)
    notebook.masked.update({mask: _pip_line(line) for mask, line in notebook.masked.items()})
    text = notebook.with_program(after.decode())
    if not notebook.is_kept:
        notes.append(MigrationNote(source.shown, 1, "the notebook's JSON is laid out anew."))
    return source.data if text is None else text.encode(), notes


def _of_magic(file: str, cell: int, text: str) -> Iterator[MigrationNote]:
    """What is told of a cell that a magic takes whole."""
    if _IMPORTED.search(text):
        magic = text.split(maxsplit=1)[0]
        yield MigrationNote(file, 1, f"(cell {cell}) stays, as `{magic}` takes it whole: it imports crewai.", left=True)
    for note in _commands_in(text, file):
        yield MigrationNote(file, note.line, f"(cell {cell}) {note.text}")


def _of_lines(notebook: Notebook, file: str) -> Iterator[MigrationNote]:
    """What is told of lines of magic in cells of Python; installations in them are rewritten."""
    for number, said in enumerate(notebook.program.splitlines(), 1):
        if (line := notebook.masked.get(said.strip())) and _COMMAND.search(line):
            yield _in_cell(MigrationNote(file, number, next(_commands_in(line, file)).text), notebook)


def _in_cell(note: MigrationNote, notebook: Notebook) -> MigrationNote:
    cell, line = notebook.cell_of(note.line)
    return MigrationNote(note.file, line, f"(cell {cell}) {note.text}", note.left)


def _pip_line(line: str) -> str:
    """A line in which pip is asked for crewgraph; what other commands are told in it stays."""
    parts = _NEXT_COMMAND.split(line)
    return "".join(_IN_PIP.sub("crewgraph", part) if _PIP.search(part) else part for part in parts)


def _dependencies(source: SourceFile, *, with_tools: bool) -> tuple[bytes, list[MigrationNote]]:
    mark = b"\xef\xbb\xbf" if source.data.startswith(b"\xef\xbb\xbf") else b""
    text, notes = _DEPENDENCIES[source.kind](source.text, source.shown, with_tools=with_tools)
    return mark + text.encode(), notes


def _commands(source: SourceFile) -> tuple[bytes, list[MigrationNote]]:
    """Commands of CrewAI, and installations of it, in files that are not rewritten."""
    return source.data, list(_commands_in(source.text, source.shown))


def _commands_in(text: str, file: str) -> Iterator[MigrationNote]:
    """The first command of CrewAI in a text, the first installation of it, and how many there are."""
    lines = list(_logical_lines(text))
    commands = [(number, result[0]) for number, line in lines if (result := _COMMAND.search(line)) is not None]
    installed = [number for number, line in lines if _PIP.search(line) and _IN_PIP.search(line)]
    if commands:
        number, command = commands[0][0], re.sub(r"""["',\s]+""", " ", commands[0][1])
        message = f"`{command}` is a command of CrewAI{_more(commands)}; `crewgraph --help` lists those of crewgraph."
        yield MigrationNote(file, number, message)
    if installed:
        yield MigrationNote(file, installed[0], f"crewai is installed here{_more(installed)}; write `{OURS}`.")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text, each with those that go on from it, and the number of the first."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, full = number, lines[number]
        while full.endswith("\\") and number + 1 < len(lines):
            number += 1
            full = f"{full[:-1]} {lines[number].strip()}"
        number += 1
        yield first + 1, full


def _more(found: Sequence[object]) -> str:
    return f" (and {len(found) - 1} more)" if len(found) > 1 else ""


_Rewriter = Callable[[SourceFile], tuple[bytes, list[MigrationNote]]]

_TOLD = (FileKind.script, FileKind.yaml, FileKind.json)
"""Files that are not rewritten, and may say how a program is installed and run."""

_REWRITERS = {FileKind.python: _python, FileKind.notebook: _notebook}

_DEPENDENCIES = {
    FileKind.pyproject: rewrite_pyproject,
    FileKind.requirements: rewrite_requirements,
    FileKind.setup_cfg: rewrite_setup_cfg,
    FileKind.setup_py: rewrite_setup_py,
    FileKind.pipfile: rewrite_pipfile,
    FileKind.environment: rewrite_environment,
}
