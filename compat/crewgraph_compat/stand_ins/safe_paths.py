"""Paths that stay within a folder."""

from pathlib import Path

__all__ = ["list_files", "safe_path_join", "validate_path_exists"]


def safe_path_join(*parts: str, root: str | Path | None = None) -> str:
    """Join parts to a path.

    Args:
        *parts: the parts.
        root: the folder that it must not lead out of; None for the working directory.

    Raises:
        ValueError: there is nothing to join, or it leads out.
    """
    if not parts or not all(parts):
        raise ValueError("a path needs parts, and none of them may be empty")
    folder = Path(root or ".").resolve()
    path = folder.joinpath(*parts).resolve()
    if not path.is_relative_to(folder):
        raise ValueError(f"`{Path(*parts)}` leads out of `{folder}`. Give a path inside of it.")
    return str(path)


def validate_path_exists(path: str | Path, file_type: str = "file") -> str:
    """The absolute path of what is there.

    Args:
        path: the path.
        file_type: "file" or "directory".

    Raises:
        ValueError: it is not there, or is something else.
    """
    found = Path(path).resolve()
    if not found.exists():
        raise ValueError(f"`{path}` does not exist.")
    if not (found.is_file() if file_type == "file" else found.is_dir()):
        raise ValueError(f"`{path}` is no {file_type}.")
    return str(found)


def list_files(directory: str | Path, pattern: str = "*") -> list[str]:
    """The files of a folder whose names match a pattern, sorted.

    Raises:
        ValueError: there is no such folder.
    """
    folder = Path(validate_path_exists(directory, "directory"))
    return sorted(str(path) for path in folder.glob(pattern) if path.is_file())
