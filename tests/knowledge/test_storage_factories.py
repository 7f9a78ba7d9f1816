"""Configurations, and who makes what they name."""

from types import SimpleNamespace
from typing import Any

from modes import Mode

from crewgraph import Knowledge, Memory
from crewgraph.definitions.base import Fingerprint
from crewgraph.knowledge.passage import SearchResult
from crewgraph.knowledge.storage import BaseKnowledgeStorage, resolve_knowledge_storage, set_knowledge_storage_factory
from crewgraph.memory.backend import resolve_memory_storage, set_memory_storage_factory


class Shelf(BaseKnowledgeStorage):
    name: str = ""
    stored: list[str] = []

    def save(self, documents: list[str]) -> None:
        self.stored.extend(documents)

    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        return [{"id": "1", "content": f"{self.name}: {text}", "metadata": {}, "score": 1} for text in self.stored]

    def reset(self) -> None:
        self.stored.clear()


def test_knowledge_without_a_storage_is_kept_where_a_program_says(mode: Mode):
    assert resolve_knowledge_storage(None, "port") is None
    set_knowledge_storage_factory(lambda embedder, name: Shelf(name=f"{name} by {embedder}") if name else None)
    try:
        knowledge = Knowledge("port", ["the ferry leaves at nine"], embedder="local")
        found = mode.run(knowledge.query, knowledge.aquery, ["ferry"])
        assert [one["content"] for one in found] == ["port by local: the ferry leaves at nine"]
        assert type(Knowledge(None, ["x"]).storage).__name__ == "KnowledgeStorage"
        own = Shelf(name="own")
        assert Knowledge("port", ["x"], storage=own).storage is own
    finally:
        set_knowledge_storage_factory(None)
    assert type(Knowledge("port", ["x"]).storage).__name__ == "KnowledgeStorage"


def test_a_memory_is_kept_where_a_program_says_of_its_text():
    assert resolve_memory_storage("lancedb") is None
    asked: list[str] = []

    def make(spec: str) -> Any:
        asked.append(spec)
        return SimpleNamespace(search=print) if spec == "mine" else None

    set_memory_storage_factory(make)
    try:
        assert Memory(storage="mine").storage.search is print
        assert (Memory().storage, Memory(storage="lancedb").storage, Memory(storage="./a").storage) == (
            None,
            None,
            "./a",
        )
    finally:
        set_memory_storage_factory(None)
    assert asked == ["mine", "lancedb", "lancedb", "./a"]


def test_a_seed_gives_the_identity_that_it_gives_in_crewai():
    assert Fingerprint.generate("a").uuid_str == "7c6c4da6-9d69-525d-a929-b8ca29a53340"
