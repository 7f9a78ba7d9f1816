"""The size of a SQLite file."""

import sqlite3
from pathlib import Path

__all__ = ["bytes_of"]


def bytes_of(path: Path) -> int:
    """Bytes of a database that nobody has open, its write-ahead log merged into it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return path.stat().st_size
