"""The tables of the checkpoint database.

- `lineages`: one row per thread and namespace: its number, when it was last written, when it was created, and its latest
  checkpoint, if that is not the one with the greatest id.
- `checkpoints`: one row per superstep: the versions of all channels and the ids of their values as JSON, either in full or as
  the difference from the parent's.
- `writes`: what a task wrote before its superstep ended.
- `claims`: the last claim on each thread, by its number; see `crewgraph.storage.claims.files`.
- `payloads`: the serialized values of channels.
"""

from crewgraph.formats import FORMAT
from crewgraph.storage.database import DatabaseErrors, DatabaseSchema

_ERRORS = DatabaseErrors(
    noun="checkpoint database",
    unusable_hint=(
        "Set CREWGRAPH_STORAGE_DIR to a folder that can be written, "
        "or pass `checkpointer=False` to run without checkpoints."
    ),
    damaged_hint=(
        "Move the file away (with its `-wal` and `-shm` files) and start again: the runs it holds cannot be "
        "resumed, what they returned is not affected. `sqlite3 FILE .recover` may save some of it."
    ),
    full_hint=(
        "Nothing that was saved is lost. Free some space, or lower `max_bytes` or `retention_days`; then runs can be resumed. "
        "For new runs, you may also set CREWGRAPH_STORAGE_DIR to another disk."
    ),
    too_large_hint="Keep large data in files and their paths in the state.",
)

_TABLES = """
CREATE TABLE lineages (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL,
    ns TEXT NOT NULL,
    touched INTEGER NOT NULL,
    created REAL NOT NULL,
    latest TEXT,
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
    kind TEXT,
    data BLOB,
    PRIMARY KEY (lineage, checkpoint, task, idx)
) WITHOUT ROWID;
CREATE TABLE payloads (no INTEGER PRIMARY KEY, kind TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE claims (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    thread TEXT NOT NULL UNIQUE,
    holder TEXT NOT NULL,
    since REAL NOT NULL
)
"""

CHECKPOINT_SCHEMA = DatabaseSchema(
    errors=_ERRORS,
    application_id=0x43575247,  # "CWRG"
    format=FORMAT,
    tables=_TABLES,
    probe="SELECT no FROM lineages LIMIT 1",
)
"""The tables of checkpoints."""

damaged_checkpoints = _ERRORS.damaged
"""The error for rows of a checkpoint database that SQLite can read but that are inconsistent; see `DatabaseErrors.damaged`."""
