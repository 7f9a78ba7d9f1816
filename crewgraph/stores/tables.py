"""The tables of a store.

- `namespaces`: the labels joined by periods, which no label holds. One that has lost its last entry goes with it.
- `entries`: one row a key. Every put makes a new row with a new id, so ids are in the order of writing and a reader that knows
  an id knows what came after it. `fields`: the paths to embed as JSON, NULL for the store's own, `[]` for none.
  `created` and `updated` are microseconds, `ttl` is minutes, `expires` seconds.
- `spaces`: an embedder's name and the length of its vectors; every entry up to the id `whole` has its vectors there.
  `generation` is the number of the file that its index was saved in, after the vector `last` and the row `log` had been read.
- `vectors`: little-endian float32. Space, entry and part are packed into the row's id, which saves an index.
- `log`: what cannot be seen from new ids: entries that went (`space` 0), and older entries that got vectors in a space.
"""

from crewgraph.checkpoints.faults import Faults
from crewgraph.checkpoints.tables import Tables

__all__ = ["TABLES"]

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
