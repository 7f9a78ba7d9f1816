"""What embedding functions of programs give, in one form; what is expected was seen on CrewAI."""

import asyncio
from typing import Any, cast

import numpy as np
import pytest
from crewgraph_compat.stand_ins.rag.embedding_functions import (
    CustomEmbeddingFunction,
    EmbeddingFunction,
    maybe_cast_one_to_many,
    normalize_embeddings,
    validate_embeddings,
)
from modes import Mode

from crewgraph.storage.vectors.resolve import embedder_of


def test_one_thing_becomes_a_list_of_it():
    assert maybe_cast_one_to_many("x") == ["x"] and maybe_cast_one_to_many(["x", "y"]) == ["x", "y"]
    assert maybe_cast_one_to_many(cast("str | None", None)) is None


@pytest.mark.parametrize(
    ("given", "rows"),
    [
        ([1, 2], [[1, 2]]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([[1], [2, 3]], [[1], [2, 3]]),
        (np.array([1, 2]), [[1, 2]]),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), [[1, 2], [3, 4]]),
        ([np.array([1, 2])], [[1, 2]]),
    ],
)
def test_vectors_of_any_form_become_arrays(given: Any, rows: list[list[float]]):
    found = normalize_embeddings(given)
    assert [row.tolist() for row in found] == rows and {row.dtype for row in found} == {np.dtype(np.float32)}


@pytest.mark.parametrize("given", ["x", ["a"], [True], [["a"]], [None], np.array([[[1]]])])
def test_what_are_no_vectors_are_refused(given: Any):
    with pytest.raises(ValueError):
        normalize_embeddings(given)
    with pytest.raises(IndexError):
        normalize_embeddings([])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (None, "must be a list, not a `NoneType`"),
        ([], "the list of embeddings is empty"),
        ([[1, 2]], "embedding 0 is a `list`"),
        ([np.array([1]), np.array([])], r"embedding 1 has the shape \(0,\)"),
        ([np.array([[1]])], "one dimension"),
        ([np.array(["a"])], "not numbers"),
        ([np.array([True])], "contains `bool`"),
    ],
)
def test_arrays_are_looked_at(given: Any, why: str):
    with pytest.raises(ValueError, match=why):
        validate_embeddings(given)
    assert validate_embeddings([np.array([1, 2])])[0].tolist() == [1, 2]


class Lengths(EmbeddingFunction[list[str]]):
    def __call__(self, input: list[str]) -> Any:
        return [[len(text), 1] for text in input]


class Later(EmbeddingFunction[list[str]]):
    async def __call__(self, input: list[str]) -> Any:
        await asyncio.sleep(0)
        return [[len(text), 1] for text in input]


def test_a_programs_function_gives_arrays_whatever_it_returns():
    for found in (Lengths()(["one", "three"]), Lengths().embed_query(["one", "three"])):
        assert [(row.tolist(), row.dtype) for row in found] == [([3, 1], np.float32), ([5, 1], np.float32)]
    assert isinstance(Lengths(), EmbeddingFunction) and not isinstance(len, EmbeddingFunction)


def test_an_async_one_embeds_as_well(mode: Mode):
    embeddings = embedder_of(Later()).embeddings
    assert mode.run(embeddings.embed_documents, embeddings.aembed_documents, ["one"]) == [[3.0, 1.0]]


def test_one_that_says_not_how_it_embeds_is_told_so():
    class Bare(CustomEmbeddingFunction):
        pass

    with pytest.raises(NotImplementedError, match="`Bare` cannot embed"):
        Bare()(["one"])
