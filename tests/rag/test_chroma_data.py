"""Names, documents and results, as ChromaDB has them; what is expected was seen on CrewAI."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from crewgraph_compat.stand_ins.rag.chroma_records import (
    ChromaEmbeddingFunctionWrapper,
    Include,
    Metric,
    PreparedDocuments,
    batch_slice,
    collection_name,
    extracted_params,
    prepared_documents,
    query_results,
    score_of,
    search_results,
)
from pydantic import TypeAdapter

ALL: Include = ["metadatas", "documents", "distances"]
FOUND = {"ids": [["1", "2"]], "documents": [["a", "b"]], "metadatas": [[{"x": 1}, None]], "distances": [[0.1, 1.5]]}


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (None, "default_collection"),
        ("", "default_collection"),
        ("ab", "abx"),
        ("1", "1xx"),
        ("a!", "azx"),
        ("hello world", "hello_world"),
        ("127.0.0.1", "ip_127_0_0_1"),
        ("__x__", "a__x_z"),
        ("-a-", "a-az"),
        ("Ünï", "a_nz"),
        ("...", "a__z"),
        ("a" * 80, "a" * 63),
        ("a" * 62 + "_b", "a" * 62 + "z"),
    ],
)
def test_any_text_becomes_a_name_that_chromadb_takes(given: str | None, taken: str):
    assert collection_name(given) == taken


def test_a_name_is_as_long_as_it_may_be():
    assert collection_name("hello world", max_collection_length=10) == "hello_worl"
    assert collection_name("127.0.0.1", max_collection_length=10) == "ip_127_0_0"


def test_documents_become_lists_with_ids_of_their_words_and_metadata():
    hello = "2a2c85ad777366d9b2d8952d133e6af37670fcf40d736c4d0ee6976f62db6820"
    listed = "050f05f237df01396a58e6ddcc2fb46a32820bc7b7eee616b52d3cf7a1dd65ba"
    plain = "594e519ae499312b29433b7dd8a97ff068defcba9755b6d5d00e84c524d67b06"
    prepared = prepared_documents(
        [
            {"content": "hello", "metadata": {"a": 1}},
            {"content": "hello", "metadata": {"a": 1}},
            {"content": "x", "doc_id": "7"},
            {"content": "y", "metadata": [{"b": 2}, {"c": 3}]},
            {"content": "z", "metadata": []},
            {"content": "x2", "doc_id": "7"},
        ]
    )
    assert prepared == PreparedDocuments(
        ids=[hello, "7", listed, plain],
        texts=["hello", "x2", "y", "z"],
        metadatas=[{"a": 1}, {}, {"b": 2}, {}],
    )
    assert batch_slice(prepared, 0, 2) == ([hello, "7"], ["hello", "x2"], [{"a": 1}, {}])
    assert batch_slice(prepared, 3, 100) == ([plain], ["z"], None)
    with pytest.raises(ValueError, match="a document has no `content`, only \\['doc_id'\\]"):
        prepared_documents([cast("Any", {"doc_id": "1"})])


def test_a_search_has_all_that_was_left_out():
    assert extracted_params({"collection_name": "a", "query": "q"}) == (
        *("a", "q", 10, None, None, None, None),
        ["metadatas", "documents", "distances"],
    )
    assert extracted_params({"collection_name": "a", "query": "q", "limit": 3, "where": {"b": 1}}).where == {"b": 1}
    with pytest.raises(KeyError):
        extracted_params(cast("Any", {"query": "q"}))


@pytest.mark.parametrize(
    ("distance", "metric", "score"),
    [(0, "l2", 1), (1, "l2", 0.5), (3, "l2", 0.25), (0.5, "cosine", 0.75), (3, "cosine", 0), (-1, "cosine", 1)],
)
def test_a_distance_becomes_a_score(distance: float, metric: Metric, score: float):
    assert score_of(distance, metric) == score


def test_results_keep_their_order_and_lose_what_is_far():
    near = {"id": "1", "content": "a", "metadata": {"x": 1}, "score": 0.95}
    far: dict[str, Any] = {"id": "2", "content": "b", "metadata": {}, "score": 0.25}
    assert search_results(FOUND, ALL, "cosine") == [near, far]
    assert search_results(FOUND, ALL, "cosine", 0.5) == [near]
    assert search_results(FOUND, ["distances"], "cosine", 0.5) == [{**near, "content": "", "metadata": {}}]
    assert search_results(FOUND, ["documents"], "cosine") == []
    assert search_results({"ids": []}, ALL, "l2") == []
    with pytest.raises(ValueError, match="the metric `ip` has no scale"):
        search_results(FOUND, ALL, "ip")


def test_a_collection_says_how_it_measures():
    params = extracted_params({"collection_name": "a", "query": "q", "score_threshold": 0.3})
    cosine, none = SimpleNamespace(metadata={"hnsw:space": "cosine"}), SimpleNamespace(metadata=None)
    assert [one["score"] for one in query_results(cosine, FOUND, params)] == [0.95]
    assert [round(one["score"], 3) for one in query_results(none, FOUND, params)] == [0.909, 0.4]


def test_an_embedding_function_as_a_field_is_taken_as_it_is():
    assert TypeAdapter(ChromaEmbeddingFunctionWrapper).validate_python(3) == 3
