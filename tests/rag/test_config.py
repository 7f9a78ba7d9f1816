"""Configurations, and who makes what they name."""

from types import SimpleNamespace
from typing import Any

import pytest
from crewgraph_compat.stand_ins.rag.client import BaseRAGStorage, FaissClient
from crewgraph_compat.stand_ins.rag.config import ChromaDBConfig, MissingChromaDBConfig, MissingQdrantConfig
from crewgraph_compat.stand_ins.rag.factory import RagContext, create_client
from crewgraph_compat.surface.version import check_version, is_current_version_yanked, is_newer_version_available
from modes import Mode

from crewgraph import Knowledge, Memory
from crewgraph.definitions.base import Fingerprint
from crewgraph.knowledge.passage import SearchResult
from crewgraph.knowledge.storage import BaseKnowledgeStorage, resolve_knowledge_storage, set_knowledge_storage_factory
from crewgraph.memory.backend import resolve_memory_storage, set_memory_storage_factory
from crewgraph.memory.storage import RAGStorage


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


def test_a_client_on_faiss_tells_its_defaults():
    client = create_client(ChromaDBConfig(limit=2, score_threshold=0.1, batch_size=7))
    assert isinstance(client, FaissClient)
    assert (client.default_limit, client.default_score_threshold, client.default_batch_size) == (2, 0.1, 7)


def test_nobody_makes_clients_of_other_providers():
    with pytest.raises(ValueError, match="`nope` is not a vector provider. Available: `chromadb`, `qdrant`"):
        create_client(SimpleNamespace(provider="nope"))  # pyright: ignore[reportArgumentType]


def test_a_context_has_a_configuration_and_no_client_yet():
    config = ChromaDBConfig()
    context = RagContext(config=config)
    assert context.config is config and context.client is None


@pytest.mark.parametrize("missing", [MissingChromaDBConfig, MissingQdrantConfig])
def test_a_configuration_of_what_is_missing_says_what_to_write(missing: Any):
    with pytest.raises(RuntimeError, match=f"`{missing.__name__}` names a store that is not installed"):
        missing()


class Kept(BaseRAGStorage):
    def _sanitize_role(self, role: str) -> str:
        return role.replace(" ", "-")

    def save(self, value: Any, metadata: dict[str, Any]) -> None: ...

    def search(self, query: str, limit: int = 5, filter: Any = None, score_threshold: float = 0.6) -> list[Any]:
        return []

    def reset(self) -> None: ...


def test_a_custom_storage_is_named_by_its_crew():
    crew = SimpleNamespace(agents=[SimpleNamespace(role="a b"), SimpleNamespace(role="c")])
    assert vars(Kept("x", False, {"p": 1}, crew)) == {
        "type": "x",
        "allow_reset": False,
        "embedder_config": {"p": 1},
        "crew": crew,
        "agents": "a-b_c",
    }
    assert vars(Kept("short_term"))["agents"] == ""
    assert issubclass(RAGStorage, BaseRAGStorage)
    with pytest.raises(TypeError):
        BaseRAGStorage("x")  # pyright: ignore[reportAbstractUsage]


def test_a_seed_gives_the_identity_that_it_gives_in_crewai():
    assert Fingerprint.generate("a").uuid_str == "7c6c4da6-9d69-525d-a929-b8ca29a53340"


def test_no_registry_is_asked_for_newer_releases():
    assert check_version() == ("1.15.30", None)
    assert is_newer_version_available() == (False, "1.15.30", None)
    assert is_current_version_yanked() == (False, "")
