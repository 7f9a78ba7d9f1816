"""A copy of an index in a file beside its store. It saves time and nothing else: whatever is wrong with it, it is left out."""

import logging
import os
import secrets
import sqlite3
import time
from glob import escape
from pathlib import Path
from typing import NamedTuple

from crewgraph.checkpoints.database import MEMORY, Database
from crewgraph.errors import StorageError
from crewgraph.stores.vectors import made_whole
from crewgraph.vectors.index import GrowingIndex

__all__ = ["IndexCopy", "Mark"]

_WORTH = 20_000  # vectors: fewer are read from the store as quickly
_SHARE = 4  # a new copy is made when a quarter is new
_LEFT = 600  # seconds after which nobody writes a file any more
_GENERATIONS = 62  # bits
_logger = logging.getLogger(__name__)


class Mark(NamedTuple):
    """How far an index has read."""

    last: int
    """The last vector."""

    log: int
    """The last row of the log."""

    whole: int
    """The entry up to which every one has what it needs."""


class IndexCopy:
    """Saves an index and reads it again. The store knows by a random number which file is of which state."""

    def __init__(self, database: Database, space: int) -> None:
        self._database = database
        self._space = space
        self._path = None if database.path == MEMORY else Path(f"{database.path}.{space}.index")
        self._new = 0
        self._waiting = 0  # vectors that in the file are still to be moved to where they are found quickly

    def load(self, dims: int) -> tuple[GrowingIndex, Mark] | None:
        """The index that was saved, and how far it had read; None if nothing of use was."""
        if self._path is None:
            return None
        generation, *mark = self._database.glance(_kept, self._space)
        if not generation:
            return None
        index = GrowingIndex(dims)
        try:
            if index.load(self._path) != generation:
                return None
            self._waiting = index.waiting
            return index, Mark(*mark)
        except FileNotFoundError:
            return None
        except StorageError as error:
            _logger.warning("The index of the store `%s` is made anew: %s", self._database.path, error)
            return None

    def grew(self, changes: int, index: GrowingIndex) -> bool:
        """Note changes of an index; whether it should be saved now."""
        self._new += changes
        return self._is_worth(index) and (self._new > max(_WORTH, len(index) // _SHARE) or self._moved(index))

    def is_old(self, index: GrowingIndex) -> bool:
        """Whether what is read from the file is made as the index is now only in a while."""
        return self._is_worth(index) and (self._new >= _WORTH // _SHARE or self._moved(index))

    def _is_worth(self, index: GrowingIndex) -> bool:
        return self._path is not None and len(index) >= _WORTH

    def _moved(self, index: GrowingIndex) -> bool:
        return index.waiting + _WORTH <= self._waiting

    def save(self, index: GrowingIndex, mark: Mark) -> None:
        """Put an index in the place of what was saved; that this fails is told in the log only."""
        assert self._path is not None
        generation = secrets.randbits(_GENERATIONS) or 1
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")  # another process may save as well
        self._new, self._waiting = 0, index.waiting
        try:
            index.save(fresh, generation=generation)
            fresh.replace(self._path)
            self._database.write(_keep, self._space, generation, mark)
            self._clear_up()
        except (OSError, StorageError) as error:
            fresh.unlink(missing_ok=True)
            _logger.warning("The index of the store `%s` is not kept: %s", self._database.path, error)

    def _clear_up(self) -> None:
        """Remove what processes that were killed have left behind."""
        assert self._path is not None
        for left in self._path.parent.glob(f"{escape(self._path.name)}.*"):
            if left.stat().st_mtime < time.time() - _LEFT:
                left.unlink(missing_ok=True)


def _kept(connection: sqlite3.Connection, space: int) -> tuple[int, int, int, int]:
    return connection.execute("SELECT generation, last, log, whole FROM spaces WHERE no = ?", (space,)).fetchone()


def _keep(connection: sqlite3.Connection, space: int, generation: int, mark: Mark) -> None:
    connection.execute(
        "UPDATE spaces SET generation = ?, last = ?, log = ? WHERE no = ?", (generation, mark.last, mark.log, space)
    )
    made_whole(connection, space, mark.whole)
