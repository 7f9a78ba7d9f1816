"""How a run keeps the files it was given, and how they are read in it: by digest, so that a resumed run sees the same."""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

from crewgraph.files.errors import FileChanged, FileTooLargeError
from crewgraph.files.file import BaseFile, ImageFile
from crewgraph.files.kind import BINARY
from crewgraph.files.source import FilePath, FileUrl

__all__ = ["FILES", "FileRecord", "content_of", "files_in", "recorded"]

FILES = "input_files"
"""Where a run's inputs hold its files."""

_LARGEST_KEPT = 20_000_000
"""Bytes of a file without a path, which the record of the run has to hold."""

_PIECE = 1 << 20


class FileRecord(TypedDict):
    """A file in a run, as plain data."""

    filename: str
    type: str
    """Its content type."""

    size: int
    """In bytes; 0 where it is behind an address."""

    digest: str
    """SHA-256 of its content, in hexadecimal; empty where it is behind an address."""

    mode: str
    path: NotRequired[str]
    """Where it is; absolute."""

    data: NotRequired[str]
    """Its content in base64, where it has no path."""

    url: NotRequired[str]
    """Where the provider fetches it."""


def recorded(files: Mapping[str, BaseFile]) -> dict[str, FileRecord]:
    """Files as a run keeps them: those on disk by path and digest, others whole. Reads them.

    Raises:
        FileTooLargeError: one without a path is too large for the record of the run.
        OSError: one cannot be read.
    """
    return {name: _recorded(name, file) for name, file in files.items()}


def _recorded(name: str, file: BaseFile) -> FileRecord:
    source = file.source
    made = FileRecord(filename=file.filename or name, type=file.content_type, size=0, digest="", mode=file.mode)
    if isinstance(source, FileUrl):
        made["url"] = source.url
        if made["type"] == BINARY and isinstance(file, ImageFile):
            made["type"] = "image/*"
    elif isinstance(source, FilePath):
        made["size"], made["digest"] = _of_path(source.path)
        made["path"] = str(source.path.absolute())
    else:
        data = file.read()
        if len(data) > _LARGEST_KEPT:
            raise FileTooLargeError(
                f"the file `{name}` has {len(data) / 1e6:.1f} MB, and one without a path may have {_LARGEST_KEPT / 1e6:g} MB: "
                "the record of the run holds it. Write it to disk, and give its path.",
                name,
                len(data),
                _LARGEST_KEPT,
            )
        made["size"], made["digest"] = len(data), hashlib.sha256(data).hexdigest()
        made["data"] = base64.b64encode(data).decode()
    return made


def _of_path(path: Path) -> tuple[int, str]:
    found, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
            size += len(piece)
    return size, found.hexdigest()


def content_of(record: FileRecord) -> bytes:
    """What is in a file, as it was when the run was given it.

    Raises:
        FileChanged: it is gone, or is another one now.
    """
    name = record["filename"]
    if "data" in record:
        return base64.b64decode(record["data"])
    if "path" not in record:
        raise FileChanged(f"the file `{name}` is behind an address, and is not fetched here", name)
    try:
        data = Path(record["path"]).read_bytes()
    except OSError as error:
        raise FileChanged(
            f"the file `{name}` of this run, `{record['path']}`, cannot be read any more: {error.strerror or error}. Put it "
            "back, and resume.",
            name,
        ) from error
    if hashlib.sha256(data).hexdigest() != record["digest"]:
        raise FileChanged(
            f"the file `{name}` of this run, `{record['path']}`, is not what it was when the run was given it. Put that one "
            "back and resume, or begin a new run with this one.",
            name,
        )
    return data


def files_in(inputs: Mapping[str, Any]) -> dict[str, FileRecord]:
    """The files among a run's inputs; none where something else has their name."""
    found: Any = inputs.get(FILES)
    if not isinstance(found, Mapping):
        return {}
    records = cast("Mapping[str, Any]", found)
    if not all(_is_record(one) for one in records.values()):
        return {}
    return {name: cast("FileRecord", one) for name, one in records.items()}


def _is_record(one: Any) -> bool:
    return isinstance(one, Mapping) and "digest" in one and any(key in one for key in ("path", "data", "url"))
