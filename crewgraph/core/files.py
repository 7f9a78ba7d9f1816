"""Files of a run: how its inputs hold them, and the marks that represent them in conversations.

Marks are small and hold the digest of the file, so a conversation can be compared with a recorded one without reading it.
"""

from collections.abc import Mapping
from typing import Final, NotRequired, TypedDict, cast

from crewgraph.schema import PlainMapping

FILES: Final = "input_files"
"""The input under which a run holds its files."""

_MARK = "input_file"


class FileRecord(TypedDict):
    """A file in a run, as plain data."""

    filename: str
    type: str
    """Its content type."""

    size: int
    """In bytes; 0 for a URL."""

    digest: str
    """SHA-256 of its content in hexadecimal; empty for a URL."""

    mode: str
    path: NotRequired[str]
    """Its absolute path."""

    data: NotRequired[str]
    """Its content in base64, if it has no path."""

    url: NotRequired[str]
    """The URL that the provider fetches it from."""


def files_in(inputs: PlainMapping) -> dict[str, FileRecord]:
    """Return the files among a run's inputs by name; empty if the input holds something else."""
    value: object = inputs.get(FILES)
    if value is None or not isinstance(value, Mapping):
        return {}
    records = cast("PlainMapping", value)
    if not all(
        isinstance(record, Mapping) and "digest" in record and any(key in record for key in ("path", "data", "url"))
        for record in records.values()
    ):
        return {}
    return {name: cast("FileRecord", record) for name, record in records.items()}


def mark_of(name: str, record: FileRecord) -> dict[str, object]:
    """Return the content part that represents a file in a conversation."""
    return {"type": _MARK, "name": name, "file": dict(record)}


def is_file_mark(part: object) -> bool:
    """Whether a content part represents a file."""
    return isinstance(part, Mapping) and cast("PlainMapping", part).get("type") == _MARK
