"""Which vectors lie below a namespace: sets of ids, made when first asked for and then kept up."""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import numpy as np

from crewgraph.stores.namespace import Namespace, below, labels_of
from crewgraph.stores.vectors import Ids, ids_in

__all__ = ["Views"]

_KEPT = 4096  # namespaces
_ROOM = 16


class _View:
    """The ids below one namespace, in a block that grows."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._used = len(ids)

    @property
    def ids(self) -> Ids:
        return self._ids[: self._used]

    def add(self, id: int) -> None:
        if self._used == len(self._ids):
            grown = np.empty(_ROOM + 2 * self._used, np.int64)
            grown[: self._used] = self._ids
            self._ids = grown
        self._ids[self._used] = id
        self._used += 1


class Views:
    """The ids below the namespaces that were asked for last; ids that are gone may still be among them."""

    def __init__(self) -> None:
        self._views: OrderedDict[Namespace, _View] = OrderedDict()
        self._over: dict[int, list[_View]] = {}  # by the numbers of the namespaces within
        self._known = 0

    def of(self, connection: sqlite3.Connection, prefix: Namespace, several: Mapping[int, int]) -> Ids:
        """The ids below a namespace, in a transaction that sees no more than what was told to `add`.

        Args:
            connection: the store.
            prefix: the namespace.
            several: the entries with more than one vector, and how many these are.
        """
        view = self._views.get(prefix)
        if view is None:
            self._make_room(connection)
            numbers = below(connection, prefix)
            view = _View(_ids(connection, numbers, several))
            self._views[prefix] = view
            for no in numbers:
                self._over.setdefault(no, []).append(view)
        self._views.move_to_end(prefix)
        return view.ids

    def add(self, connection: sqlite3.Connection, rows: Iterable[tuple[int, int]]) -> None:
        """Learn of vectors: their ids, and the numbers of the namespaces they are in."""
        if not self._views:
            return
        for id, no in rows:
            if no > self._known:
                self._meet(connection, no)
            for view in self._over.get(no, ()):
                view.add(id)

    def clear(self) -> None:
        """Forget all, so that they are made anew."""
        self._views.clear()
        self._over.clear()

    def _meet(self, connection: sqlite3.Connection, upto: int) -> None:
        rows = connection.execute("SELECT no, path FROM namespaces WHERE no > ? AND no <= ?", (self._known, upto))
        for no, path in rows.fetchall():
            labels = labels_of(path)
            over = [self._views.get(labels[:length]) for length in range(len(labels) + 1)]
            self._over[no] = [view for view in over if view is not None]
        self._known = upto

    def _make_room(self, connection: sqlite3.Connection) -> None:
        if len(self._views) >= _KEPT:
            self.clear()
        if not self._views:
            self._known = connection.execute("SELECT coalesce(max(no), 0) FROM namespaces").fetchone()[0]


def _ids(connection: sqlite3.Connection, numbers: Iterable[int], several: Mapping[int, int]) -> Ids:
    entries: list[int] = []
    for no in numbers:
        entries += [id for (id,) in connection.execute("SELECT id FROM entries WHERE namespace = ?", (no,))]
    return ids_in(np.asarray(entries, np.int64), several)
