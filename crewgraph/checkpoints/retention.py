"""Bounds on age and size: old threads are forgotten when a database is opened."""

import os
import sqlite3
import threading
import time

from crewgraph.checkpoints.database import MEMORY, Database
from crewgraph.checkpoints.removal import Removal

__all__ = ["forget_old"]

_DAY = 86_400
_bounded: set[str] = set()
_lock = threading.Lock()


def forget_old(database: Database, removal: Removal, days: float | None, max_bytes: int | None) -> None:
    """Remove threads not written for some days, and the oldest while the database exceeds a size.

    Done once per process and file. The thread that was written last always stays.
    """
    if database.path == MEMORY or not (days or max_bytes):
        return
    file = os.path.realpath(database.path)
    with _lock:
        if file in _bounded:
            return
        _bounded.add(file)
    ages = database.read(_ages)
    limit = time.time() - days * _DAY if days else 0
    old = [thread for thread, touched in ages if touched < limit]
    removal.delete(old)
    recent = [thread for thread, touched in ages if touched >= limit]
    removed = bool(old)
    while max_bytes and len(recent) > 1 and database.used() > max_bytes:
        removal.delete([recent.pop(0)])
        removed = True
    if removed:
        database.shrink(wholly=True)


def _ages(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    return connection.execute(
        "SELECT thread, max(touched) FROM lineages GROUP BY thread ORDER BY max(touched), max(no)"
    ).fetchall()
