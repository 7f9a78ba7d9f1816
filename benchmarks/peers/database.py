"""The size of a SQLite file."""

import sqlite3
from pathlib import Path

__all__ = ["bytes_of", "taken"]


def bytes_of(path: Path) -> int:
    """Bytes of a database that nobody has open, its write-ahead log merged into it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return path.stat().st_size


def taken(path: Path) -> dict[str, float]:
    """KiB of a database that others may have open: of the file after merging its write-ahead log, and of its used pages."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    connection.close()
    return {"file": path.stat().st_size / 1024, "used": (pages - free) * size / 1024}
