"""Plan the rewriting of a project from crewai to crewgraph; the plan can be shown as a diff before it is written."""

import difflib
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from crewgraph.disk import replace_file
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

_COMMAND = re.compile(
    r"""(?<![\w.@/-])(?:crewai["']?[\s,]+["']?(?:run|install|create|train|test|replay|chat|flow|reset-memories|log-tasks-outputs|update|version|deploy|login)\b)"""
)
_PIP = re.compile(r"(?<![\w-])pip3?\s+install\b|(?<![\w-])uv\s+(?:add|pip)\b|(?<![\w-])poetry\s+add\b")
_NEXT_COMMAND = re.compile(r"(&&|\|\||;)")
_IMPORTED = re.compile(r"^[ \t]*+(?:from|import)[ \t]++crewai\b", re.MULTILINE)
_IN_PIP = re.compile(r"(?<=[\s\"'])crewai(?:\[[\w,\s-]*\])?(?:[=<>!~]=?[\w.*,=<>!~]+)?(?=[\s\"']|$)")


@dataclass(frozen=True)
class RewrittenFile:
    """A file with its text before and after the migration."""

    path: Path
    shown: str
    before: bytes
    after: bytes
    encoding: str = "utf-8"

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        lines: list[str] = []
        old, new = (side.decode(self.encoding).splitlines(keepends=True) for side in (self.before, self.after))
        for line in difflib.unified_diff(old, new, f"a/{self.shown}", f"b/{self.shown}"):
            lines.append(line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n")
        return "".join(lines)

    def write(self) -> None:
        """Replace the file atomically.

        Raises:
            OSError: The file cannot be written; its old content is intact.
        """
        replace_file(self.path, self.after)


@dataclass
class Migration:
    """The planned changes to a project, and notes on what has to be done by hand."""

    files: list[RewrittenFile] = field(default_factory=list[RewrittenFile])
    notes: list[MigrationNote] = field(default_factory=list[MigrationNote])
    broken: list[MigrationNote] = field(default_factory=list[MigrationNote])
    """Files that could not be read and are left unchanged."""

    def diff(self) -> str:
        """Return all changes as one unified diff."""
        return "".join(file.diff() for file in self.files)

    def write(self) -> None:
        """Write all files, each of them atomically.

        Raises:
            OSError: A file cannot be written; the files before it have been.
        """
        for file in self.files:
            file.write()


def plan_migration(path: Path) -> Migration:
    """Return the migration of the project or file at a path; nothing is written.

    Raises:
        NoProject: There is no readable project or file at the path.
    """
    result = Migration()
    project = [source for source in project_files(path) if _is_relevant(source)]
    classes = _classes(project)
    for source in project:
        if source.kind in (FileKind.python, FileKind.notebook):
            _take(result, source, partial(_REWRITERS[source.kind], classes=classes))
    _take_others(result, project)
    result.notes.sort()
    return result


def _take_others(migration: Migration, project: Sequence[SourceFile]) -> None:
    """Handle files that are not Python: rewrite dependency files, and report commands found in the others.

    A dependency file is rewritten only if none of the programs it covers still needs crewai.
    """
    dependency_files = [item for item in project if item.kind in _DEPENDENCIES and b"crewai" in item.data.lower()]
    scopes = ProjectScopes(
        (item.shown for item in project if item.kind in _DEPENDENCIES),
        (item.shown for item in project if item.kind in _REWRITERS),
    )
    left = [note for note in migration.notes if note.left]
    tools = [note.file for note in migration.notes if note.text.endswith(TOOLS_NOTE)]
    for source in project:
        if source.kind in _REPORTED:
            _take(migration, source, _commands)
    for source in dependency_files:
        blocking = scopes.of(source.shown, [note.file for note in left])
        if blocking:
            migration.notes.append(_still_needed(source, [note for note in left if note.file in blocking]))
        else:
            _take(migration, source, partial(_dependencies, with_tools=bool(scopes.of(source.shown, tools))))


def _is_relevant(source: SourceFile) -> bool:
    """Whether a file may need rewriting or a note; large data files are not kept in memory."""
    return source.kind in (*_REWRITERS, *_DEPENDENCIES) or source.fault is not None or b"crewai" in source.data.lower()


def _classes(project: Sequence[SourceFile]) -> dict[str, OwnClass]:
    """Return the project's classes that derive from CrewAI's; unreadable files are reported later."""
    results: dict[str, OwnClass] = {}
    for source in project:
        if source.kind is FileKind.python and b"crewai" in source.data:
            with suppress(SyntaxError, ValueError, RecursionError):
                tree = parse_python(source.text)
                merge_classes(results, classes_with_returns(tree, imports_of(tree)).items())
    return informative_classes(results)


def _still_needed(source: SourceFile, needed: Sequence[MigrationNote]) -> MigrationNote:
    where = f"`{needed[0].file}:{needed[0].line}`"
    return MigrationNote(
        source.shown, 1, f"left unchanged because the project still imports crewai ({where}); add `{OURS}` to it."
    )


def _take(migration: Migration, source: SourceFile, rewriter: "_Rewriter") -> None:
    if source.fault is not None:
        migration.broken.append(MigrationNote(source.shown, 1, f"the file cannot be opened: {source.fault.strerror}"))
        return
    try:
        after, notes = rewriter(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        migration.broken.append(MigrationNote(source.shown, *read_error(error, source.data)))
        return
    migration.notes += notes
    if after != source.data and source.is_outside:
        message = (
            f"left unchanged because it links out of the project: migrate `{source.path.resolve()}` in its own project."
        )
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
        MigrationNote(source.shown, 1, f"(cell {cell}) is left unchanged, as it is not valid Python: {why}")
        for cell, why in notebook.unread
    ]
    notes += [note for cell, text in notebook.others for note in _of_magic(source.shown, cell, text)]
    notes += _of_lines(notebook, source.shown)
    notebook.masked.update({mask: _pip_line(line) for mask, line in notebook.masked.items()})
    text = notebook.with_program(after.decode())
    if not notebook.is_kept:
        notes.append(MigrationNote(source.shown, 1, "the notebook's JSON is reformatted."))
    return source.data if text is None else text.encode(), notes


def _of_magic(file: str, cell: int, text: str) -> Iterator[MigrationNote]:
    """Yield the notes on a cell that is the body of a cell magic."""
    if _IMPORTED.search(text):
        magic = text.split(maxsplit=1)[0]
        message = f"(cell {cell}) imports crewai and is left unchanged, as it is the body of `{magic}`."
        yield MigrationNote(file, 1, message, left=True)
    for note in _commands_in(text, file):
        yield MigrationNote(file, note.line, f"(cell {cell}) {note.text}")


def _of_lines(notebook: Notebook, file: str) -> Iterator[MigrationNote]:
    """Yield the notes on line magics in Python cells; installation commands in them are rewritten."""
    for number, masked_line in enumerate(notebook.program.splitlines(), 1):
        if (line := notebook.masked.get(masked_line.strip())) and _COMMAND.search(line):
            yield _in_cell(MigrationNote(file, number, next(_commands_in(line, file)).text), notebook)


def _in_cell(note: MigrationNote, notebook: Notebook) -> MigrationNote:
    cell, line = notebook.cell_of(note.line)
    return MigrationNote(note.file, line, f"(cell {cell}) {note.text}", note.left)


def _pip_line(line: str) -> str:
    """Replace crewai with crewgraph in the pip commands of a line; its other commands are unchanged."""
    parts = _NEXT_COMMAND.split(line)
    return "".join(_IN_PIP.sub("crewgraph", part) if _PIP.search(part) else part for part in parts)


def _dependencies(source: SourceFile, *, with_tools: bool) -> tuple[bytes, list[MigrationNote]]:
    mark = b"\xef\xbb\xbf" if source.data.startswith(b"\xef\xbb\xbf") else b""
    text, notes = _DEPENDENCIES[source.kind](source.text, source.shown, with_tools=with_tools)
    return mark + text.encode(), notes


def _commands(source: SourceFile) -> tuple[bytes, list[MigrationNote]]:
    """Report CrewAI commands and installations in files that are not rewritten."""
    return source.data, list(_commands_in(source.text, source.shown))


def _commands_in(text: str, file: str) -> Iterator[MigrationNote]:
    """Yield a note on the first CrewAI command and one on the first installation, each with the number of others."""
    lines = list(_logical_lines(text))
    commands = [(number, result[0]) for number, line in lines if (result := _COMMAND.search(line)) is not None]
    installed = [number for number, line in lines if _PIP.search(line) and _IN_PIP.search(line)]
    if commands:
        number, command = commands[0][0], re.sub(r"""["',\s]+""", " ", commands[0][1])
        message = f"`{command}` is a CrewAI command{_more(commands)}; `crewgraph --help` lists crewgraph's commands."
        yield MigrationNote(file, number, message)
    if installed:
        yield MigrationNote(file, installed[0], f"crewai is installed here{_more(installed)}; write `{OURS}`.")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text, backslash continuations joined, each with the number of its first line."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        first, full = number, lines[number]
        while full.endswith("\\") and number + 1 < len(lines):
            number += 1
            full = f"{full[:-1]} {lines[number].strip()}"
        number += 1
        yield first + 1, full


def _more(matches: Sequence[object]) -> str:
    return f" (and {len(matches) - 1} more)" if len(matches) > 1 else ""


_Rewriter = Callable[[SourceFile], tuple[bytes, list[MigrationNote]]]

_REPORTED = (FileKind.script, FileKind.yaml, FileKind.json)
"""Files that are not rewritten but may contain commands that install or run the program."""

_REWRITERS = {FileKind.python: _python, FileKind.notebook: _notebook}

_DEPENDENCIES = {
    FileKind.pyproject: rewrite_pyproject,
    FileKind.requirements: rewrite_requirements,
    FileKind.setup_cfg: rewrite_setup_cfg,
    FileKind.setup_py: rewrite_setup_py,
    FileKind.pipfile: rewrite_pipfile,
    FileKind.environment: rewrite_environment,
}
