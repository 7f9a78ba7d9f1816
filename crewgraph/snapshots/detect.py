"""Which provider a snapshot is of."""

from pathlib import Path

from crewgraph.snapshots.json_provider import JsonProvider
from crewgraph.snapshots.provider import BaseProvider
from crewgraph.snapshots.sqlite_provider import SqliteProvider

__all__ = ["detect_provider"]

_HEADER = b"SQLite format 3\x00"


def detect_provider(path: str) -> BaseProvider:
    """What reads the snapshots of a place: an SQLite file's, or those of a folder."""
    file = Path(path.rpartition("#")[0] or path)
    if file.is_file():
        with file.open("rb") as opened:
            if opened.read(len(_HEADER)) == _HEADER:
                return SqliteProvider()
    return JsonProvider()
