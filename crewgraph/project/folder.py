"""Where a project's files lie: beside the file its class is written in."""

import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["folder_of", "folders", "shown"]


def folder_of(cls: type, file: str | None = None) -> Path:
    """The folder of the file a class is written in; the working directory where there is none (a notebook, `exec`).

    Args:
        cls: the class.
        file: the file of the code that decorates it, for modules that Python does not list.
    """
    module = sys.modules.get(cls.__module__)
    written = file if module is None else getattr(module, "__file__", None)
    path = Path(written).absolute() if written else None
    return path.parent if path is not None and path.exists() else Path.cwd()


def folders(cls: type, attribute: str) -> Iterator[Path]:
    """The folders of a class and of those above it, up to the one that holds an attribute."""
    for one in cls.__mro__:
        if "base_directory" in vars(one):
            yield Path(vars(one)["base_directory"])
        if attribute in vars(one):
            return


def shown(path: Path) -> str:
    """How messages name a file: from the working directory, where it lies below."""
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)
