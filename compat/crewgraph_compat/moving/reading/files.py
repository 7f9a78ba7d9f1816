"""Collect and parse the files of a project, and explain why one cannot be read."""

import ast
import codecs
import io
import json
import os
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from crewgraph.errors import CrewgraphError

_LEFT_OUT = frozenset(
    {"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv", "__pypackages__", "htmlcov"}
)
"""Folders without sources of the project; hidden folders and virtual environments are skipped, too."""

_VISIBLE = frozenset({".circleci", ".devcontainer", ".github"})
"""Hidden folders that are read nevertheless, as they configure how a program is installed and run."""

_LARGEST = 5_000_000
"""Size limit in bytes; larger files are taken for data. Notebooks are exempt, as they contain images."""


class NoProject(CrewgraphError, ValueError):
    """The path is not a file or folder that can be examined."""


class FileKind(StrEnum):
    """The kinds of files."""

    python = "python"
    notebook = "notebook"
    yaml = "yaml"
    json = "json"
    pyproject = "pyproject"
    requirements = "requirements"
    setup_cfg = "setup_cfg"
    setup_py = "setup_py"
    pipfile = "pipfile"
    environment = "environment"
    script = "script"


_KINDS: tuple[tuple[str, FileKind], ...] = (
    ("pyproject.toml", FileKind.pyproject),
    ("setup.cfg", FileKind.setup_cfg),
    ("setup.py", FileKind.setup_py),
    ("pipfile", FileKind.pipfile),
    ("environment*.y*ml", FileKind.environment),
    ("*requirements*.txt", FileKind.requirements),
    ("*requirements*.in", FileKind.requirements),
    ("constraints*.txt", FileKind.requirements),
    ("requirements/*.txt", FileKind.requirements),
    ("requirements/*.in", FileKind.requirements),
    ("*.py", FileKind.python),
    ("*.pyi", FileKind.python),
    ("*.ipynb", FileKind.notebook),
    ("*.yaml", FileKind.yaml),
    ("*.yml", FileKind.yaml),
    ("*.json", FileKind.json),
    ("*.jsonc", FileKind.json),
    ("makefile", FileKind.script),
    ("justfile", FileKind.script),
    ("dockerfile*", FileKind.script),
    ("procfile", FileKind.script),
    ("tox.ini", FileKind.script),
    ("*.sh", FileKind.script),
    ("*.md", FileKind.script),
    ("*.rst", FileKind.script),
)


@dataclass(frozen=True)
class SourceFile:
    """The content of a file as it was read."""

    path: Path
    shown: str
    """Its path relative to the project, with forward slashes."""

    kind: FileKind
    data: bytes
    fault: OSError | None = None
    """The error raised on reading it, if any."""

    is_outside: bool = False
    """Whether it is a link to a file outside the project."""

    @property
    def text(self) -> str:
        """The decoded content, with its original line endings.

        Raises:
            UnicodeDecodeError: The content is not in the expected encoding.
            SyntaxError: A Python file declares an unknown encoding.
        """
        if self.kind is FileKind.python:
            return python_text(self.data)
        return self.data.decode("utf-8-sig")


def python_text(data: bytes) -> str:
    """Decode a Python file and strip its byte order mark.

    Raises:
        UnicodeDecodeError: The content is not in its declared encoding.
        SyntaxError: The declared encoding is unknown.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        data.decode("utf-8")  # the default of files that declare none
        raise
    return data.decode(encoding)


def project_files(path: Path) -> Iterator[SourceFile]:
    """Return the files below a path that may use CrewAI, in order; if the path is a file, only that one.

    Raises:
        NoProject: There is nothing at the path, or its file type is not supported.
    """
    if path.is_file():
        kind = _kind(path.name, path.parent.name)
        if kind is None:
            raise NoProject(f"`{path}` is not a supported file type; pass a project folder or a Python file.")
        yield _read(path, path.name, kind)
    elif path.is_dir():
        yield from _of_folder(path)
    else:
        raise NoProject(f"`{path}` does not exist; pass a project folder or a file.")


def _of_folder(folder: Path) -> Iterator[SourceFile]:
    files, full = sorted(_files(folder)), folder.resolve()
    seen = {file.resolve() for file, _ in files if not file.is_symlink()}
    for file, kind in files:
        is_outside = False
        if file.is_symlink():
            place = file.resolve()
            if place in seen:
                continue
            seen.add(place)
            is_outside = not place.is_relative_to(full)
        yield _read(file, file.relative_to(folder).as_posix(), kind, is_outside=is_outside)


def _read(path: Path, shown: str, kind: FileKind, *, is_outside: bool = False) -> SourceFile:
    try:
        return SourceFile(path, shown, kind, path.read_bytes(), is_outside=is_outside)
    except OSError as error:
        return SourceFile(path, shown, kind, b"", error)


def _files(folder: Path) -> Iterator[tuple[Path, FileKind]]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if _is_own(here / name)]
        for name in names:
            kind = _kind(name, here.name)
            if kind is not None and (here / name).is_file() and _is_read(here / name, kind):
                yield here / name, kind


def _is_read(file: Path, kind: FileKind) -> bool:
    return kind is FileKind.notebook or file.stat().st_size <= _LARGEST


def _is_own(folder: Path) -> bool:
    hidden = folder.name.startswith(".") and folder.name not in _VISIBLE
    return not (hidden or folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").exists())


def _kind(name: str, folder: str) -> FileKind | None:
    lower = name.lower()
    spelled = f"{folder.lower()}/{lower}"
    return next((kind for pattern, kind in _KINDS if fnmatch(spelled if "/" in pattern else lower, pattern)), None)


TOO_DEEP = "it is nested too deeply to be read"
"""Why a file is not read whose expressions or statements have more levels than Python's parser, or we, can take."""


def parse_python(text: str | bytes) -> ast.Module:
    r"""Parse a program; Python's syntax warnings about it, such as for `"\:"`, are suppressed.

    Raises:
        SyntaxError: The text is not valid Python, or nested more deeply than Python can read.
        ValueError: The text contains null bytes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (MemoryError, RecursionError):  # Python's own limits
            raise SyntaxError(TOO_DEEP) from None
    if _is_too_deep(tree):
        raise SyntaxError(TOO_DEEP)
    return tree


_MAX_DEPTH = 3000
"""Levels of a syntax tree. Python 3.14 reads trees of any depth; from about 10,000 levels, libcst ends the process."""


def _is_too_deep(tree: ast.AST) -> bool:
    level = [tree]
    for _ in range(_MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


_ENCODING = (
    "it is not in {encoding}: save it as UTF-8, or declare its encoding in the first line: `# -*- coding: latin-1 -*-`"
)


def read_error(error: Exception, data: bytes = b"") -> tuple[int, str]:
    """Return the line (from 1) of a read error, and the reason.

    Args:
        error: The error.
        data: The content of the file.
    """
    if is_utf16(data):
        return 1, _ENCODING.format(encoding="UTF-8")
    if isinstance(error, SyntaxError):
        try:
            python_text(data)
        except UnicodeDecodeError as undecodable:  # Python's own words for it differ among its releases
            error = undecodable
        except SyntaxError:  # of an unknown encoding, as the error says
            pass
    if isinstance(error, UnicodeDecodeError):
        return data[: error.start].count(b"\n") + 1, _ENCODING.format(encoding=error.encoding.upper())
    if isinstance(error, RecursionError):
        return 1, TOO_DEEP
    if isinstance(error, SyntaxError):
        return error.lineno or 1, error.msg
    if isinstance(error, json.JSONDecodeError):
        return error.lineno, f"the file is not valid JSON: {error.msg}"
    line: Any = getattr(error, "lineno", None)
    return line or 1, str(error) or type(error).__name__


def is_utf16(data: bytes) -> bool:
    """Whether a file is in UTF-16, which Python does not accept for source files."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def syntax_error(data: bytes) -> SyntaxError | None:
    """Return Python's own error for a source file, or None if it is valid."""
    try:
        parse_python(data)
    except SyntaxError as error:
        return error
    except ValueError as error:  # null bytes
        return SyntaxError(str(error))
    return None
