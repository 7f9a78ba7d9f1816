"""Replaces files atomically, creates files that only their owner can read, and makes paths absolute."""

import errno
import os
import shutil
import stat
from pathlib import Path

_MAX_NAME = 240  # bytes of a name that its temporary file bears: names have at most 255

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

    A file that exists keeps its permissions, and a symbolic link its target. Text is written as UTF-8. What cannot be
    replaced is written to: devices, pipes, a file in a folder in which no other can be made, and a file that is mounted.

    Args:
        path: the file; its folder exists.
        data: the new content.
        mode: the permissions of a file that does not exist yet, less the process's umask.

    Raises:
        OSError: it cannot be written; the old file is unchanged, and the error names it.
    """
    given = Path(path)
    content = data.encode() if isinstance(data, str) else data
    try:
        if not given.exists():
            _replace(given.resolve(), content, mode)
            return
        if given.is_file():
            os.close(os.open(given, os.O_WRONLY))  # what must not be written must not be replaced either
            if os.access(given.resolve().parent, os.W_OK):
                _replace(given.resolve(), content, stat.S_IMODE(given.stat().st_mode), exactly=True)
                return
        given.write_bytes(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(given)) from error


def _replace(target: Path, content: bytes, mode: int, *, exactly: bool = False) -> None:
    name = os.fsdecode(os.fsencode(target.name)[:_MAX_NAME])
    temporary = target.with_name(f".{name}.{os.urandom(4).hex()}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if exactly:  # whatever the umask
            temporary.chmod(mode)
        try:
            temporary.replace(target)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            shutil.copyfile(temporary, target)  # a file that is mounted into a container
    finally:  # also after Ctrl-C: no temporary file is left
        temporary.unlink(missing_ok=True)
