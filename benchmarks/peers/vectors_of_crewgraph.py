"""crewgraph's store with an embedder that knows all vectors, and its index alone."""

import sys
from collections.abc import Sequence
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp

from benchmarks.peers.clustered_vectors import DIMS, NEAREST, Clustered
from benchmarks.peers.vector_benchmark import main
from crewgraph.storage.store import FaissStore

_PIECE = 5_000


class Known(Embeddings):
    """A text is the number of the vector."""

    def __init__(self) -> None:
        self.rows: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.rows.pop(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.rows[text]


class Store:
    def __init__(self, data: Clustered) -> None:
        self._known = Known()
        self._asked = 0
        self._store = FaissStore("store.db", embedder=self._known, index={"dims": DIMS, "embed": self._known})

    def fill(self, rows: Any) -> None:
        for begin in range(0, len(rows), _PIECE):
            piece = range(begin, min(begin + _PIECE, len(rows)))
            self._known.rows = {str(number): rows[number].tolist() for number in piece}
            self._store.batch([PutOp(("kept",), str(number), {"text": str(number)}, ["text"]) for number in piece])
            self.search(rows[begin])

    def save(self, number: int, row: Any) -> None:
        self._known.rows = {str(number): row.tolist()}
        self._store.put(("kept",), str(number), {"text": str(number)}, ["text"])

    def search(self, row: Any) -> Sequence[int]:
        self._asked += 1
        query = f"query {self._asked}"
        self._known.rows = {query: row.tolist()}
        return [int(item.key) for item in self._store.search(("kept",), query=query, limit=NEAREST)]

    def close(self) -> None:
        self._store.close()


if __name__ == "__main__":
    main(Store, int(sys.argv[1]), "open" in sys.argv)
