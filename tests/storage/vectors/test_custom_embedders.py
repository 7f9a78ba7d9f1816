"""Custom embedders: functions, objects and LangChain `Embeddings`, without a service."""

import asyncio
import functools
from typing import Any

import numpy as np
import pytest
from crewgraph_compat.stand_ins.embedders import EmbeddingFunction
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from modes import Mode

from crewgraph.errors import EmbedderError
from crewgraph.storage.vectors.embedder import NamedEmbedder
from crewgraph.storage.vectors.resolve import embedder_of

TEXTS = ["one", "three", "eleven"]


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


async def lengths_later(texts: list[str]) -> Any:
    await asyncio.sleep(0)
    return np.array(lengths(texts))


class Lengths(EmbeddingFunction[list[str]]):
    """As CrewAI's programs write it, with another vector for queries."""

    def __init__(self, model_name: str = "l1", api_key: str = "secret") -> None:
        self.model_name, self.api_key = model_name, api_key

    def __call__(self, input: list[str]) -> Any:
        return [np.array(row, np.float32) for row in lengths(input)]

    def embed_query(self, input: list[str]) -> Any:
        return [np.array([0.0, 1.0], np.float32) for _ in input]


class Plain(EmbeddingFunction[list[str]]):
    def __call__(self, input: list[str]) -> Any:
        return lengths(input)


class Own(Embeddings):
    def __init__(self, model: str) -> None:
        self.model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return lengths(texts)

    def embed_query(self, text: str) -> list[float]:
        return lengths([text])[0]


def documents(mode: Mode, embedder: NamedEmbedder, texts: list[str]) -> Any:
    return mode.run(embedder.embeddings.embed_documents, embedder.embeddings.aembed_documents, texts)


def query(mode: Mode, embedder: NamedEmbedder, text: str) -> Any:
    return mode.run(embedder.embeddings.embed_query, embedder.embeddings.aembed_query, text)


@pytest.mark.parametrize(
    "given",
    [
        lengths,
        lengths_later,
        Plain(),
        Plain,
        Own("a"),
        functools.partial(lengths),
        {"provider": "custom", "config": {"embedding_callable": lengths}},
        {"provider": "custom", "config": {"embedding_callable": Plain}},
        {"provider": "custom", "config": {"embedding_callable": Plain()}},
    ],
)
def test_a_custom_function_embeds(given: Any, mode: Mode):
    embedder = embedder_of(given)
    assert documents(mode, embedder, TEXTS) == [[3.0, 1.0], [5.0, 1.0], [6.0, 1.0]]
    assert query(mode, embedder, "seven") == [5.0, 1.0]
    assert documents(mode, embedder, []) == []


def test_a_function_with_another_way_for_queries_is_asked_so(mode: Mode):
    embedder = embedder_of(Lengths)
    assert documents(mode, embedder, ["one"]) == [[3.0, 1.0]]
    assert query(mode, embedder, "one") == [0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (None, "local/1/256"),
        ("local", "local/1/256"),
        ("local/64", "local/1/64"),
        ({"provider": "local", "config": {"dimensions": 512}}, "local/1/512"),
        (lengths, f"custom/{__name__}.lengths/2"),
        (lengths_later, f"custom/{__name__}.lengths_later/2"),
        (Lengths, f"custom/{__name__}.Lengths(model_name=l1)/2"),
        (Own("a"), f"custom/{__name__}.Own(model=a)/2"),
        (functools.partial(lengths), f"custom/{__name__}.lengths/2"),
        (Own("a").embed_documents, f"custom/{__name__}.Own(model=a).embed_documents/2"),
        (
            DeterministicFakeEmbedding(size=8),
            "custom/langchain_core.embeddings.fake.DeterministicFakeEmbedding(size=8)/8",
        ),
        ({"provider": "custom", "config": {"embedding_callable": lengths, "name": "mine-2"}}, "custom/mine-2/2"),
        (
            {"provider": "custom", "config": {"embedding_callable": Lengths, "model_name": "l2"}},
            f"custom/{__name__}.Lengths(model_name=l2)/2",
        ),
    ],
)
def test_the_name_says_what_the_vectors_are_and_holds_no_key(given: Any, name: str):
    assert embedder_of(given).name == name


def test_the_name_is_there_in_an_event_loop_too():
    async def named() -> str:
        return embedder_of(lengths_later).name

    assert asyncio.run(named()) == f"custom/{__name__}.lengths_later/2"


def test_an_embedder_is_one_already_and_may_be_called_like_crewais():
    embedder = embedder_of("local/32")
    assert embedder_of(embedder) is embedder
    vectors = embedder(["a", "b"])
    assert [(vector.shape, str(vector.dtype)) for vector in vectors] == [((32,), "float32")] * 2
    assert embedder_of({"provider": "custom", "config": {"embedding_callable": lengths}})(["a"])[0].tolist() == [
        1.0,
        1.0,
    ]


def test_the_same_thing_is_the_same_embedder_as_long_as_somebody_has_it():
    requested: list[str] = []

    def noting(texts: list[str]) -> list[list[float]]:
        requested.extend(texts)
        return lengths(texts)

    held = embedder_of(noting)
    assert [embedder_of(noting).name for _ in range(3)] == [held.name] * 3
    assert len(requested) == 1
    custom = {"provider": "custom", "config": {"embedding_callable": Lengths, "model_name": "l1"}}
    other = {"provider": "custom", "config": {"embedding_callable": Lengths, "model_name": "l2"}}
    held = embedder_of(custom)
    assert embedder_of(custom) is held
    assert embedder_of(other) is not held
    served = {"provider": "openai", "config": {"api_key": "k"}}
    held = embedder_of(served)
    assert embedder_of(served) is held
    assert embedder_of({"provider": "openai", "config": {"api_key": "l"}}) is not held


def test_the_last_queries_are_not_embedded_again(mode: Mode):
    requested: list[str] = []

    def noting(texts: list[str]) -> list[list[float]]:
        requested.extend(texts)
        return lengths(texts)

    embedder = embedder_of(noting)
    for text in ["a", "b", "a", "b"]:
        assert query(mode, embedder, text) == [1.0, 1.0]
    assert requested == ["a", "b"]
    for number in range(200):
        query(mode, embedder, str(number))
    query(mode, embedder, "a")
    assert requested.count("a") == 2


WRONG: list[tuple[Any, str]] = [
    ([[1.0, 2.0]], "returned 1 vectors for 2 texts"),
    ([[1.0, float("nan")], [0.0, 1.0]], "contains NaN or infinity"),
    ([[1.0, float("inf")], [0.0, 1.0]], "contains NaN or infinity"),
    ([[1.0, 2.0], [1.0]], "not vectors of one length: [[1.0, 2.0], [1.0]]"),
    ([1.0, 2.0], "[1.0, 2.0], which is not a list of numbers for each text"),
    ([[], []], "not a list of numbers for each text"),
    (["one", "two"], "values that are not vectors of one length: ['one', 'two']"),
    (None, "None, which is not a list of numbers"),
]


@pytest.mark.parametrize(("vectors", "reported"), WRONG)
def test_what_are_no_vectors_is_an_error_that_says_so(vectors: Any, reported: str, mode: Mode):
    def broken(texts: list[str]) -> Any:
        return vectors

    with pytest.raises(EmbedderError) as caught:
        documents(mode, embedder_of(broken), ["a", "b"])
    assert reported in str(caught.value)
    assert f"{__name__}." in str(caught.value)


def test_vectors_of_another_size_than_before_are_refused(mode: Mode):
    def ragged(texts: list[str]) -> list[list[float]]:
        return [[1.0] * len(text) for text in texts]

    embedder = embedder_of(ragged)
    assert query(mode, embedder, "abc") == [1.0] * 3
    with pytest.raises(EmbedderError, match="returned vectors of length 5, and of length 3 before"):
        documents(mode, embedder, ["seven"])


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        (7, "A `int` is not an embedder. Accepted: None (local), "),
        (
            {"provider": "custom", "config": {"embedding_callable": lengths, "model": "x"}},
            "this one has also ['model']",
        ),
        ("local/8", "at least 16 `dimensions`, not 8"),
        ({"provider": "local", "config": {"size": 8}}, "`local` has no ['size']"),
        (
            "nonsense/model",
            "`nonsense` is not a supported provider of embeddings. Supported: amazon-bedrock, azure, cohere, custom,",
        ),
        ({"provider": "anthropic"}, "no embedding models, and recommends `voyageai`"),
        (
            {"provider": "openai", "config": {"modle": "x"}},
            "`openai` has no `modle`. Its `config` may hold: api_base, api_key,",
        ),
        ({"provider": "openai"}, "needs an API key. Set EMBEDDINGS_OPENAI_API_KEY or OPENAI_API_KEY"),
        ({"provider": "azure", "config": {"model": "m"}}, "needs the address of its resource"),
    ],
)
def test_what_is_no_embedder_is_refused_with_what_there_is(given: Any, reported: str):
    with pytest.raises(EmbedderError) as caught:
        embedder_of(given)
    assert reported in str(caught.value)
