"""An embedder and the name that its vectors are kept under.

Names for the vectors of embedders that other people wrote.

Functions that embed, as LangChain's `Embeddings`.

Embedders of others, held to what an embedder is to give: a vector for each text, all of the same size, of numbers.

Blocking embedders in async runs.

Embedders that are in use, so that what is given again is not opened again.
"""

import functools
import json
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import MethodType
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from crewgraph.core.loops.bridge import acall, call, in_thread
from crewgraph.errors import EmbedderError

__all__ = ["CheckedEmbeddings", "FunctionEmbeddings", "NamedEmbedder", "ThreadedEmbeddings", "held", "identity_of"]


class NamedEmbedder:
    """What turns texts into vectors, and what these vectors are: those of another name are never compared with them.

    It may be called as CrewAI's embedding functions are: with a list of texts.

    Args:
        embeddings: what embeds; its vectors are finite numbers, all of them as many, of any length.
        name: "provider/model/dimensions", "local/1/256"; or a function that finds it out when it is first asked for.
        given: what it was made of, if that was an object.
    """

    embeddings: Embeddings

    def __init__(self, embeddings: Embeddings, name: str | Callable[[], str], given: object = None) -> None:
        self.embeddings = embeddings
        self.given = given
        self._name = name

    @cached_property
    def name(self) -> str:
        """The identity of the vectors; it holds no key.

        Of a function of one's own it says how long its vectors are: the first time, a text is embedded to find out, which
        blocks, and fails as embedding does.
        """
        return self._name if isinstance(self._name, str) else self._name()

    def __call__(self, input: list[str]) -> list[NDArray[np.float32]]:
        return [np.array(vector, np.float32) for vector in self.embeddings.embed_documents(input)]

    def __repr__(self) -> str:
        return f"NamedEmbedder({self._name if isinstance(self._name, str) else type(self.embeddings).__name__})"


_TELLING = (
    "model",
    "model_name",
    "model_id",
    "repo_id",
    "deployment",
    "checkpoint",
    "dimensions",
    "dimension",
    "output_dimension",
    "output_dimensionality",
    "size",
    "task_type",
    "input_type",
    "instruction",
    "normalize",
    "normalize_embeddings",
)
_LONGEST = 100


def identity_of(embedder: Any) -> str:
    """What tells an embedder from others: where it is defined, and the attributes that name its model.

    Nothing else is looked at, so that no key gets into it; two embedders that differ in anything else have one name.
    """
    if isinstance(embedder, functools.partial):
        made: Any = embedder  # pyright: ignore[reportUnknownVariableType]
        return identity_of(made.func) + _told(made.keywords)
    if isinstance(embedder, MethodType):
        return f"{identity_of(embedder.__self__)}.{embedder.__name__}"
    named = embedder if hasattr(embedder, "__qualname__") else embedder.__class__
    return f"{_module(named.__module__)}.{named.__qualname__}" + _told(_attributes(embedder))


def _module(name: str | None) -> str:
    """A program's own file, where it is the program that was started: every one of them is called `__main__`."""
    if name != "__main__":
        return name or ""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return name if file is None else Path(file).stem


def _attributes(embedder: Any) -> dict[str, Any]:
    return {} if hasattr(embedder, "__qualname__") else {word: getattr(embedder, word, None) for word in _TELLING}


def _told(values: dict[str, Any]) -> str:
    told = {
        word: value for word, value in values.items() if word in _TELLING and isinstance(value, (str, int)) and value
    }
    shown = ",".join(f"{word}={str(told[word])[:_LONGEST]}" for word in sorted(told))
    return f"({shown})" if shown else ""


class FunctionEmbeddings(Embeddings):
    """A function of a list of texts, sync or async, that gives a vector for each.

    An object with `embed_query` of its own, as CrewAI's embedding functions have it, is asked with that for the vector of a
    query: a function, too, of a list of texts.
    """

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self.function = function
        query = getattr(function, "embed_query", None)
        self._query: Callable[[list[str]], Any] = query if callable(query) else function

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return call(self.function, texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await acall(self.function, texts)

    def embed_query(self, text: str) -> list[float]:
        return _only(call(self._query, [text]))

    async def aembed_query(self, text: str) -> list[float]:
        return _only(await acall(self._query, [text]))


def _only(vectors: Any) -> Any:
    """The one vector of one text; what is no list of one passes, for whoever checks it."""
    return vectors[0] if hasattr(vectors, "__len__") and len(vectors) == 1 else vectors


_QUERIES = 128


class CheckedEmbeddings(Embeddings):
    """Another's embeddings: what they give is looked at, and the last queries' vectors are kept.

    A run asks several memories with the same words; their vectors are paid for once.

    Args:
        source: what embeds.
        label: how errors call it.

    Raises:
        EmbedderError: from each method, where the source gives too few or too many vectors, vectors of another size than
            before, or what are no numbers.
    """

    def __init__(self, source: Embeddings, label: str) -> None:
        self.source = source
        self.label = label
        self.size: int | None = None
        """How many numbers a vector has; None until there is one."""

        self._queries: OrderedDict[str, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._checked(self.source.embed_documents(texts), len(texts)) if texts else []

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._checked(await self.source.aembed_documents(texts), len(texts)) if texts else []

    def embed_query(self, text: str) -> list[float]:
        return self._recalled(text) or self._kept(text, self.source.embed_query(text))

    async def aembed_query(self, text: str) -> list[float]:
        return self._recalled(text) or self._kept(text, await self.source.aembed_query(text))

    def _recalled(self, text: str) -> list[float] | None:
        with self._lock:
            if text not in self._queries:
                return None
            self._queries.move_to_end(text)
            return self._queries[text].tolist()

    def _kept(self, text: str, given: Any) -> list[float]:
        vector = self._checked([given], 1)[0]
        with self._lock:
            self._queries[text] = array("d", vector)
            if len(self._queries) > _QUERIES:
                self._queries.popitem(last=False)
        return vector

    def _checked(self, given: Any, count: int) -> list[list[float]]:
        found = len(given) if hasattr(given, "__len__") else count
        if found != count:
            raise EmbedderError(f"The embedder {self.label} gave {found} vectors for {count} texts.")
        try:
            vectors = np.array(given, np.float64)
        except (TypeError, ValueError):
            raise EmbedderError(
                f"The embedder {self.label} gave what are no vectors of one size: {_shown(given)}. It is to give a list of "
                "numbers for each text."
            ) from None
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise EmbedderError(
                f"The embedder {self.label} gave {_shown(given)}, which is no list of numbers for each text."
            )
        if not np.isfinite(vectors).all():
            raise EmbedderError(f"The embedder {self.label} gave a vector that holds NaN or an infinite number.")
        self._sized(vectors.shape[1])
        return vectors.tolist()

    def _sized(self, size: int) -> None:
        if self.size is None:
            self.size = size
        if self.size != size:
            raise EmbedderError(
                f"The embedder {self.label} gave vectors of {size} numbers, and of {self.size} before. Vectors of several "
                "sizes cannot be compared: give each model an embedder of its own."
            )


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) < 80 else f"{text[:77]}..."


class ThreadedEmbeddings(Embeddings):
    """Another's embeddings whose async methods run the sync ones in a thread.

    The async clients of most libraries keep connections that die with the event loop they were first used on.
    """

    def __init__(self, source: Embeddings) -> None:
        self.source = source

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.source.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.source.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await in_thread(self.source.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        return await in_thread(self.source.embed_query, text)


_held: WeakValueDictionary[tuple[int, str], NamedEmbedder] = WeakValueDictionary()


def held(given: object, words: Mapping[str, Any], make: Callable[[], NamedEmbedder]) -> NamedEmbedder:
    """The embedder that somebody has of the same thing and the same words; else a new one.

    A connection is costly to open, the name of a function's vectors may cost a request, and a store is asked for as often
    as a crew is run.

    Args:
        given: what the embedder is made of, and holds as `given`.
        words: more that it is made of; with anything but plain data in it, it is made anew.
        make: how it is made.
    """
    try:
        key = (id(given), json.dumps(words, sort_keys=True))
    except TypeError:
        return make()
    known = _held.get(key)
    if known is None or known.given is not given:  # an id is used again once its object is gone
        known = _held[key] = make()
    return known
