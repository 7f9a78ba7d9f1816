"""Collections of texts for tools that search, by CrewAI's names."""

import sqlite3
import sys
from pathlib import Path
from typing import Any

import processes
import pytest
from crewgraph_compat.stand_ins.rag.client import BaseClient, BaseRecord, FaissClient
from crewgraph_compat.stand_ins.rag.config import ChromaDBConfig, QdrantConfig, RagConfigType
from crewgraph_compat.stand_ins.rag.embedders import build_embedder
from crewgraph_compat.stand_ins.rag.factory import (
    clear_rag_config,
    create_client,
    get_rag_client,
    get_rag_config,
    register_rag_client_factory,
    set_rag_config,
    unregister_rag_client_factory,
)
from crewgraph_compat.stand_ins.storage.files import lock
from crewgraph_compat.stand_ins.tools.schemas import create_model_from_schema
from modes import Mode
from pydantic import BaseModel, TypeAdapter, ValidationError

from crewgraph.errors import EmbedderError, StorageError

TEXTS: list[BaseRecord] = [
    {"content": "the ferry to Oslo leaves at nine", "metadata": {"page": 1}},
    {"content": "the crane was painted green", "metadata": [{"page": 2}, {"page": 3}]},
    {"doc_id": "keeper", "content": "the keeper of the lock is Wiebke"},
]


def texts(found: list[Any]) -> list[str]:
    return [one["content"] for one in found]


def test_what_is_kept_is_found(mode: Mode):
    client = FaissClient(ChromaDBConfig())
    client.get_or_create_collection(collection_name="port")
    mode.run(
        lambda: client.add_documents(collection_name="port", documents=TEXTS),
        lambda: client.aadd_documents(collection_name="port", documents=TEXTS, batch_size=1),
    )

    def search(query: str, **more: Any) -> list[Any]:
        return mode.run(
            lambda: client.search(collection_name="port", query=query, **more),
            lambda: client.asearch(collection_name="port", query=query, **more),
        )

    first = search("when does the ferry to Oslo leave")[0]
    assert (first["content"], first["metadata"]) == ("the ferry to Oslo leaves at nine", {"page": 1})
    assert 0.6 <= first["score"] <= 1
    assert search("keeper of the lock")[0]["id"] == "keeper"
    assert texts(search("the crane", metadata_filter={"page": 2})) == ["the crane was painted green"]
    assert len(search("the", score_threshold=0.0)) == 3
    assert len(search("the", score_threshold=0.0, limit=2)) == 2
    assert search("the", score_threshold=0.99) == []


def test_the_same_text_is_kept_once_and_an_id_names_one_text():
    client = FaissClient(ChromaDBConfig(score_threshold=0.0))
    client.add_documents(collection_name="port", documents=TEXTS)
    client.add_documents(collection_name="port", documents=TEXTS)
    client.add_documents(collection_name="port", documents=[{"doc_id": "keeper", "content": "the keeper is gone"}])
    assert sorted(texts(client.search(collection_name="port", query="the"))) == [
        "the crane was painted green",
        "the ferry to Oslo leaves at nine",
        "the keeper is gone",
    ]


def test_collections_are_apart_and_go_one_by_one(mode: Mode):
    client = FaissClient(ChromaDBConfig(score_threshold=0.0))
    for name in ("port", "harbour", "lake"):
        client.add_documents(collection_name=name, documents=[{"content": f"about the {name}"}])

    def there() -> list[str]:
        return [n for n in ("port", "harbour", "lake") if client.search(collection_name=n, query="about")]

    with pytest.raises(ValueError, match="the collection `port` already exists"):
        mode.run(
            lambda: client.create_collection(collection_name="port"),
            lambda: client.acreate_collection(collection_name="port"),
        )
    client.create_collection(collection_name="new")
    mode.run(
        lambda: client.delete_collection(collection_name="port"),
        lambda: client.adelete_collection(collection_name="port"),
    )
    assert there() == ["harbour", "lake"]
    client.delete_collection(collection_name="never there")
    mode.run(client.reset, client.areset)
    assert there() == []


def test_nothing_to_keep_is_an_error():
    with pytest.raises(ValueError, match="the list is empty"):
        FaissClient(ChromaDBConfig()).add_documents(collection_name="port", documents=[])


def test_it_is_what_crewai_calls_a_client():
    client = FaissClient(ChromaDBConfig(embedding_function="local/512"))
    assert isinstance(client, BaseClient)
    assert repr(client.embedding_function) == "NamedEmbedder(local/1/512)"
    assert type(client.client).__name__ == "FaissStore"


def test_a_place_is_read_from_the_words_of_either_store(tmp_path: Path, storage: Path):
    chroma = ChromaDBConfig(settings={"persist_directory": str(tmp_path / "c")})
    configs: list[RagConfigType] = [chroma, QdrantConfig(options={"path": str(tmp_path / "q")}), ChromaDBConfig()]
    for config in configs:
        create_client(config).add_documents(collection_name="port", documents=TEXTS)
    assert all((folder / "rag.db").exists() for folder in (tmp_path / "c", tmp_path / "q", storage))


def test_what_is_kept_in_memory_leaves_no_file(storage: Path):
    client = FaissClient(QdrantConfig(options={"location": ":memory:"}, score_threshold=0.0))
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


def test_configurations_are_frozen_and_distinguished_by_their_provider():
    read: TypeAdapter[Any] = TypeAdapter(RagConfigType)
    assert type(read.validate_python({"provider": "qdrant"})) is QdrantConfig
    assert read.validate_python({"provider": "chromadb", "limit": 7}).limit == 7
    with pytest.raises(ValidationError):
        read.validate_python({"provider": "pinecone"})
    with pytest.raises((AttributeError, ValidationError)):
        ChromaDBConfig().limit = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_the_configuration_that_holds_has_one_client():
    clear_rag_config()
    assert get_rag_config() == ChromaDBConfig() and get_rag_client() is get_rag_client()
    mine = QdrantConfig(limit=2)
    set_rag_config(mine)
    assert get_rag_config() is mine and vars(get_rag_client())["config"] is mine
    clear_rag_config()
    assert get_rag_config() == ChromaDBConfig()


def test_a_program_may_make_the_clients_of_a_provider():
    mine = FaissClient(ChromaDBConfig())
    register_rag_client_factory("chromadb", lambda _: mine)
    try:
        assert create_client(ChromaDBConfig()) is mine
    finally:
        unregister_rag_client_factory("chromadb")
    assert create_client(ChromaDBConfig()) is not mine


@pytest.mark.parametrize(
    "given",
    [
        {"provider": "local", "config": {"dimensions": 512}},
        {"provider": "local", "dimensions": 512},
        "local/512",
    ],
)
def test_an_embedder_is_made_of_its_description(given: Any):
    embedder = build_embedder(given)
    assert embedder.name == "local/1/512"
    assert [len(vector) for vector in embedder(["one", "two"])] == [512, 512]


# ---------------------------------------------------------------- what tools need besides
SCHEMA: dict[str, Any] = {
    "title": "Note",
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "what", "minLength": 2},
        "times": {"type": "integer", "default": 3},
        "tags": {"type": "array", "items": {"type": "string"}},
        "kind": {"enum": ["a", "b"]},
        "where": {"type": "object", "properties": {"pier": {"type": "number"}}, "required": ["pier"]},
        "more": {"type": "object"},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "ship": {"$ref": "#/$defs/Ship"},
        "both": {"allOf": [{"$ref": "#/$defs/Ship"}, {"properties": {"flag": {"type": ["string", "null"]}}}]},
        "day": {"type": "string", "format": "date"},
        "any": {},
    },
    "required": ["text", "kind"],
    "$defs": {
        "Ship": {"type": "object", "properties": {"crew": {"type": "integer"}, "next": {"$ref": "#/$defs/Ship"}}}
    },
}


def test_a_schema_becomes_a_model():
    made = create_model_from_schema(SCHEMA)
    assert made.__name__ == "Note"
    given = {
        "text": "hello",
        "kind": "a",
        "tags": ["x"],
        "where": {"pier": 2},
        "ship": {"crew": "4", "next": {"crew": 5}},
        "both": {"crew": 1, "flag": None},
        "day": "2026-01-02",
        "more": {"x": 1},
    }
    said = made.model_validate(given).model_dump(mode="json")
    assert said == {
        **given,
        "times": 3,
        "where": {"pier": 2.0},
        "either": None,
        "any": None,
        "both": {"crew": 1, "next": None, "flag": None},
        "ship": {"crew": 4, "next": {"crew": 5}},
    }
    assert made.model_fields["text"].description == "what"
    assert [name for name, field in made.model_fields.items() if field.is_required()] == ["text", "kind"]


@pytest.mark.parametrize("wrong", [{"kind": "a"}, {"text": "x", "kind": "a"}, {"text": "xx", "kind": "c"}])
def test_such_a_model_refuses_what_its_schema_does(wrong: dict[str, Any]):
    with pytest.raises(ValidationError):
        create_model_from_schema(SCHEMA).model_validate(wrong)


def test_such_a_model_has_a_name_and_a_base_that_were_asked_for():
    class Base(BaseModel):
        own: int = 1

    made = create_model_from_schema(
        {"type": "object", "properties": {"x": {"type": "string"}}}, model_name="Q", __base__=Base
    )
    assert issubclass(made, Base) and made.__name__ == "Q" and set(made.model_fields) == {"own", "x"}
    with pytest.raises(ValueError, match="leads to nothing"):
        create_model_from_schema({"$ref": "#/$defs/None"})


def test_a_lock_holds_among_processes(storage: Path):
    program = (
        "from crewgraph_compat.stand_ins.storage.files import lock\n"
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
