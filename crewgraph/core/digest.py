"""Digests of requests, the same in every process and on every machine."""

import hashlib
import json
from typing import Any

from pydantic import BaseModel

__all__ = ["digest", "encoded"]

_SIZE = 12


def encoded(value: Any) -> bytes:
    """A value as bytes that do not depend on the order of keys or on object addresses."""
    return _encode(value).encode("utf-8", "surrogatepass")


def digest(*parts: Any) -> str:
    """A short name for a request: 24 hexadecimal digits of BLAKE2b."""
    return hashlib.blake2b(encoded(parts), digest_size=_SIZE).hexdigest()


def _stable(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return getattr(value, "__qualname__", None) or type(value).__qualname__


# One encoder for all: `json.dumps` with settings of one's own makes a new one each time.
_encode = json.JSONEncoder(default=_stable, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
