"""What is in a file: a content type, told by its first bytes where these say so, else by its name."""

import mimetypes
from pathlib import PurePath

__all__ = ["BINARY", "content_type_of", "is_text", "type_by_name"]

BINARY = "application/octet-stream"
"""The content type of what nobody knows."""

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_WITHIN = ((b"RIFF", b"WEBP", "image/webp"), (b"RIFF", b"WAVE", "audio/wav"), (b"RIFF", b"AVI ", "video/x-msvideo"))

_NAMES = {
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".webp": "image/webp",
    ".m4a": "audio/mp4",
}
"""What Python's own table has on some machines only."""

_TEXTS = {"application/json", "application/xml", "application/yaml", "application/toml", "application/javascript"}


def content_type_of(beginning: bytes, name: str | None = None) -> str:
    """The content type of a file.

    Args:
        beginning: its first bytes, some thousands at best.
        name: its name, where it has one.
    """
    for mark, kind in _BEGINNINGS:
        if beginning.startswith(mark):
            return kind
    for mark, then, kind in _WITHIN:
        if beginning[:4] == mark and beginning[8:12] == then:
            return kind
    named = type_by_name(name) if name else None
    if not _reads(beginning):
        # An image, a film or a document says so itself; a name may lie.
        return named if named and not is_text(named) and not named.startswith("image/") else BINARY
    return named if named and (is_text(named) or named == "image/svg+xml") else "text/plain"


def type_by_name(name: str) -> str | None:
    """What a file's name says that it is; None where it says nothing."""
    return _NAMES.get(PurePath(name).suffix.lower()) or mimetypes.guess_type(name)[0]


def is_text(content_type: str) -> bool:
    """Whether a file of this type can be read as text."""
    return content_type.startswith("text/") or content_type in _TEXTS or content_type == "image/svg+xml"


def _reads(beginning: bytes) -> bool:
    if b"\x00" in beginning:
        return False
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(beginning) - 3  # a character cut in two
    return True
