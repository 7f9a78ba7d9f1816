"""LanceDB, the store of memories in CrewAI 1.15."""

import os
import sys
from collections.abc import Sequence
from typing import Any

from crewai.memory.storage.lancedb_storage import LanceDBStorage
from crewai.memory.types import MemoryRecord

from benchmarks.peers.clustered_vectors import DIMS, NEAREST, Clustered
from benchmarks.peers.vector_benchmark import main

_PIECE = 1_000


class Lance:
    def __init__(self, data: Clustered) -> None:
        self._storage = LanceDBStorage(path="lance.db", vector_dim=DIMS)

    def fill(self, rows: Any) -> None:
        for begin in range(0, len(rows), _PIECE):
            piece = range(begin, min(begin + _PIECE, len(rows)))
            self._storage.save([_record(number, rows[number]) for number in piece])

    def save(self, number: int, row: Any) -> None:
        self._storage.save([_record(number, row)])

    def search(self, row: Any) -> Sequence[int]:
        found = self._storage.search(row.tolist(), limit=NEAREST, min_score=-1.0)
        return [int(record.content) for record, _ in found]

    def close(self) -> None:
        pass


def _record(number: int, row: Any) -> MemoryRecord:
    return MemoryRecord(id=str(number), content=str(number), embedding=row.tolist())


if __name__ == "__main__":
    main(Lance, int(sys.argv[1]), "open" in sys.argv)
    sys.stdout.flush()
    os._exit(0)  # its threads crash the interpreter now and then when it ends
