"""A minimal ChromaDB for these tests: both kinds of clients, in memory, with its distances and errors."""

import math
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["AsyncClientAPI", "ClientAPI", "installed"]


class Collection:
    def __init__(self, name: str, metadata: dict[str, Any], embed: Any) -> None:
        self.name, self.metadata, self.embed = name, metadata, embed
        self.stored: dict[str, tuple[str, Any, list[float]]] = {}
        self.upserts: list[list[str]] = []

    def upsert(self, ids: list[str], documents: list[str], metadatas: list[Any] | None) -> None:
        if len(set(ids)) != len(ids):
            raise ValueError("ids are not unique")
        if {} in (metadatas or []):
            raise ValueError("metadata is empty")
        self.upserts.append(ids)
        for at, (key, text, vector) in enumerate(zip(ids, documents, self.embed(documents), strict=True)):
            self.stored[key] = (text, metadatas[at] if metadatas else None, [float(number) for number in vector])

    def query(
        self, query_texts: list[str], n_results: int, where: Any, where_document: Any, include: list[str]
    ) -> dict[str, Any]:
        expected = [float(number) for number in self.embed.embed_query(query_texts)[0]]
        rows = [
            (1 - _cosine(expected, vector), key, text, metadata)
            for key, (text, metadata, vector) in self.stored.items()
            if _fits(metadata or {}, where or {}) and (where_document or {}).get("$contains", "") in text
        ]
        rows = sorted(rows)[:n_results]
        reported = {"distances": [row[0] for row in rows], "documents": [row[2] for row in rows]}
        reported["metadatas"] = [row[3] for row in rows]
        return {"ids": [[row[1] for row in rows]]} | {n: [reported[n]] if n in include else None for n in reported}


class ClientAPI:
    def __init__(self) -> None:
        self.collections: dict[str, Collection] = {}

    def create_collection(self, name: str, get_or_create: bool = False, **given: Any) -> Collection:
        if name in self.collections and not get_or_create:
            raise ValueError(f"{name} exists")
        return self.get_or_create_collection(name, **given)

    def get_or_create_collection(
        self,
        name: str,
        embedding_function: Any,
        metadata: Any = None,
        configuration: Any = None,
        data_loader: Any = None,
    ) -> Collection:
        if not callable(getattr(embedding_function, "name", None)):
            raise AttributeError("an embedding function has a name")
        return self.collections.setdefault(name, Collection(name, metadata or {}, embedding_function))

    def delete_collection(self, name: str) -> None:
        del self.collections[name]

    def reset(self) -> None:
        self.collections.clear()


class AsyncCollection:
    def __init__(self, inner: Collection) -> None:
        self.inner, self.metadata = inner, inner.metadata

    async def upsert(self, **given: Any) -> None:
        self.inner.upsert(**given)

    async def query(self, **given: Any) -> dict[str, Any]:
        return self.inner.query(**given)


class AsyncClientAPI:
    def __init__(self) -> None:
        self.inner = ClientAPI()

    @property
    def collections(self) -> dict[str, Collection]:
        return self.inner.collections

    async def create_collection(self, **given: Any) -> AsyncCollection:
        return AsyncCollection(self.inner.create_collection(**given))

    async def get_or_create_collection(self, **given: Any) -> AsyncCollection:
        return AsyncCollection(self.inner.get_or_create_collection(**given))

    async def delete_collection(self, name: str) -> None:
        self.inner.delete_collection(name)

    async def reset(self) -> None:
        self.inner.reset()


@contextmanager
def installed() -> Generator[None]:
    """Register these classes under ChromaDB's module names."""
    before = {name: sys.modules.get(name) for name in ("chromadb.api", "chromadb.api.async_api")}
    for name, one in (("chromadb.api", ClientAPI), ("chromadb.api.async_api", AsyncClientAPI)):
        sys.modules[name] = module = ModuleType(name)
        setattr(module, one.__name__, one)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name) if module is None else sys.modules.update({name: module})


def _fits(metadata: dict[str, Any], where: dict[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in where.items())


def _cosine(one: list[float], other: list[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other))
