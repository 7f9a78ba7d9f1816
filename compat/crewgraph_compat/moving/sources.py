"""The files of a project that are looked at."""

import io
import os
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path

from crewgraph.errors import CrewgraphError

__all__ = ["Kind", "NoProject", "Source", "python_text", "sources"]

_LEFT_OUT = frozenset(
    {"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv", "__pypackages__", "htmlcov"}
)
"""Folders that hold nothing of a project's own; hidden ones and virtual environments are left out, too."""

_LARGEST = 5_000_000
"""Bytes; larger files are data."""


class NoProject(CrewgraphError, ValueError):
    """The path that was given leads to no file or folder that can be looked at."""


class Kind(StrEnum):
    """What a file is."""

    python = "python"
    notebook = "notebook"
    yaml = "yaml"
    json = "json"
    pyproject = "pyproject"
    requirements = "requirements"
    setup_cfg = "setup_cfg"
    script = "script"


_KINDS: tuple[tuple[str, Kind], ...] = (
    ("pyproject.toml", Kind.pyproject),
    ("setup.cfg", Kind.setup_cfg),
    ("*requirements*.txt", Kind.requirements),
    ("constraints*.txt", Kind.requirements),
    ("requirements/*.txt", Kind.requirements),
    ("*.py", Kind.python),
    ("*.pyi", Kind.python),
    ("*.ipynb", Kind.notebook),
    ("*.yaml", Kind.yaml),
    ("*.yml", Kind.yaml),
    ("*.json", Kind.json),
    ("*.jsonc", Kind.json),
    ("makefile", Kind.script),
    ("justfile", Kind.script),
    ("dockerfile*", Kind.script),
    ("procfile", Kind.script),
    ("*.sh", Kind.script),
    ("*.md", Kind.script),
    ("*.rst", Kind.script),
)


@dataclass(frozen=True)
class Source:
    """A file, as it was read."""

    path: Path
    shown: str
    """Its path below the project, with slashes."""

    kind: Kind
    data: bytes

    @property
    def text(self) -> str:
        """What it says, with its line ends.

        Raises:
            UnicodeDecodeError: it is not in the encoding that it should be in.
            SyntaxError: it is Python, and names an encoding that there is not.
        """
        if self.kind is Kind.python:
            return python_text(self.data)
        return self.data.decode("utf-8-sig")


def python_text(data: bytes) -> str:
    """What a Python file says, without its byte order mark.

    Raises:
        UnicodeDecodeError: it is not in its encoding.
        SyntaxError: it names an encoding that there is not.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def sources(path: Path) -> Iterator[Source]:
    """The files below a path that may say something, in order; the one file where it is one.

    Raises:
        NoProject: there is nothing at the path, or it cannot be read.
    """
    if path.is_file():
        kind = _kind(path.name, path.parent.name)
        if kind is None:
            raise NoProject(f"`{path}` is no file that says something of a program; give a folder, or a Python file.")
        yield Source(path, path.name, kind, path.read_bytes())
    elif path.is_dir():
        for file, kind in sorted(_files(path)):
            yield Source(file, file.relative_to(path).as_posix(), kind, file.read_bytes())
    else:
        raise NoProject(f"there is no `{path}`; give the folder of a project, or a file.")


def _files(folder: Path) -> Iterator[tuple[Path, Kind]]:
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = [name for name in folders if _is_own(here / name)]
        for name in names:
            kind = _kind(name, here.name)
            if kind is not None and (here / name).is_file() and (here / name).stat().st_size <= _LARGEST:
                yield here / name, kind


def _is_own(folder: Path) -> bool:
    return not (folder.name.startswith(".") or folder.name in _LEFT_OUT or (folder / "pyvenv.cfg").exists())


def _kind(name: str, folder: str) -> Kind | None:
    lower = name.lower()
    spelled = f"{folder.lower()}/{lower}"
    return next((kind for pattern, kind in _KINDS if fnmatch(spelled if "/" in pattern else lower, pattern)), None)
