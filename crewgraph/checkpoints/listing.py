"""Checkpoints newest first, a page at a time: what `list` and `alist` share."""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.checkpoints.codec import Codec
from crewgraph.checkpoints.threads import Key, Threads

__all__ = ["Listing"]

_PAGE = 32  # checkpoints read in one transaction


class Listing:
    """The checkpoints that meet some conditions, as they were when the first page was taken."""

    def __init__(
        self,
        threads: Threads,
        codec: Codec,
        config: RunnableConfig | None,
        *,
        filter: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        self._threads = threads
        self._codec = codec
        self._config = config
        self._filter = dict(filter or {})
        self._before = before
        self._left = limit
        self._keys: list[Key] | None = None

    def page(self) -> list[CheckpointTuple]:
        """The next checkpoints; none at the end."""
        if self._keys is None:
            self._keys = self._found()
        while self._keys and (self._left is None or self._left > 0):
            keys, self._keys = self._keys[:_PAGE], self._keys[_PAGE:]
            page = [self._codec.checkpoint_tuple(stored) for stored in self._threads.load(keys, self._wanted)]
            page = page[: self._left]
            if self._left is not None:
                self._left -= len(page)
            if page:
                return page
        return []

    def _found(self) -> list[Key]:
        names: Mapping[str, Any] = (self._config or {}).get("configurable") or {}
        before: Mapping[str, Any] = (self._before or {}).get("configurable") or {}
        thread = names.get("thread_id")
        return self._threads.keys(
            None if thread is None else str(thread),
            names.get("checkpoint_ns"),
            names.get("checkpoint_id") or None,
            before.get("checkpoint_id") or None,
            None if self._filter else self._left,
        )

    def _wanted(self, kind: str, head: bytes) -> bool:
        if not self._filter:
            return True
        metadata = self._codec.metadata(kind, head)
        return all(metadata.get(key) == value for key, value in self._filter.items())
