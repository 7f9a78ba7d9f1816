"""The sync or async methods of a store, behind the same calls."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langgraph.store.base import BaseStore, Item, Op, Result, SearchItem
from modes import Mode

__all__ = ["Face"]


class Face:
    """The sync or the async methods of a store."""

    def __init__(self, store: BaseStore, mode: Mode) -> None:
        self.store = store
        self.mode = mode

    def put(self, namespace: tuple[str, ...], key: str, value: dict[str, Any], **options: Any) -> None:
        if self.mode.asynchronous:
            asyncio.run(self.store.aput(namespace, key, value, **options))
        else:
            self.store.put(namespace, key, value, **options)

    def get(self, namespace: tuple[str, ...], key: str, **options: Any) -> Item | None:
        if self.mode.asynchronous:
            return asyncio.run(self.store.aget(namespace, key, **options))
        return self.store.get(namespace, key, **options)

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        if self.mode.asynchronous:
            asyncio.run(self.store.adelete(namespace, key))
        else:
            self.store.delete(namespace, key)

    def search(self, prefix: tuple[str, ...], **options: Any) -> list[SearchItem]:
        if self.mode.asynchronous:
            return asyncio.run(self.store.asearch(prefix, **options))
        return self.store.search(prefix, **options)

    def keys(self, prefix: tuple[str, ...], **options: Any) -> list[str]:
        return [item.key for item in self.search(prefix, **options)]

    def namespaces(self, **options: Any) -> list[tuple[str, ...]]:
        if self.mode.asynchronous:
            return asyncio.run(self.store.alist_namespaces(**options))
        return self.store.list_namespaces(**options)

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        return asyncio.run(self.store.abatch(ops)) if self.mode.asynchronous else self.store.batch(ops)
