"""A validated batch: reads see the store as it was before the batch, and the last put of a key wins."""

import json
from collections.abc import Iterable, Sequence
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

from crewgraph.schema import PlainMapping
from crewgraph.storage.store.schema import path_of

__all__ = ["WHOLE_VALUE", "BatchPlan", "NewEntry", "texts_to_embed"]


WHOLE_VALUE = "$"
"""The path of a whole value."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class NewEntry(NamedTuple):
    """An entry to write."""

    path: str
    """Its namespace as text."""

    key: str

    value: str | None
    """As JSON; None deletes the key."""

    texts: Sequence[str]
    """What to embed."""

    fields: str | None
    """As in the table's column."""

    ttl: float | None
    """In minutes."""


class BatchPlan:
    """A batch of operations, sorted by what they do."""

    def __init__(self, ops: Iterable[Op], fields: Sequence[str]) -> None:
        """Validate the operations.

        Args:
            ops: the operations.
            fields: the paths to embed where a put names none.

        Raises:
            InvalidNamespaceError: a namespace has an invalid label.
            TypeError: a value cannot be encoded as JSON.
            ValueError: an operation is unknown, or has a negative limit, offset or TTL.
        """
        self.ops = list(ops)
        self.reads: list[tuple[int, GetOp | SearchOp | ListNamespacesOp]] = []
        puts: dict[tuple[str, str], PutOp] = {}
        for place, op in enumerate(self.ops):
            _check(op)
            if isinstance(op, PutOp):
                puts[path_of(op.namespace), _checked_key(op.key)] = op
            else:
                self.reads.append((place, op))
        self.puts = [_new_entry(path, key, op, fields) for (path, key), op in puts.items()]
        self.queries = list(
            dict.fromkeys(op.query for _, op in self.reads if isinstance(op, SearchOp) and op.query and op.limit)
        )


def texts_to_embed(value: Any, fields: Sequence[str]) -> list[str]:
    """The texts at some paths of a value."""
    return [
        text
        for field in fields
        for text in get_text_at_path(value, field if field == WHOLE_VALUE else tokenize_path(field))
    ]


def _check(op: Op) -> None:
    if not isinstance(op, (GetOp, SearchOp, PutOp, ListNamespacesOp)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"Unknown operation type: {type(op)}")
    validate_op_namespace(op)
    if isinstance(op, (SearchOp, ListNamespacesOp)) and (op.limit < 0 or op.offset < 0):
        raise ValueError(f"`limit` and `offset` must be at least 0, not {op.limit} and {op.offset}.")
    if isinstance(op, PutOp) and op.ttl is not None and op.ttl < 0:
        raise ValueError(f"`ttl` must be a number of minutes, at least 0, not {op.ttl}.")


def _checked_key(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"The key {key!r} is not valid Unicode ({error}).") from error
    return key


def _new_entry(path: str, key: str, op: PutOp, fields: Sequence[str]) -> NewEntry:
    if op.value is None:
        return NewEntry(path, key, None, (), None, None)
    text = _encode_value(op.value, path, key)
    index: Sequence[str] | Literal[False] | None = op.index
    if index is None:
        return NewEntry(path, key, text, texts_to_embed(op.value, fields), None, op.ttl)
    own_fields = list(index or ())
    return NewEntry(path, key, text, texts_to_embed(op.value, own_fields), _encode(own_fields), op.ttl)


def _encode_value(value: PlainMapping, path: str, key: str) -> str:
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
