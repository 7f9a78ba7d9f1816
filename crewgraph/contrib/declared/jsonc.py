"""JSON with comments and trailing commas."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from crewgraph.errors import DefinitionError

__all__ = ["read_jsonc", "strip_jsonc_comments"]

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])")


def strip_jsonc_comments(text: str) -> str:
    """JSON without comments and trailing commas; every line and column stays where it is."""
    for pattern in (_COMMENT, _COMMA):
        text = pattern.sub(lambda found: found[1] or re.sub(r"[^\n]", " ", found[0]), text)
    return text


def read_jsonc(path: Path, shown: str) -> dict[str, Any]:
    """The object in a file.

    Args:
        path: where it is; read as UTF-8.
        shown: how messages name it.

    Raises:
        FileNotFoundError: there is no such file.
        DefinitionError: it is no JSON, has a key twice, or holds no object.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        data: object = json.loads(strip_jsonc_comments(text), object_pairs_hook=_unique)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {shown}") from None
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{shown}: the file is not UTF-8; save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise DefinitionError(f"{shown}:{error.lineno}:{error.colno}: this is no JSON: {error.msg}") from error
    except _Twice as error:
        raise DefinitionError(f"{shown}: `{error}` stands twice in one object; keep one of them") from None
    if not isinstance(data, dict):
        raise DefinitionError(f"{shown}: the file has to hold one object, `{{...}}`")
    return cast("dict[str, Any]", data)


class _Twice(Exception):
    """A key that stands twice."""


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise _Twice(key)
        made[key] = value
    return made
