"""What a memory keeps its entries with."""

from typing import Any

__all__ = ["Storage"]


class Storage:
    """Where a memory keeps its entries; a class of your own overrides all three verbs, which may be async."""

    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        """Keep a text, and what is noted with it."""
        raise NotImplementedError(f"`{type(self).__name__}` has no `save(value, metadata)` of its own")

    def search(self, query: str, limit: int, score_threshold: float) -> "dict[str, Any] | list[Any]":
        """The entries nearest to a text, the nearest first, each a dict with its text under `content`.

        Args:
            query: the text.
            limit: at most so many.
            score_threshold: how near they are at least, from 0 to 1.
        """
        raise NotImplementedError(f"`{type(self).__name__}` has no `search(query, limit, score_threshold)` of its own")

    def reset(self) -> None:
        """Forget everything."""
        raise NotImplementedError(f"`{type(self).__name__}` has no `reset()` of its own")
