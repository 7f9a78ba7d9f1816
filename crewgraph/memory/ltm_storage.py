"""How well tasks were done, kept in a LangGraph store."""

import hashlib
from typing import TYPE_CHECKING, Any

from crewgraph.memory.shelves import shelf

if TYPE_CHECKING:
    from crewgraph.storage.store.shelf import Shelf

__all__ = ["LTMStorage"]


class LTMStorage:
    """Keeps how well tasks were done, by the descriptions of the tasks.

    Args:
        storage: a path, or a LangGraph store; the storage folder where None, in which each project has entries of its own.
    """

    def __init__(self, storage: Any = None) -> None:
        self.storage = storage

    @property
    def shelf(self) -> "Shelf":
        """Its entries."""
        return shelf("long_term", storage=self.storage)

    def save(self, task_description: str, metadata: dict[str, Any], datetime: str, score: int | float | None) -> None:
        """Keep how well a task was done at some time.

        Args:
            task_description: the task.
            metadata: what is known of it: JSON data.
            datetime: when, in seconds since 1970, as a text.
            score: from 0 to 10.

        Raises:
            StorageError: it cannot be kept.
        """
        named = _digest(task_description)
        noted = {"of": named, "metadata": metadata, "datetime": datetime, "score": score}
        self.shelf.put(_digest(f"{named} {datetime} {metadata.get('agent', '')}"), task_description, noted)

    def load(self, task_description: str, latest_n: int) -> list[dict[str, Any]]:
        """What is known of a task, the latest first.

        Raises:
            StorageError: it cannot be read.
        """
        found = [dict(one.metadata) for one in self.shelf.entries({"of": _digest(task_description)})]
        found.sort(key=lambda one: (_seconds(one["datetime"]), one["datetime"]), reverse=True)
        return [{name: one[name] for name in ("metadata", "datetime", "score")} for one in found[: max(latest_n, 0)]]

    def reset(self) -> None:
        """Forget everything.

        Raises:
            StorageError: that cannot be done.
        """
        self.shelf.reset()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _seconds(written: str) -> float:
    try:
        return float(written)
    except ValueError:  # a date in words of the user's
        return 0.0
