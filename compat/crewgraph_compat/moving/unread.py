"""Why a file cannot be read, and at which line: for people."""

import codecs
import json
from typing import Any

from crewgraph_compat.moving.parsing import parsed

__all__ = ["is_utf16", "of_python", "unread"]

_ENCODING = (
    "it is not in {encoding}: save it as UTF-8, or let its first line name its encoding, `# -*- coding: latin-1 -*-`"
)


def unread(error: Exception, data: bytes = b"") -> tuple[int, str]:
    """The line, from 1, and the reason.

    Args:
        error: what was raised.
        data: the file.
    """
    if is_utf16(data):
        return 1, _ENCODING.format(encoding="UTF-8")
    if isinstance(error, UnicodeDecodeError):
        return data[: error.start].count(b"\n") + 1, _ENCODING.format(encoding=error.encoding.upper())
    if isinstance(error, SyntaxError):
        return error.lineno or 1, error.msg
    if isinstance(error, json.JSONDecodeError):
        return error.lineno, f"it is no JSON: {error.msg}"
    line: Any = getattr(error, "lineno", None)
    return line or 1, str(error) or type(error).__name__


def is_utf16(data: bytes) -> bool:
    """Whether a file is in an encoding in which Python's are not read."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def of_python(data: bytes) -> SyntaxError | None:
    """What Python itself says of a file; None where it takes it."""
    try:
        parsed(data)
    except SyntaxError as error:
        return error
    except ValueError as error:  # bytes that are no text
        return SyntaxError(str(error))
    return None
