"""What a batch of operations asks for, checked: reads see the store as it was before the batch, the last put of a key counts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from langgraph.store.base import (
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    SearchOp,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from crewgraph.storage.store.schema import path_of

__all__ = ["EVERYTHING", "NewEntry", "Plan", "texts_at"]


EVERYTHING = "$"
"""The path of a whole value."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class NewEntry(NamedTuple):
    """What is to be written under a key."""

    path: str
    """The text of its namespace."""

    key: str

    value: str | None
    """As JSON; None removes what is there."""

    texts: Sequence[str]
    """What is to be embedded."""

    fields: str | None
    """As in the table."""

    ttl: float | None
    """Minutes."""


class Plan:
    """A batch, its operations by what they do."""

    def __init__(self, ops: Iterable[Op], fields: Sequence[str]) -> None:
        """Check the operations.

        Args:
            ops: the operations.
            fields: the paths of what is embedded of a value whose put names none.

        Raises:
            InvalidNamespaceError: a namespace has a label that it may not have.
            TypeError: a value is no JSON.
            ValueError: an operation is unknown, or asks for a negative number of things.
        """
        self.ops = list(ops)
        self.reads: list[tuple[int, GetOp | SearchOp | ListNamespacesOp]] = []
        puts: dict[tuple[str, str], PutOp] = {}
        for place, op in enumerate(self.ops):
            _check(op)
            if isinstance(op, PutOp):
                puts[path_of(op.namespace), _key(op.key)] = op
            else:
                self.reads.append((place, op))
        self.puts = [_entry(path, key, op, fields) for (path, key), op in puts.items()]
        self.queries = list(
            dict.fromkeys(op.query for _, op in self.reads if isinstance(op, SearchOp) and op.query and op.limit)
        )


def texts_at(value: Any, fields: Sequence[str]) -> list[str]:
    """The texts of a value that are embedded."""
    return [
        text
        for field in fields
        for text in get_text_at_path(value, field if field == EVERYTHING else tokenize_path(field))
    ]


def _check(op: Op) -> None:
    if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"Unknown operation type: {type(op)}")
    validate_op_namespace(op)
    if isinstance(op, (SearchOp, ListNamespacesOp)) and (op.limit < 0 or op.offset < 0):
        raise ValueError(f"`limit` and `offset` are at least 0, not {op.limit} and {op.offset}.")
    if isinstance(op, PutOp) and op.ttl is not None and op.ttl < 0:
        raise ValueError(f"`ttl` is a number of minutes, at least 0, not {op.ttl}.")


def _key(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"The key {key!r} is no valid Unicode ({error}).") from error
    return key


def _entry(path: str, key: str, op: PutOp, fields: Sequence[str]) -> NewEntry:
    if op.value is None:
        return NewEntry(path, key, None, (), None, None)
    text = _json(op.value, path, key)
    own: Sequence[str] | Literal[False] | None = op.index
    if own is None:
        return NewEntry(path, key, text, texts_at(op.value, fields), None, op.ttl)
    chosen = list(own or ())
    return NewEntry(path, key, text, texts_at(op.value, chosen), _encode(chosen), op.ttl)


def _json(value: Mapping[str, Any], path: str, key: str) -> str:
    try:
        text = _encode(value if isinstance(value, dict) else dict(value))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"The value of `{key}` in `{path}` cannot be written as JSON ({error}). "
            "Store texts, numbers, booleans, None, lists and dicts with texts as keys."
        ) from error
    return text
