"""Namespaces of stores: whose entries they are, and labels that any text can become."""

import hashlib
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

__all__ = ["label", "labels", "project", "unlabel"]

_ESCAPED = {"%": "%25", ".": "%2E"}
_EMPTY = "%"


def project() -> str:
    """The label that what a project keeps stands below: the name of the working directory, with a digest of its whole path.

    So two projects that share a storage folder never see each other's entries.
    """
    return _of(os.getcwd())


@lru_cache(8)
def _of(directory: str) -> str:
    folder = Path(directory).resolve()
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{label(folder.name or 'root')}-{digest}"


def label(text: str) -> str:
    """A text as one label of a namespace; different texts become different labels.

    LangGraph allows neither a dot in a label nor an empty one.
    """
    return "".join(_ESCAPED.get(sign, sign) for sign in text) or _EMPTY


def unlabel(written: str) -> str:
    """The text that a label stands for."""
    return "" if written == _EMPTY else written.replace("%2E", ".").replace("%25", "%")


def labels(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts as the labels of a namespace."""
    return tuple(map(label, texts))
