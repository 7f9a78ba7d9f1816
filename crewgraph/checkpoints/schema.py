"""The tables of the checkpoint database.

- `lineages`: one thread in one namespace; its number, when it was last written, and when it began.
- `checkpoints`: one row a superstep; the versions of all channels and the numbers of their values, as JSON,
whole
  or as the difference to the parent's.
- `writes`: what a task wrote before its superstep ended, as the number of a value; where no channel can come to hold it, the
  bytes themselves, and the number -1.
- `payloads`: the bytes of values; a write and the channel it went to share them.
"""

from crewgraph.checkpoints.faults import CHECKPOINTS
from crewgraph.checkpoints.tables import Tables

__all__ = ["TABLES", "VERSION"]

_TABLES = """
CREATE TABLE lineages (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL,
    ns TEXT NOT NULL,
    touched INTEGER NOT NULL,
    UNIQUE (thread, ns)
);
CREATE TABLE checkpoints (
    lineage INTEGER NOT NULL REFERENCES lineages ON DELETE CASCADE,
    id TEXT NOT NULL,
    parent TEXT,
    drift INTEGER NOT NULL,
    whole INTEGER NOT NULL,
    run TEXT,
    kind TEXT NOT NULL,
    head BLOB NOT NULL,
    versions TEXT NOT NULL,
    PRIMARY KEY (lineage, id)
) WITHOUT ROWID;
CREATE INDEX runs ON checkpoints (run) WHERE run IS NOT NULL;
CREATE TABLE writes (
    lineage INTEGER NOT NULL REFERENCES lineages ON DELETE CASCADE,
    checkpoint TEXT NOT NULL,
    task TEXT NOT NULL,
    idx INTEGER NOT NULL,
    path TEXT NOT NULL,
    channel TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (lineage, checkpoint, task, idx)
) WITHOUT ROWID;
CREATE TABLE payloads (no INTEGER PRIMARY KEY, kind TEXT NOT NULL, data BLOB NOT NULL);
"""

_BEGINNINGS = """
ALTER TABLE lineages ADD COLUMN created REAL NOT NULL DEFAULT 0;
UPDATE lineages SET created = touched
"""

_OWN_BYTES = """
ALTER TABLE writes ADD COLUMN kind TEXT;
ALTER TABLE writes ADD COLUMN data BLOB
"""

TABLES = Tables(
    faults=CHECKPOINTS,
    application=0x43575247,  # "CWRG"
    migrations=(_TABLES, _BEGINNINGS, _OWN_BYTES),
    look="SELECT no FROM lineages LIMIT 1",
)
"""The tables of checkpoints."""

VERSION = TABLES.version
"""The version of the tables."""
