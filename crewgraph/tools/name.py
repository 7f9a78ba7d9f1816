"""The names models call tools by."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import TypeVar

__all__ = ["chosen", "model_name"]

_T = TypeVar("_T")
_LIMIT = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def model_name(title: str) -> str:
    """A tool's name as every provider takes it: 1 to 64 of a-z, A-Z, 0-9, `_` and `-`.

    Accents are taken off. Where letters of other scripts are lost, or the end is cut off, a few digits made
    from the whole title keep different titles apart; they are the same in every process.
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", title) if not unicodedata.combining(c))
    name = _OTHER.sub("_", plain).strip("_")
    is_whole = not any(c.isalnum() and not c.isascii() for c in plain) and 0 < len(name) <= _LIMIT
    if is_whole:
        return name
    digits = hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{name[: _LIMIT - 9].rstrip('_') or 'tool'}_{digits}"


def chosen(written: str, tools: Mapping[str, _T]) -> _T | None:
    """The tool a model means by what it wrote: its name, or the same in other letters, spaces or quotes.

    Args:
        written: What stands where a tool's name should.
        tools: Tools by model name.
    """
    if (exact := tools.get(written)) is not None:
        return exact
    name = model_name(written.strip().strip("`'\"*").strip())
    if (same := tools.get(name)) is not None:
        return same
    alike = [tool for other, tool in tools.items() if _loose(other) == _loose(name)]
    return alike[0] if len(alike) == 1 else None


def _loose(name: str) -> str:
    return name.casefold().replace("-", "_").replace("_", "")
