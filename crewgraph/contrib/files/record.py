"""How a run keeps the files it was given: by digest, so that a resumed run reads the same; and their content for models."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crewgraph.contrib.files.file import BaseFile, ImageFile
from crewgraph.contrib.files.source import BINARY, FileChanged, FilePath, FileTooLargeError, FileUrl
from crewgraph.core.files import FileRecord, is_file_mark
from crewgraph.core.messages import Message

__all__ = ["content_of", "expand", "recorded"]

_LARGEST_KEPT = 20_000_000
"""Bytes of a file without a path, which the record of the run has to hold."""

_PIECE = 1 << 20


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


def expand(messages: Sequence[Message]) -> Sequence[Message]:
    """A conversation with the content of its files in the place of their marks, in the form of OpenAI's blocks. Reads them.

    Raises:
        FileChanged: one is gone, or is another one now.
    """
    return [_expanded(message) for message in messages]


def _expanded(message: Message) -> Message:
    parts = _parts(message)
    if not any(map(is_file_mark, parts)):
        return message
    made = message.copy()
    made["content"] = [_block(part["name"], part["file"]) if is_file_mark(part) else part for part in parts]
    return made


def _parts(message: Message) -> Sequence[Any]:
    content = message["content"]
    return content if isinstance(content, list) else ()


def _block(name: str, record: FileRecord) -> dict[str, Any]:
    kind = record["type"]
    if "url" in record:
        return {"type": "image_url", "image_url": {"url": record["url"]}}
    data = content_of(record)
    if kind.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": _data_url(kind, data)}}
    if kind == "application/pdf":
        return {"type": "file", "file": {"filename": record["filename"], "file_data": _data_url(kind, data)}}
    return {"type": "text", "text": f"{name}:\n{data.decode('utf-8', 'replace')}"}


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
