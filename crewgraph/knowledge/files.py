"""Files of knowledge: found in their folder, and read."""

from pathlib import Path

from crewgraph.errors import SourceError, SourceNotFound, SourceRefused
from crewgraph.settings import knowledge_dir

__all__ = ["decoded", "found_file", "read_file", "shown"]

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def found_file(given: str | Path, root: str | Path | None = None) -> Path:
    """The file that is meant, as the program may open it.

    Args:
        given: a text is a path in the folder for knowledge; a `Path` is one in the working directory, or in that folder.
        root: the folder for knowledge; `knowledge_dir()` where None.

    Raises:
        SourceNotFound: there is no such file (also FileNotFoundError).
        SourceRefused: it lies outside of the folder, or leads out of it (also PermissionError).
        SourceError: it is no file.
    """
    folder = knowledge_dir() if root is None else Path(root).expanduser()
    places = [folder / given, Path(given)] if isinstance(given, str) else [given, folder / given]
    file = next((place for place in places if _is_there(place)), None)
    if file is None:
        raise SourceNotFound(
            f"there is no file `{places[0]}` for the knowledge source `{given}`. Files of knowledge lie in the folder "
            f"`{folder}`: put it there and name it by its path in that folder, or give the source another `root=`."
        )
    home, target = folder.resolve(), file.resolve()
    if not target.is_relative_to(home):
        raise SourceRefused(
            f"the knowledge source `{given}` is `{target}`, outside of the folder for knowledge, `{home}`. Put the file into "
            "that folder; or, if it is to be read where it is, give the source the folder it lies in (`root=`), or all sources "
            "(CREWGRAPH_KNOWLEDGE_DIR)."
        )
    if not target.is_file():
        raise SourceError(f"the knowledge source `{given}` is a folder, or no file to be read; name a file in it")
    return file


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def shown(file: Path, root: str | Path | None = None) -> str:
    """What a file is called: its path in the folder for knowledge, the same on every machine."""
    folder = knowledge_dir() if root is None else Path(root).expanduser()
    target = file.resolve()
    home = folder.resolve()
    return target.relative_to(home).as_posix() if target.is_relative_to(home) else target.as_posix()


def read_file(file: Path) -> bytes:
    """What is in a file.

    Raises:
        SourceNotFound: it is not there any more.
        SourceError: it cannot be read, or is empty.
    """
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise SourceNotFound(f"the knowledge source `{file}` is not there any more") from error
    except OSError as error:
        raise SourceError(f"the knowledge source `{file}` cannot be read: {error}") from error
    if not data.strip():
        raise SourceError(f"the knowledge source `{file}` is empty; fill it, or leave it out")
    return data


def decoded(data: bytes, name: str, encoding: str | None = None) -> str:
    """Bytes as text: UTF-8, or what a mark at the beginning says.

    Args:
        data: the bytes.
        name: where they are from, for messages.
        encoding: how they are written, where it is known.

    Raises:
        SourceError: they are written otherwise.
    """
    written = encoding or next((one for mark, one in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(written)
    except (UnicodeDecodeError, LookupError) as error:
        raise SourceError(
            f"the knowledge source `{name}` cannot be read as {written}: {error}. Save it as UTF-8, or say how it is written: "
            '`encoding="cp1252"`.'
        ) from error
