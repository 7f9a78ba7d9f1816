"""Memory of how well tasks were done."""

import time
from typing import Any, ClassVar, cast

from crewgraph.core.loops.bridge import acall, call, in_thread
from crewgraph.memory.events import save_with_events, search_with_events
from crewgraph.memory.items import LongTermMemoryItem
from crewgraph.memory.short_term import StoredMemory
from crewgraph.memory.storage import LTMSQLiteStorage, LTMStorage
from crewgraph.schema import Metadata, PlainDict

__all__ = ["LongTermMemory"]


class LongTermMemory(StoredMemory):
    """A memory of how well tasks were done and what to improve, for later runs of tasks with the same description.

        LongTermMemory(storage=LTMSQLiteStorage(db_path="./memory/long_term.db"))

    Args:
        storage: an `LTMSQLiteStorage` or an object with its methods; a LangGraph store.
        path: an SQLite file instead.
    """

    kind: ClassVar[str] = "long_term_memory"

    def __init__(self, storage: object = None, path: str | None = None) -> None:
        if storage is None:
            storage = LTMStorage() if path is None else LTMSQLiteStorage(path)
        elif callable(getattr(storage, "batch", None)):  # a LangGraph store
            storage = LTMStorage(storage)
        super().__init__(storage=storage)

    def save(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, item: "LongTermMemoryItem | str", metadata: Metadata | None = None
    ) -> None:
        """Save how well a task was done.

        Args:
            item: an item, or the task's result as text.
            metadata: with a text: `task`, its description; `agent`, `quality`, `expected_output`, and further data.

        Raises:
            StorageError: it cannot be saved. A custom storage raises its own errors.
        """
        result = item if isinstance(item, LongTermMemoryItem) else _item(item, metadata or {})
        fields = {**result.metadata, "agent": result.agent, "expected_output": result.expected_output}
        fields.setdefault("quality", result.quality)

        def work() -> PlainDict:
            call(
                self.storage.save,
                task_description=result.task,
                score=fields["quality"] if result.quality is None else result.quality,
                metadata=fields,
                datetime=result.datetime,
            )
            return {"metadata": fields}

        save_with_events(self, self.kind, result.task, result.metadata, work)

    async def asave(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, item: "LongTermMemoryItem | str", metadata: Metadata | None = None
    ) -> None:
        """Async `save`."""
        await acall(self.save, item, metadata)

    def search(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        task: str | None = None,
        latest_n: int = 3,
        *,
        query: str | None = None,
        limit: int | None = None,
        score_threshold: float | None = None,
    ) -> list[PlainDict]:
        """The results of a task, latest first: dicts with `metadata`, `datetime` and `score`.

        Args:
            task: the task's description, exactly as saved.
            latest_n: the maximum number of results.
            query: alias of `task`, as in other memories.
            limit: alias of `latest_n`.
            score_threshold: the minimum quality, from 0 to 10.

        Raises:
            StorageError: the storage cannot be read. A custom storage raises its own errors.
        """
        description, count = (query or "") if task is None else task, latest_n if limit is None else limit

        def work() -> list[PlainDict]:
            results = call(self.storage.load, description, count)
            return [
                result for result in cast("list[PlainDict]", results or []) if _is_good_enough(result, score_threshold)
            ]

        return search_with_events(self, self.kind, description, count, score_threshold, work)

    async def asearch(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        task: str | None = None,
        latest_n: int = 3,
        *,
        query: str | None = None,
        limit: int | None = None,
        score_threshold: float | None = None,
    ) -> list[PlainDict]:
        """Async `search`."""
        options: dict[str, Any] = {"query": query, "limit": limit, "score_threshold": score_threshold}
        return await in_thread(
            self.search, task, latest_n, **{name: value for name, value in options.items() if value is not None}
        )


def _is_good_enough(result: PlainDict, least: float | None) -> bool:
    return least is None or (result.get("score") is not None and result["score"] >= least)


def _item(value: str, metadata: Metadata) -> LongTermMemoryItem:
    fields = {name: field for name, field in metadata.items() if name not in ("task", "agent", "expected_output")}
    return LongTermMemoryItem(
        agent=str(metadata.get("agent", "")),
        task=str(metadata.get("task", value)),
        expected_output=str(metadata.get("expected_output", "")),
        datetime=str(time.time()),
        quality=metadata.get("quality"),
        metadata={**fields, "output": value} if "task" in metadata else fields,
    )
