"""What a place for knowledge can do."""

from abc import ABC, abstractmethod
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from crewgraph.core.loops.bridge import in_thread
from crewgraph.knowledge.passage import SearchResult

__all__ = ["BaseKnowledgeStorage"]


class BaseKnowledgeStorage(BaseModel, ABC):
    """The base of places for knowledge; subclass it to keep knowledge elsewhere.

    `save`, `search` and `reset` are enough: an event loop calls them in a thread, where there is no `asave`, `asearch` and
    `areset`. A class may have fields, or an `__init__` of its own that only sets attributes.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")

    def __new__(cls, *_args: Any, **_given: Any) -> Self:
        """Make it so that attributes can be set also by an `__init__` that never calls that of its base."""
        made = super().__new__(cls)
        begun: dict[str, Any] = {"extra": dict[str, Any](), "fields_set": set[str](), "private": None}
        for name, value in begun.items():
            object.__setattr__(made, f"__pydantic_{name}__", value)
        return made

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # it is where it is

    @abstractmethod
    def save(self, documents: list[str]) -> None:
        """Keep texts."""

    @abstractmethod
    def search(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        """What is kept that fits a query, the best first."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything."""

    async def asave(self, documents: list[str]) -> None:
        """Keep texts."""
        await in_thread(self.save, documents)

    async def asearch(
        self,
        query: list[str],
        limit: int = 5,
        metadata_filter: dict[str, Any] | None = None,
        score_threshold: float = 0.6,
    ) -> list[SearchResult]:
        """What is kept that fits a query; see `search`."""
        return await in_thread(self.search, query, limit, metadata_filter, score_threshold)

    async def areset(self) -> None:
        """Forget everything."""
        await in_thread(self.reset)
