"""Embedders: `NamedEmbedder` is what stores use; the other classes adapt functions and LangChain `Embeddings` to it.

`identity_of` names the vectors of user-defined embedders, and `shared_embedder` reuses those that are still in use.
"""

import functools
import inspect
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

from crewgraph.core.operations import Program, adrive, blocking, drive, user_call
from crewgraph.errors import EmbedderError


class NamedEmbedder:
    """Turns texts into vectors, and names them: vectors with different names are never compared.

    It can be called like CrewAI's embedding functions, with a list of texts.

    Args:
        embeddings: returns vectors of finite numbers, all of the same length, in any scale.
        name: "provider/model/dimensions", such as "local/1/256"; or a function that finds it out on first use.
        source: the object that it was created from, if any.
    """

    embeddings: Embeddings

    def __init__(self, embeddings: Embeddings, name: str | Callable[[], str], source: object = None) -> None:
        self.embeddings = embeddings
        self.source = source
        self._name = name

    def keeps(self, texts: list[str]) -> bool:
        """Return whether the vectors of these texts, once embedded as documents, are kept for queries and documents."""
        return isinstance(self.embeddings, CheckedEmbeddings) and self.embeddings.keeps(texts)

    @cached_property
    def name(self) -> str:
        """The name of the vectors. It contains no key.

        The name of a user-defined function contains the length of its vectors: on first use a text is embedded to find out,
        which blocks, and fails as embedding does.
        """
        return self._name if isinstance(self._name, str) else self._name()

    def __call__(self, input: list[str]) -> list[NDArray[np.float32]]:
        return [np.array(vector, np.float32) for vector in self.embeddings.embed_documents(input)]

    def __repr__(self) -> str:
        return f"NamedEmbedder({self._name if isinstance(self._name, str) else type(self.embeddings).__name__})"


_IDENTITY_ATTRIBUTES = (
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
_MAX_VALUE_LENGTH = 100


def identity_of(embedder: Any) -> str:
    """Identify a user-defined embedder by where it is defined and by the attributes that name its model.

    No other attribute is read, so that no key gets into the name; embedders that differ in other ways share a name.
    """
    if isinstance(embedder, functools.partial):
        function: object = embedder  # pyright: ignore[reportUnknownVariableType]
        return identity_of(function.func) + _identity_suffix(function.keywords)
    if isinstance(embedder, MethodType):
        return f"{identity_of(embedder.__self__)}.{embedder.__name__}"
    named = embedder if hasattr(embedder, "__qualname__") else embedder.__class__
    words = () if named is embedder else _IDENTITY_ATTRIBUTES
    attributes: dict[str, object] = {word: getattr(embedder, word, None) for word in words}
    return f"{_module_name(named.__module__)}.{named.__qualname__}" + _identity_suffix(attributes)


def _module_name(name: str | None) -> str:
    """The module's name; for `__main__`, which every program has, the name of its file."""
    if name != "__main__":
        return name or ""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return name if file is None else Path(file).stem


def _identity_suffix(values: dict[str, object]) -> str:
    present = {
        word: value
        for word, value in values.items()
        if word in _IDENTITY_ATTRIBUTES and isinstance(value, (str, int)) and value
    }
    attributes = ",".join(f"{word}={str(present[word])[:_MAX_VALUE_LENGTH]}" for word in sorted(present))
    return f"({attributes})" if attributes else ""


class ProgramEmbeddings(Embeddings):
    """Embeddings that say once how they embed, as a program for sync and async runs."""

    def documents(self, texts: list[str]) -> Program[Any]:
        """Return the vectors of documents."""
        raise NotImplementedError

    def query(self, text: str) -> Program[Any]:
        """Return the vector of a query."""
        raise NotImplementedError

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return drive(self.documents(texts))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await adrive(self.documents(texts))

    def embed_query(self, text: str) -> list[float]:
        return drive(self.query(text))

    async def aembed_query(self, text: str) -> list[float]:
        return await adrive(self.query(text))


class FunctionEmbeddings(ProgramEmbeddings):
    """Adapts a function, sync or async, from a list of texts to a vector for each.

    If the object has an `embed_query` of its own, as CrewAI's embedding functions do, it is used for queries: it takes a list
    of texts as well.
    """

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self.function = function
        # Looked up without `__getattr__`: a mock creates any attribute on access.
        has_query = inspect.getattr_static(function, "embed_query", None) is not None
        query: object = getattr(function, "embed_query") if has_query else None  # noqa: B009
        self._query: Callable[[list[str]], object] = query if callable(query) else function
        self.is_symmetric = self._query is function
        """Whether queries and documents have the same vectors."""

    def documents(self, texts: list[str]) -> Program[Any]:
        return (yield user_call(self.function, texts))

    def query(self, text: str) -> Program[Any]:
        vectors = yield user_call(self._query, [text])
        # Other values are returned for the caller to check.
        return vectors[0] if hasattr(vectors, "__len__") and len(vectors) == 1 else vectors


_MAX_CACHED_QUERIES = 128


class CheckedEmbeddings(ProgramEmbeddings):
    """Validates the vectors of other embeddings, and caches those of recent queries.

    A run queries several memories with the same text; its vector is computed once. A memory looks for what is like a text before
    it saves it: a function that makes no difference between queries and documents is called once for both.

    Args:
        source: the embeddings.
        label: their name in errors.

    Raises:
        EmbedderError: from each method, if the source returns too few or too many vectors, vectors of another length than
            before, or values that are not numbers.
    """

    def __init__(self, source: Embeddings, label: str) -> None:
        self.source = source
        self.label = label
        self.size: int | None = None
        """The length of vectors; None until there is one."""

        self._queries: OrderedDict[str, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    def documents(self, texts: list[str]) -> Program[list[list[float]]]:
        known = [self._cached(text) if self._is_symmetric else None for text in texts]
        unknown = [text for text, vector in zip(texts, known, strict=True) if vector is None]
        if not unknown:
            return [vector for vector in known if vector is not None]
        source = self.source
        vectors = self._check(
            (yield user_call(source.embed_documents, unknown, twin=source.aembed_documents)), len(unknown)
        )
        if self.keeps(unknown):
            for text, vector in zip(unknown, vectors, strict=True):
                self._store_vector(text, vector)
        rest = iter(vectors)
        return [next(rest) if vector is None else vector for vector in known]

    def query(self, text: str) -> Program[list[float]]:
        if (known := self._cached(text)) is not None:
            return known
        result = yield user_call(self.source.embed_query, text, twin=self.source.aembed_query)
        vector = self._check([result], 1)[0]
        self._store_vector(text, vector)
        return vector

    @property
    def _is_symmetric(self) -> bool:
        return getattr(self.source, "is_symmetric", False)

    def keeps(self, texts: list[str]) -> bool:
        """Return whether the vectors of documents are cached: of a few texts, if they are those of queries, too."""
        return self._is_symmetric and len(texts) <= _MAX_CACHED_QUERIES

    def _cached(self, text: str) -> list[float] | None:
        with self._lock:
            if text not in self._queries:
                return None
            self._queries.move_to_end(text)
            return self._queries[text].tolist()

    def _store_vector(self, text: str, vector: list[float]) -> None:
        with self._lock:
            self._queries[text] = array("d", vector)
            if len(self._queries) > _MAX_CACHED_QUERIES:
                self._queries.popitem(last=False)

    def _check(self, result: Any, count: int) -> list[list[float]]:
        received = len(result) if hasattr(result, "__len__") else count
        if received != count:
            raise EmbedderError(f"The embedder {self.label} returned {received} vectors for {count} texts.")
        try:
            vectors = np.array(result, np.float64)
        except (TypeError, ValueError):
            raise EmbedderError(
                f"The embedder {self.label} returned values that are not vectors of one length: {_abbreviated(result)}. "
                "It must return a list of numbers for each text."
            ) from None
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise EmbedderError(
                f"The embedder {self.label} returned {_abbreviated(result)}, which is not a list of numbers for each text."
            )
        if not np.isfinite(vectors).all():
            raise EmbedderError(f"The embedder {self.label} returned a vector that contains NaN or infinity.")
        size = vectors.shape[1]
        if self.size is None:
            self.size = size
        if self.size != size:
            raise EmbedderError(
                f"The embedder {self.label} returned vectors of length {size}, and of length {self.size} before. Vectors of "
                "different lengths cannot be compared: create one embedder for each model."
            )
        return vectors.tolist()


def _abbreviated(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."


class ThreadedEmbeddings(ProgramEmbeddings):
    """Other embeddings, whose sync methods run in a thread in place of their async ones.

    The async clients of most libraries keep connections that die with the event loop they were first used on. An interruption
    does not wait for the thread, as it would for LangChain's.
    """

    def __init__(self, source: Embeddings) -> None:
        self.source = source

    def documents(self, texts: list[str]) -> Program[list[list[float]]]:
        return (yield blocking(self.source.embed_documents, texts))

    def query(self, text: str) -> Program[list[float]]:
        return (yield blocking(self.source.embed_query, text))


_shared: WeakValueDictionary[tuple[int, str], NamedEmbedder] = WeakValueDictionary()


def shared_embedder(
    source: object, arguments: Mapping[str, object], create: Callable[[], NamedEmbedder]
) -> NamedEmbedder:
    """The embedder in use with the same source and arguments, or else a new one.

    A connection is costly to open, naming a function's vectors may cost a request, and a store is resolved as often
    as a crew is run.

    Args:
        source: what the embedder is created from, and holds as `source`.
        arguments: further arguments; if they are not plain data, a new embedder is created.
        create: creates the embedder.
    """
    try:
        key = (id(source), json.dumps(arguments, sort_keys=True))
    except TypeError:
        return create()
    shared = _shared.get(key)
    if shared is None or shared.source is not source:  # an id is used again once its object is gone
        shared = _shared[key] = create()
    return shared
