"""The files of a project: which are read, how they are parsed, and why one cannot be."""

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

__all__ = [
    "FileKind",
    "NoProject",
    "SourceFile",
    "is_utf16",
    "parse_python",
    "project_files",
    "python_text",
    "read_error",
    "syntax_error",
]


_LEFT_OUT = frozenset(
    {"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv", "__pypackages__", "htmlcov"}
)
"""Folders that hold nothing of a project's own; hidden ones and virtual environments are left out, too."""

_TOLD = frozenset({".circleci", ".devcontainer", ".github"})
"""Hidden folders that are looked at all the same: they say how a program is installed and run."""

_LARGEST = 5_000_000
"""Bytes; larger files are data, but notebooks, which hold pictures."""


class NoProject(CrewgraphError, ValueError):
    """The path that was given leads to no file or folder that can be looked at."""


class FileKind(StrEnum):
    """What a file is."""

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
    """A file, as it was read."""

    path: Path
    shown: str
    """Its path below the project, with slashes."""

    kind: FileKind
    data: bytes
    fault: OSError | None = None
    """Why it could not be read."""

    is_outside: bool = False
    """Whether it is a link to a file that is none of the project's."""

    @property
    def text(self) -> str:
        """What it says, with its line ends.

        Raises:
            UnicodeDecodeError: it is not in the encoding that it should be in.
            SyntaxError: it is Python, and names an encoding that there is not.
        """
        if self.kind is FileKind.python:
            return python_text(self.data)
        return self.data.decode("utf-8-sig")


def python_text(data: bytes) -> str:
    """What a Python file says, without its byte order mark.

    Raises:
        UnicodeDecodeError: it is not in its encoding.
        SyntaxError: it names an encoding that there is not.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError:
        data.decode("utf-8")  # that of a file which names none
        raise
    return data.decode(encoding)


def project_files(path: Path) -> Iterator[SourceFile]:
    """The files below a path that may say something, in order; the one file where it is one.

    Raises:
        NoProject: there is nothing at the path, or it cannot be read.
    """
    if path.is_file():
        kind = _kind(path.name, path.parent.name)
        if kind is None:
            raise NoProject(f"`{path}` is no file that says something of a program; give a folder, or a Python file.")
        yield _read(path, path.name, kind)
    elif path.is_dir():
        yield from _of_folder(path)
    else:
        raise NoProject(f"there is no `{path}`; give the folder of a project, or a file.")


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
    hidden = folder.name.startswith(".") and folder.name not in _TOLD
    return not (hidden or folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").exists())


def _kind(name: str, folder: str) -> FileKind | None:
    lower = name.lower()
    spelled = f"{folder.lower()}/{lower}"
    return next((kind for pattern, kind in _KINDS if fnmatch(spelled if "/" in pattern else lower, pattern)), None)


def parse_python(text: str | bytes) -> ast.Module:
    r"""The tree of a text; what Python finds questionable in it, as `"\:"`, is its author's, and not told.

    Raises:
        SyntaxError: it is no Python.
        ValueError: it has bytes that no text has.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


_ENCODING = (
    "it is not in {encoding}: save it as UTF-8, or let its first line name its encoding, `# -*- coding: latin-1 -*-`"
)


def read_error(error: Exception, data: bytes = b"") -> tuple[int, str]:
    """The line, from 1, and the reason.

    Args:
        error: what was raised.
        data: the file.
    """
    if is_utf16(data):
        return 1, _ENCODING.format(encoding="UTF-8")
    if isinstance(error, UnicodeDecodeError):
        return data[: error.start].count(b"\n") + 1, _ENCODING.format(encoding=error.encoding.upper())
    if isinstance(error, SyntaxError):
        return error.lineno or 1, error.msg
    if isinstance(error, json.JSONDecodeError):
        return error.lineno, f"it is no JSON: {error.msg}"
    line: Any = getattr(error, "lineno", None)
    return line or 1, str(error) or type(error).__name__


def is_utf16(data: bytes) -> bool:
    """Whether a file is in an encoding in which Python's are not read."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def syntax_error(data: bytes) -> SyntaxError | None:
    """What Python itself says of a file; None where it takes it."""
    try:
        parse_python(data)
    except SyntaxError as error:
        return error
    except ValueError as error:  # bytes that are no text
        return SyntaxError(str(error))
    return None
