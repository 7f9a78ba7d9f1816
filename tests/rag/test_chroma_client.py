"""A ChromaDB client that the program created, used through CrewAI's methods."""

import asyncio
import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from crewgraph_compat.stand_ins.rag.chroma_client import (
    ChromaDBClient,
    ClientMethodMismatchError,
    is_async_client,
    is_sync_client,
)
from crewgraph_compat.stand_ins.rag.client import BaseClient, BaseRecord
from crewgraph_compat.stand_ins.rag.embedders import build_embedder
from crewgraph_compat.stand_ins.rag.embedding_functions import CustomEmbeddingFunction
from modes import Mode

from rag.chroma import AsyncClientAPI, ClientAPI, installed

TEXTS: list[BaseRecord] = [
    {"content": "the ferry to Oslo leaves at nine", "metadata": {"page": 1}},
    {"content": "the crane was painted green", "metadata": {"page": 2}},
    {"doc_id": "keeper", "content": "the keeper of the lock is Wiebke"},
]
MEANT = {"collection_name": "my port"}


class Letters(CustomEmbeddingFunction):
    def __call__(self, input: list[str]) -> Any:
        return [[float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in input]


@pytest.fixture
def chroma() -> Iterator[None]:
    with installed():
        yield


def client_for(mode: Mode, embedder: Any, **options: Any) -> ChromaDBClient:
    return ChromaDBClient(AsyncClientAPI() if mode.asynchronous else ClientAPI(), embedder, **options)


def asked(mode: Mode, client: ChromaDBClient, method_name: str, **given: Any) -> Any:
    return mode.run(lambda: getattr(client, method_name)(**given), lambda: getattr(client, f"a{method_name}")(**given))


@pytest.mark.usefixtures("chroma")
@pytest.mark.parametrize("embedder", [Letters(), "local"])
def test_what_is_kept_in_chromadb_is_found(embedder: Any, mode: Mode):
    client = client_for(mode, build_embedder(embedder))
    assert isinstance(client, BaseClient)
    asked(mode, client, "create_collection", **MEANT)
    assert client.client.collections["my_port"].metadata == {"hnsw:space": "cosine"}
    asked(mode, client, "add_documents", documents=TEXTS, batch_size=2, **MEANT)
    asked(mode, client, "add_documents", documents=TEXTS[:1], **MEANT)
    assert [len(ids) for ids in client.client.collections["my_port"].upserts] == [2, 1, 1]
    first = asked(mode, client, "search", query=TEXTS[0]["content"], **MEANT)[0]
    assert (first["content"], first["metadata"], first["score"]) == (TEXTS[0]["content"], {"page": 1}, pytest.approx(1))
    found = asked(mode, client, "search", query="the", score_threshold=0, metadata_filter={"page": 2}, **MEANT)
    assert [one["content"] for one in found] == ["the crane was painted green"]
    found = asked(mode, client, "search", query="the", score_threshold=0, where_document={"$contains": "lock"}, **MEANT)
    assert [(one["id"], one["metadata"]) for one in found] == [("keeper", {})]
    assert asked(mode, client, "search", query="the", limit=1, score_threshold=0, **MEANT) != []
    assert asked(mode, client, "search", query="the", include=["documents"], **MEANT) == []


@pytest.mark.usefixtures("chroma")
def test_collections_of_chromadb_are_made_and_forgotten(mode: Mode):
    client = client_for(mode, Letters(), lock_name="port")
    said = {"hnsw:space": "l2"}
    asked(mode, client, "get_or_create_collection", metadata=said, **MEANT)
    assert client.client.collections["my_port"].metadata == said
    with pytest.raises(ValueError, match="my_port exists"):
        asked(mode, client, "create_collection", **MEANT)
    asked(mode, client, "create_collection", get_or_create=True, **MEANT)
    with pytest.raises(ValueError, match="the list is empty"):
        asked(mode, client, "add_documents", documents=[], **MEANT)
    asked(mode, client, "delete_collection", **MEANT)
    assert client.client.collections == {}
    asked(mode, client, "create_collection", **MEANT)
    asked(mode, client, "reset")
    assert client.client.collections == {}


@pytest.mark.usefixtures("chroma")
@pytest.mark.parametrize(
    "method_name",
    ["create_collection", "get_or_create_collection", "add_documents", "search", "delete_collection", "reset"],
)
def test_a_method_for_the_other_kind_of_client_is_refused(method_name: str):
    assert is_sync_client(ClientAPI()) and is_async_client(AsyncClientAPI()) and not is_sync_client(object())
    with pytest.raises(ClientMethodMismatchError, match=rf"`{method_name}\(\)` needs a `ClientAPI`"):
        getattr(ChromaDBClient(AsyncClientAPI(), Letters()), method_name)()
    with pytest.raises(TypeError, match=rf"call `{method_name}\(\)`"):
        asyncio.run(getattr(ChromaDBClient(ClientAPI(), Letters()), f"a{method_name}")())
    with pytest.raises(ClientMethodMismatchError):
        getattr(ChromaDBClient(object(), Letters()), method_name)()


@pytest.mark.skipif(find_spec("chromadb") is None, reason="ChromaDB is not installed")
def test_what_is_kept_in_the_real_chromadb_is_found():
    chromadb: Any = importlib.import_module("chromadb")
    client = ChromaDBClient(chromadb.EphemeralClient(), build_embedder("local"))
    client.add_documents(collection_name="my port", documents=TEXTS)
    assert client.search(collection_name="my port", query="the keeper of the lock")[0]["id"] == "keeper"
