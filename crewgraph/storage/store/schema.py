"""The tables of a store, and namespaces as texts.

- `namespaces`: the labels joined by periods, which no label contains. A namespace is deleted with its last entry.
- `entries`: one row per key. Every put inserts a row with a new id, so ids are in the order of writing, and a reader that
  knows an id can find what was written after it. `fields`: the paths to embed as JSON, NULL for the store's default, `[]`
  for none. `created` and `updated` are in microseconds, `ttl` in minutes, `expires` in seconds.
- `spaces`: an embedder's name and the length of its vectors; every entry up to the id `whole` has its vectors there.
  `generation`, `last` and `log` are not used.
- `vectors`: little-endian float32. Space, entry and part are packed into the row's id, which saves an index.
- `log`: changes that new ids do not show: deleted entries (`space` 0), and older entries that got vectors in a space.
"""

import sqlite3
from collections.abc import Sequence

from langgraph.store.base import InvalidNamespaceError, MatchCondition

from crewgraph.formats import STORE_FORMAT
from crewgraph.storage.database import DatabaseErrors, DatabaseSchema

_TABLES = """
CREATE TABLE namespaces (no INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    fields TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    ttl REAL,
    expires REAL,
    UNIQUE (namespace, key)
);
CREATE INDEX recent ON entries (namespace);
CREATE INDEX expiries ON entries (expires) WHERE expires IS NOT NULL;
CREATE TABLE spaces (
    no INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dims INTEGER NOT NULL,
    whole INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0,
    last INTEGER NOT NULL DEFAULT -1,
    log INTEGER NOT NULL DEFAULT -1,
    UNIQUE (name, dims)
);
CREATE TABLE vectors (id INTEGER PRIMARY KEY, namespace INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE log (no INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, entry INTEGER NOT NULL)
"""

_STORE_ERRORS = DatabaseErrors(
    noun="store",
    unusable_hint="Set CREWGRAPH_STORAGE_DIR to a folder that can be written, or give the store another path.",
    damaged_hint=(
        "Move the file away (with its `-wal` and `-shm` files) and start again with an empty store. "
        "`sqlite3 FILE .recover` may save some of it."
    ),
    full_hint="Nothing that was saved is lost, and what is there can be read. Free some space and save again.",
    too_large_hint="Keep large data in files and their paths in the store.",
)

STORE_SCHEMA = DatabaseSchema(
    errors=_STORE_ERRORS,
    application_id=0x43575353,  # "CWSS"
    format=STORE_FORMAT,
    tables=_TABLES,
    probe="SELECT id FROM entries LIMIT 1",
)
"""The tables of a store."""


Namespace = tuple[str, ...]

_DOT = "."
_AFTER_DOT = "/"  # the character that follows the period: a prefix and all below it are one range of texts


def path_of(namespace: Namespace) -> str:
    """The text of a namespace, whose texts sort by their labels.

    Raises:
        InvalidNamespaceError: a label cannot be encoded as UTF-8.
    """
    path = _DOT.join(namespace)
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise InvalidNamespaceError(
            f"A label of the namespace {namespace!r} is not valid Unicode ({error})."
        ) from error
    return path


def namespace_labels(path: str) -> Namespace:
    """The labels of a namespace's text."""
    return tuple(path.split(_DOT)) if path else ()


def path_range(prefix: Namespace) -> tuple[str, str, str | bytes]:
    """A namespace's text, and the range of the texts below it: the first, and the end (exclusive)."""
    path = path_of(prefix)
    return (path, path + _DOT, path + _AFTER_DOT) if path else ("", "", b"")  # to SQLite, any text is less than bytes


def namespaces_below(connection: sqlite3.Connection, prefix: Namespace) -> list[int]:
    """The numbers of a namespace and of those below it."""
    rows = connection.execute("SELECT no FROM namespaces WHERE path = ? OR path >= ? AND path < ?", path_range(prefix))
    return [no for (no,) in rows]


def entries_below(connection: sqlite3.Connection, prefix: Namespace) -> list[int]:
    """The ids of the entries in a namespace and in those below it."""
    rows = connection.execute(
        "SELECT id FROM entries WHERE namespace IN (SELECT no FROM namespaces WHERE path = ? OR path >= ? AND path < ?)",
        path_range(prefix),
    )
    return [id for (id,) in rows]


def matches_conditions(namespace: Namespace, conditions: Sequence[MatchCondition]) -> bool:
    """Return whether a namespace matches all conditions; `*` matches any one label.

    Raises:
        ValueError: a condition is neither a prefix nor a suffix match.
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
    return len(part) == len(path) and all(expected in ("*", label) for expected, label in zip(path, part, strict=True))
