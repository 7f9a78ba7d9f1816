"""The tables of a store.

- `namespaces`: the labels joined by periods, which no label holds. One that has lost its last entry goes with it.
- `entries`: one row a key. Every put makes a new row with a new id, so ids are in the order of writing and a reader that knows
  an id knows what came after it. `fields`: the paths to embed as JSON, NULL for the store's own, `[]` for none.
  `created` and `updated` are microseconds, `ttl` is minutes, `expires` seconds.
- `spaces`: an embedder's name and the length of its vectors; every entry up to the id `whole` has its vectors there.
  `generation` is the number of the file that its index was saved in, after the vector `last` and the row `log` had been read.
- `vectors`: little-endian float32. Space, entry and part are packed into the row's id, which saves an index.
- `log`: what cannot be seen from new ids: entries that went (`space` 0), and older entries that got vectors in a space.

Namespaces as texts that sort by their labels, and the conditions they are listed by.
"""

import sqlite3
from collections.abc import Sequence

from langgraph.store.base import InvalidNamespaceError, MatchCondition

from crewgraph.storage.database import Faults, Tables

__all__ = ["TABLES", "Namespace", "below", "labels_of", "matches", "path_of", "reach"]


_FIRST = """
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

_FAULTS = Faults(
    noun="store",
    elsewhere="Set CREWGRAPH_STORAGE_DIR to a folder that can be written, or give the store another path.",
    aside=(
        "Move the file away (with its `-wal` and `-shm` files) and start again with an empty store. "
        "`sqlite3 FILE .recover` may save some of it."
    ),
    full="Nothing that was saved is lost, and what is there can be read. Free some space and save again.",
    large="Keep large data in files and their paths in the store.",
)

TABLES = Tables(
    faults=_FAULTS,
    application=0x43575353,  # "CWSS"
    migrations=(_FIRST,),
    look="SELECT id FROM entries LIMIT 1",
)
"""The tables of a store."""


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
