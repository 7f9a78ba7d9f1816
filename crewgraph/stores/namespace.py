"""Namespaces as texts that sort by their labels, and the conditions they are listed by."""

import sqlite3
from collections.abc import Sequence

from langgraph.store.base import InvalidNamespaceError, MatchCondition

__all__ = ["Namespace", "below", "labels_of", "matches", "path_of", "reach"]

Namespace = tuple[str, ...]

_DOT = "."
_AFTER_DOT = "/"  # the character that follows the period: a prefix and all below it are one range of texts


def path_of(namespace: Namespace) -> str:
    """The text of a namespace whose labels hold no period.

    Raises:
        InvalidNamespaceError: a label cannot be written as UTF-8.
    """
    path = _DOT.join(namespace)
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InvalidNamespaceError(f"A label of the namespace {namespace!r} is no valid Unicode ({error}).") from error
    return path


def labels_of(path: str) -> Namespace:
    """The labels of a namespace's text."""
    return tuple(path.split(_DOT)) if path else ()


def reach(prefix: Namespace) -> tuple[str, str, str | bytes]:
    """A namespace's text, and the bounds of the texts of those below it: the first, and what comes after the last."""
    path = path_of(prefix)
    return (path, path + _DOT, path + _AFTER_DOT) if path else ("", "", b"")  # to SQLite, any text is less than bytes


def below(connection: sqlite3.Connection, prefix: Namespace) -> list[int]:
    """The numbers of a namespace and of those below it."""
    rows = connection.execute("SELECT no FROM namespaces WHERE path = ? OR path >= ? AND path < ?", reach(prefix))
    return [no for (no,) in rows]


def matches(namespace: Namespace, conditions: Sequence[MatchCondition]) -> bool:
    """Whether a namespace meets all conditions; `*` stands for any one label.

    Raises:
        ValueError: a condition is neither about the prefix nor about the suffix.
    """
    return all(_meets(namespace, condition) for condition in conditions)


def _meets(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :] if len(path) <= len(namespace) else ()
    else:
        raise ValueError(f'A namespace is matched by "prefix" or "suffix", not by {condition.match_type!r}.')
    return len(part) == len(path) and all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
