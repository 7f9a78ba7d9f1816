"""Chroma, the store of memories in CrewAI 1.2.1."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from crewai.memory.storage.rag_storage import RAGStorage
from crewai.rag.embeddings.providers.custom.embedding_callable import CustomEmbeddingFunction

from benchmarks.peers.clustered_vectors import DIMS, NEAREST, Clustered
from benchmarks.peers.vector_benchmark import main

_known: dict[str, Any] = {}
_unknown = np.ones(DIMS, np.float32)  # RAGStorage tests its embedder with a text


class Known(CustomEmbeddingFunction):
    def __init__(self, **given: Any) -> None:
        pass

    def __call__(self, input: Any) -> Any:
        return [np.asarray(_known.get(text, _unknown)) for text in input]

    # Chroma asks for these.

    @staticmethod
    def name() -> str:
        return "known"

    def get_config(self) -> dict[str, Any]:
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> "Known":
        return Known()

    def is_legacy(self) -> bool:
        return False

    def default_space(self) -> str:
        return "cosine"

    def supported_spaces(self) -> list[str]:
        return ["cosine", "l2", "ip"]


class Chroma:
    def __init__(self, data: Clustered) -> None:
        embedder: Any = {"provider": "custom", "config": {"embedding_callable": Known}}
        self._storage = RAGStorage(type="short_term", embedder_config=embedder, path="chroma.db")

    def fill(self, rows: Any) -> None:
        for number, row in enumerate(rows):
            self.save(number, row)

    def save(self, number: int, row: Any) -> None:
        _known.clear()
        _known[str(number)] = row
        self._storage.save(str(number), {})

    def search(self, row: Any) -> Sequence[int]:
        _known["?"] = row
        found = self._storage.search("?", limit=NEAREST, score_threshold=-1.0)
        return [int(one["content"]) for one in found]

    def close(self) -> None:
        pass


if __name__ == "__main__":
    main(Chroma, int(sys.argv[1]), "open" in sys.argv)
