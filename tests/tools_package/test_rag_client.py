"""Collections of texts for tools that search, by CrewAI's names."""

import sqlite3
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from crewgraph_compat.stand_ins.files import lock
from crewgraph_compat.stand_ins.tools import create_model_from_schema
from crewgraph_compat.stand_ins.vector_stores import (
    BaseClient,
    BaseRecord,
    ChromaDBConfig,
    QdrantConfig,
    RagConfigType,
    create_client,
    get_rag_client,
)

from crewgraph.errors import EmbedderError, StorageError

TEXTS: list[BaseRecord] = [
    {"content": "the ferry to Oslo leaves at nine", "metadata": {"page": 1}},
    {"content": "the crane was painted green", "metadata": [{"page": 2}, {"page": 3}]},
    {"doc_id": "keeper", "content": "the keeper of the lock is Wiebke"},
]


def texts(found: list[Any]) -> list[str]:
    return [one["content"] for one in found]


def test_what_is_kept_is_found():
    client = BaseClient(ChromaDBConfig())
    client.get_or_create_collection(collection_name="port")
    client.add_documents(collection_name="port", documents=TEXTS, batch_size=1)

    def search(query: str, **more: Any) -> list[Any]:
        return client.search(collection_name="port", query=query, **more)

    first = search("when does the ferry to Oslo leave")[0]
    assert (first["content"], first["metadata"]) == ("the ferry to Oslo leaves at nine", {"page": 1})
    assert 0.6 <= first["score"] <= 1
    assert search("keeper of the lock")[0]["id"] == "keeper"
    assert texts(search("the crane", metadata_filter={"page": 2})) == ["the crane was painted green"]
    assert len(search("the", score_threshold=0.0)) == 3
    assert len(search("the", score_threshold=0.0, limit=2)) == 2
    assert search("the", score_threshold=0.99) == []


def test_nothing_to_keep_is_an_error():
    with pytest.raises(ValueError, match="the list is empty"):
        BaseClient(ChromaDBConfig()).add_documents(collection_name="port", documents=[])


def test_a_place_is_read_from_the_words_of_either_store(tmp_path: Path, storage: Path):
    chroma = ChromaDBConfig(settings={"persist_directory": str(tmp_path / "c")})
    configs: list[RagConfigType] = [chroma, QdrantConfig(options={"path": str(tmp_path / "q")}), ChromaDBConfig()]
    for config in configs:
        create_client(config).add_documents(collection_name="port", documents=TEXTS)
    assert all((folder / "rag.db").exists() for folder in (tmp_path / "c", tmp_path / "q", storage))


def test_what_is_kept_in_memory_leaves_no_file(storage: Path):
    client = BaseClient(QdrantConfig(options={"location": ":memory:"}, score_threshold=0.0))
    client.add_documents(collection_name="port", documents=TEXTS)
    assert len(client.search(collection_name="port", query="the")) == 3
    assert list(storage.iterdir()) == []


@pytest.mark.parametrize(
    "config",
    [QdrantConfig(options={"url": "http://qdrant:6333"}), ChromaDBConfig(settings={"chroma_server_host": "there"})],
)
def test_a_server_is_refused(config: RagConfigType):
    with pytest.raises(StorageError, match="names a server of"):
        create_client(config)


def test_an_embedder_that_is_none_is_refused():
    with pytest.raises(EmbedderError):
        create_client(ChromaDBConfig(embedding_function=3))


def test_tools_share_one_client():
    assert get_rag_client() is get_rag_client() and get_rag_client().config == ChromaDBConfig()


def test_a_schema_becomes_a_model_that_shows_it_and_leaves_the_values_to_the_server():
    schema: dict[str, Any] = {"title": "Note", "type": "object", "properties": {"day": {"type": "string"}}}
    made = create_model_from_schema(schema)
    assert (made.__name__, made.model_json_schema()) == ("Note", schema)
    assert made.model_validate({"day": "2026-01-02", "more": {"x": 1}}).model_dump() == {
        "day": "2026-01-02",
        "more": {"x": 1},
    }
    assert create_model_from_schema({}, model_name="Q").__name__ == "Q"


def test_a_lock_holds_among_processes(storage: Path):
    program = (
        "from crewgraph_compat.stand_ins.files import lock\n"
        "try:\n    with lock('port', timeout=0.1): print('got it')\n"
        "except TimeoutError as error: print(error)"
    )

    def other() -> str:
        done = processes.run(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"], capture_output=True
        )
        return done.stdout.decode().strip() or done.stderr.decode()

    with lock("port"), lock("another"):
        assert other() == "the lock `port` could not be acquired within 0.1 seconds."
    assert other() == "got it"
    with pytest.raises(sqlite3.ProgrammingError), lock("port"):
        raise sqlite3.ProgrammingError
    assert other() == "got it"
