"""JSON with comments and trailing commas."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from crewgraph.errors import DefinitionError
from crewgraph.schema import PlainDict, is_object

__all__ = ["read_jsonc", "strip_jsonc_comments"]

_STRING = r'"(?>(?:\\.|[^"\\])*)(?:"|\\?\Z)'
"""A string, or the rest of the text if it is never closed: read once."""

_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|(?P<open>\Z))", re.DOTALL)
_COMMA = re.compile(rf"({_STRING})|(?P<open>,(?!\s*+[\]}}]))|,")
_VISIBLE = re.compile(r"[^\n]")


def strip_jsonc_comments(text: str) -> str:
    """Return JSON without comments and trailing commas, keeping every line and column in place."""
    for pattern in (_COMMENT, _COMMA):
        text = pattern.sub(_blank, text)
    return text


def _blank(match: re.Match[str]) -> str:
    """Return blanks for a comment or a trailing comma; other matches unchanged."""
    is_kept = match[1] is not None or match["open"] is not None
    return match[0] if is_kept else _VISIBLE.sub(" ", match[0])


def read_jsonc(path: Path, label: str) -> PlainDict:
    """Read the object in a JSON file.

    Args:
        path: The file, in UTF-8.
        label: Its name in error messages.

    Raises:
        FileNotFoundError: If there is no such file.
        DefinitionError: If it is not JSON, repeats a key, or holds something other than an object.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data: object = json.loads(strip_jsonc_comments(text), object_pairs_hook=_unique)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {label}") from None
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{label}: the file is not UTF-8; save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise DefinitionError(f"{label}:{error.lineno}:{error.colno}: invalid JSON: {error.msg}") from error
    except _DuplicateKey as error:
        raise DefinitionError(f"{label}: `{error}` occurs twice in one object; keep one of them") from None
    if not is_object(data):
        raise DefinitionError(f"{label}: the file must hold one object, `{{...}}`")
    return data


class _DuplicateKey(Exception):
    """An object repeats a key."""


def _unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, value in pairs:
        if key in values:
            raise _DuplicateKey(key)
        values[key] = value
    return values
