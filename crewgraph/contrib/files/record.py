"""Records of a run's files, with digests so that a resumed run reads the same data, and their contents for models."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crewgraph.contrib.files.file import BINARY, BaseFile, FileChanged, FilePath, FileTooLargeError, FileUrl, ImageFile
from crewgraph.core.files import FileRecord, is_file_mark
from crewgraph.core.messages import Message
from crewgraph.schema import PlainDict

_MAX_RECORDED_SIZE = 20_000_000
"""Maximum size in bytes of a file without a path, which the run's record contains."""

_CHUNK_SIZE = 1 << 20


def record_files(files: Mapping[str, BaseFile]) -> dict[str, FileRecord]:
    """Read files and return their records: path and digest of local files, the contents of others.

    Raises:
        FileTooLargeError: If a file without a path is too large for the run's record.
        OSError: If a file cannot be read.
    """
    return {name: _file_record(name, file) for name, file in files.items()}


def _file_record(name: str, file: BaseFile) -> FileRecord:
    source = file.source
    record = FileRecord(filename=file.filename or name, type=file.content_type, size=0, digest="", mode=file.mode)
    if isinstance(source, FileUrl):
        record["url"] = source.url
        if record["type"] == BINARY and isinstance(file, ImageFile):
            record["type"] = "image/*"
    elif isinstance(source, FilePath):
        record["size"], record["digest"] = _size_and_digest(source.path)
        record["path"] = str(source.path.absolute())
    else:
        data = file.read()
        if len(data) > _MAX_RECORDED_SIZE:
            raise FileTooLargeError(
                f"the file `{name}` has {len(data) / 1e6:.1f} MB; without a path, at most {_MAX_RECORDED_SIZE / 1e6:g} MB fit "
                "into the record of the run. Write it to disk, and pass its path."
            )
        record["size"], record["digest"] = len(data), hashlib.sha256(data).hexdigest()
        record["data"] = base64.b64encode(data).decode()
    return record


def _size_and_digest(path: Path) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_SIZE):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def content_of(record: FileRecord) -> bytes:
    """Return the contents of a recorded file.

    Raises:
        FileChanged: If the file no longer exists, or has changed since it was recorded.
    """
    name = record["filename"]
    if "data" in record:
        return base64.b64decode(record["data"])
    if "path" not in record:
        raise FileChanged(f"the file `{name}` is a URL, which crewgraph does not fetch")
    try:
        data = Path(record["path"]).read_bytes()
    except OSError as error:
        raise FileChanged(
            f"the file `{name}` of this run, `{record['path']}`, can no longer be read: {error.strerror or error}. Restore it "
            "and resume."
        ) from error
    if hashlib.sha256(data).hexdigest() != record["digest"]:
        raise FileChanged(
            f"the file `{name}` of this run, `{record['path']}`, has changed since the run started. Restore it and resume, "
            "or start a new run with the changed file."
        )
    return data


def expand(messages: Sequence[Message]) -> Sequence[Message]:
    """Replace the file marks in messages by the files' contents, as OpenAI content blocks.

    Raises:
        FileChanged: If a file no longer exists, or has changed since it was recorded.
    """
    return [_expand_message(message) for message in messages]


def _expand_message(message: Message) -> Message:
    parts = _parts(message)
    if not any(map(is_file_mark, parts)):
        return message
    expanded = message.copy()
    expanded["content"] = [_block(part["name"], part["file"]) if is_file_mark(part) else part for part in parts]
    return expanded


def _parts(message: Message) -> Sequence[Any]:
    content = message["content"]
    return content if isinstance(content, list) else ()


def _block(name: str, record: FileRecord) -> PlainDict:
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
