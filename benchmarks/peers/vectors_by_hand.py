"""Hand-written store with faiss and SQLite: a flat index and a table of values; the vectors are only in the index file."""

import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from benchmarks.peers.clustered_vectors import DIMS, NEAREST, Clustered
from benchmarks.peers.vector_benchmark import main

_FILE = Path("flat.db")


class ByHand:
    def __init__(self, data: Clustered) -> None:
        self._values = sqlite3.connect("values.db", isolation_level=None)
        self._values.execute("PRAGMA journal_mode=WAL")
        self._values.execute("PRAGMA synchronous=NORMAL")
        self._values.execute("CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, value TEXT)")
        self._index: Any = faiss.read_index(str(_FILE)) if _FILE.exists() else faiss.IndexIDMap(faiss.IndexFlatIP(DIMS))

    def fill(self, rows: Any) -> None:
        self._values.execute("BEGIN")
        self._values.executemany("INSERT INTO entries VALUES (?, ?)", ((n, str(n)) for n in range(len(rows))))
        self._values.execute("COMMIT")
        self._index.add_with_ids(rows, np.arange(len(rows)))

    def save(self, number: int, row: Any) -> None:
        self._values.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (number, str(number)))
        self._index.add_with_ids(row[None], np.array([number]))

    def search(self, row: Any) -> Sequence[int]:
        ids = self._index.search(row[None], NEAREST)[1][0].tolist()
        marks = ",".join("?" * len(ids))
        found = self._values.execute(f"SELECT value FROM entries WHERE id IN ({marks})", ids).fetchall()
        return [int(value) for (value,) in found]

    def close(self) -> None:
        faiss.write_index(self._index, str(_FILE))
        self._values.close()


if __name__ == "__main__":
    faiss.omp_set_num_threads(1)
    main(ByHand, int(sys.argv[1]), "open" in sys.argv)
