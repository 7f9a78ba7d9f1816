"""Replaces files atomically, creates files that only their owner can read, and makes paths absolute."""

import os
import stat
from pathlib import Path

__all__ = ["PRIVATE", "absolute_path", "private_file", "replace_file"]

PRIVATE = 0o600
"""The permissions of a file that only its owner can read and write."""


def absolute_path(path: str | Path) -> str:
    """Return the absolute form of a path.

    Raises:
        FileNotFoundError: it is relative to the current directory, which was deleted.
    """
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"`{path}` cannot be found: the current directory of the process was deleted. Give an absolute path, or "
            "change to another directory."
        ) from None


def private_file(path: str | Path) -> None:
    """Create a file readable only by its owner (0600), with missing folders (0700), unless it exists.

    Raises:
        OSError: the file or a folder cannot be created.
    """
    file = Path(path)
    for folder in reversed([parent for parent in (file.parent, *file.parent.parents) if not parent.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not file.exists():
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, PRIVATE))


def replace_file(path: str | Path, data: str | bytes, *, mode: int = 0o666) -> None:
    """Replace a file atomically, or create it: after an error or a crash it holds its old content or the new one.

    A file that exists keeps its permissions, and a symbolic link its target. Text is written as UTF-8. Devices and pipes
    are not replaced but written to.

    Args:
        path: the file; its folder exists.
        data: the new content.
        mode: the permissions of a file that does not exist yet, less the process's umask.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
    """
    target = Path(path).resolve()
    content = data.encode() if isinstance(data, str) else data
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:  # also after Ctrl-C: no temporary file is left
        temporary.unlink(missing_ok=True)
        raise
