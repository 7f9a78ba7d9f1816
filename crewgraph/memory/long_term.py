"""The memory of how well tasks were done."""

import time
from typing import Any, ClassVar, cast

from crewgraph.core.loops.bridge import call, in_thread
from crewgraph.memory.events import told_save, told_search
from crewgraph.memory.items import LongTermMemoryItem
from crewgraph.memory.short_term import StoredMemory
from crewgraph.memory.storage import LTMSQLiteStorage, LTMStorage

__all__ = ["LongTermMemory"]


class LongTermMemory(StoredMemory):
    """How well tasks were done, and what is to be done better: for whoever does a task of the same description again.

        LongTermMemory(storage=LTMSQLiteStorage(db_path="./memory/long_term.db"))

    Args:
        storage: an `LTMSQLiteStorage`, or any object with its verbs; a LangGraph store.
        path: an SQLite file instead.
    """

    kind: ClassVar[str] = "long_term_memory"

    def __init__(self, storage: Any = None, path: str | None = None) -> None:
        if storage is None:
            storage = LTMStorage() if path is None else LTMSQLiteStorage(path)
        elif callable(getattr(storage, "batch", None)):  # a LangGraph store
            storage = LTMStorage(storage)
        super().__init__(storage=storage)

    def save(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, item: "LongTermMemoryItem | str", metadata: dict[str, Any] | None = None
    ) -> None:
        """Keep how well a task was done.

        Args:
            item: what is known of it; or its result as a text.
            metadata: with a text: `task`, its description; `agent`, `quality`, `expected_output`, and what else is known.

        Raises:
            StorageError: it cannot be kept. A storage of your own raises what it raises.
        """
        kept = item if isinstance(item, LongTermMemoryItem) else _item(item, metadata or {})
        noted = {**kept.metadata, "agent": kept.agent, "expected_output": kept.expected_output}
        noted.setdefault("quality", kept.quality)

        def work() -> dict[str, Any]:
            call(
                self.storage.save,
                task_description=kept.task,
                score=noted["quality"] if kept.quality is None else kept.quality,
                metadata=noted,
                datetime=kept.datetime,
            )
            return {"metadata": noted}

        told_save(self, self.kind, kept.task, kept.metadata, work)

    async def asave(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, item: "LongTermMemoryItem | str", metadata: dict[str, Any] | None = None
    ) -> None:
        """Keep how well a task was done; see `save`."""
        await in_thread(self.save, item, metadata)

    def search(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        task: str | None = None,
        latest_n: int = 3,
        *,
        query: str | None = None,
        limit: int | None = None,
        score_threshold: float | None = None,
    ) -> list[dict[str, Any]]:
        """What is known of a task, the latest first: dicts with `metadata`, `datetime` and `score`.

        Args:
            task: its description, the same text as it was saved with.
            latest_n: at most so many.
            query: `task` under the name that other memories have for it.
            limit: the same of `latest_n`.
            score_threshold: only those of at least this quality, from 0 to 10.

        Raises:
            StorageError: it cannot be found. A storage of your own raises what it raises.
        """
        about, most = (query or "") if task is None else task, latest_n if limit is None else limit

        def work() -> list[dict[str, Any]]:
            found: Any = call(self.storage.load, about, most)
            return [one for one in cast("list[dict[str, Any]]", found or []) if _good(one, score_threshold)]

        return told_search(self, self.kind, about, most, score_threshold, work)

    async def asearch(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        task: str | None = None,
        latest_n: int = 3,
        *,
        query: str | None = None,
        limit: int | None = None,
        score_threshold: float | None = None,
    ) -> list[dict[str, Any]]:
        """What is known of a task; see `search`."""
        more: dict[str, Any] = {"query": query, "limit": limit, "score_threshold": score_threshold}
        return await in_thread(
            self.search, task, latest_n, **{name: one for name, one in more.items() if one is not None}
        )


def _good(found: dict[str, Any], least: float | None) -> bool:
    return least is None or (found.get("score") is not None and found["score"] >= least)


def _item(value: str, metadata: dict[str, Any]) -> LongTermMemoryItem:
    noted = {name: one for name, one in metadata.items() if name not in ("task", "agent", "expected_output")}
    return LongTermMemoryItem(
        agent=str(metadata.get("agent", "")),
        task=str(metadata.get("task", value)),
        expected_output=str(metadata.get("expected_output", "")),
        datetime=str(time.time()),
        quality=metadata.get("quality"),
        metadata={**noted, "output": value} if "task" in metadata else noted,
    )
