"""What can be asked of a memory, of a scope of one, and of a slice of one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from crewgraph.extras import load
from crewgraph.memory.paths import join_scope_paths, parts_of
from crewgraph.memory.record import MemoryMatch, MemoryRecord, ScopeInfo

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool

    from crewgraph.memory.unified import Memory

__all__ = ["Depth", "MemoryReads", "adrive", "drive"]

Depth = Literal["shallow", "deep"]
"""How thoroughly is looked."""


def drive(program: Any) -> Any:
    """Carry out a program."""
    return load("crewgraph.core.operations").drive(program)


async def adrive(program: Any) -> Any:
    """Carry out a program on this event loop."""
    return await load("crewgraph.core.operations").adrive(program)


class MemoryReads(ABC):
    """Recalling and looking. Each verb is also there for event loops, with an `a` before it.

    All raise `StorageError` where what is kept cannot be read.
    """

    @abstractmethod
    def _of(self) -> "Memory":
        """The memory that is asked."""

    @abstractmethod
    def _roots(self) -> Sequence[str]:
        """The scopes that can be seen."""

    def _places(self, scope: str | None) -> list[str]:
        """The scopes that a path of the caller's means."""
        return [join_scope_paths(root, scope) for root in self._roots()]

    def _kinds(self, categories: Sequence[str] | None) -> Sequence[str] | None:
        return categories

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Depth = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """What is remembered that fits a query, the best first.

        Args:
            query: what is looked for, in words.
            scope: only this scope and those below it.
            categories: only records of at least one of these.
            limit: at most so many.
            depth: "shallow" searches once; "deep" has the model, if there is one, take a long query apart, and look once more
                where little was found.
            source: whose private records count, too.
            include_private: whether all private records count.
        """
        return drive(self._recalling(query, scope, categories, limit, depth, source, include_private))

    async def arecall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Depth = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """What is remembered that fits a query; see `recall`."""
        return await adrive(self._recalling(query, scope, categories, limit, depth, source, include_private))

    def extract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text, by the model; the text itself where there is none. Nothing is kept."""
        return drive(load("crewgraph.memory.remembering").extracted(self._of(), content))

    async def aextract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text; see `extract_memories`."""
        return await adrive(load("crewgraph.memory.remembering").extracted(self._of(), content))

    def list_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records of a scope and of those below it, the newest first."""
        return drive(self._listing(scope))[offset : offset + limit]

    async def alist_records(self, scope: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records of a scope; see `list_records`."""
        return (await adrive(self._listing(scope)))[offset : offset + limit]

    def list_scopes(self, path: str | None = None) -> list[str]:
        """The whole paths of the scopes right below a scope."""
        return drive(load("crewgraph.memory.looking").children(self._of(), self._places(path)))

    async def alist_scopes(self, path: str | None = None) -> list[str]:
        """The scopes right below a scope; see `list_scopes`."""
        return await adrive(load("crewgraph.memory.looking").children(self._of(), self._places(path)))

    def list_categories(self, path: str | None = None) -> dict[str, int]:
        """How many records of a scope, and of those below it, there are of each category."""
        return drive(load("crewgraph.memory.looking").categories(self._of(), self._places(path)))

    async def alist_categories(self, path: str | None = None) -> dict[str, int]:
        """How many records there are of each category; see `list_categories`."""
        return await adrive(load("crewgraph.memory.looking").categories(self._of(), self._places(path)))

    def info(self, path: str | None = None) -> ScopeInfo:
        """What there is in a scope and below it."""
        return drive(self._describing(path))

    async def ainfo(self, path: str | None = None) -> ScopeInfo:
        """What there is in a scope and below it; see `info`."""
        return await adrive(self._describing(path))

    def tree(self, path: str | None = None, max_depth: int = 3) -> str:
        """The scopes below a scope with their numbers of records, as a text with a line for each."""
        return drive(self._drawing(path, max_depth))

    async def atree(self, path: str | None = None, max_depth: int = 3) -> str:
        """The scopes below a scope as a text; see `tree`."""
        return await adrive(self._drawing(path, max_depth))

    def as_retriever(self, limit: int = 4, depth: Depth = "shallow", **words: Any) -> "BaseRetriever":
        """The memory as a LangChain retriever, for chains and graphs.

        Args:
            limit: at most so many documents.
            depth: as for `recall`.
            words: `scope`, `categories`, `source`, `include_private`, as for `recall`.

        Returns:
            A retriever whose documents have the contents, with `score`, `scope`, `categories`, `id`, `source` and `importance`
            in their metadata beside what was noted.
        """
        given: dict[str, Any] = {"limit": limit, "depth": depth, **words}
        documents = load("crewgraph.memory.documents").documents

        def search(query: str) -> Any:
            return documents(self.recall(query, **given))

        async def asearch(query: str) -> Any:
            return documents(await self.arecall(query, **given))

        return load("crewgraph.storage.store.retriever").Retriever(search=search, asearch=asearch)

    def as_tool(
        self, name: str = "search_memory", description: str | None = None, limit: int = 4, **words: Any
    ) -> "BaseTool":
        """The memory as a LangChain tool that takes a `query`, for any agent.

        Args:
            name: what models call it.
            description: what models are told of it.
            limit: at most so many texts.
            words: as for `as_retriever`.
        """
        retriever = load("crewgraph.storage.store.retriever")
        told = description or load("crewgraph.prompts.book").english().text("tools", "recall_memory")
        return retriever.as_tool(self.as_retriever(limit, **words), name, told)

    def _recalling(
        self,
        query: str,
        scope: str | None,
        categories: Sequence[str] | None,
        limit: int,
        depth: Depth,
        source: str | None,
        include_private: bool,
    ) -> Any:
        recalling, places = load("crewgraph.memory.recalling"), self._places(scope)
        asked = recalling.Asked(
            query=query,
            places=places,
            categories=self._kinds(categories),
            limit=limit if places else 0,
            depth=depth,
            source=source,
            include_private=include_private,
        )
        return recalling.recalling(self._of(), asked)

    def _listing(self, scope: str | None) -> Any:
        return load("crewgraph.memory.looking").listed(self._of(), self._places(scope))

    def _describing(self, path: str | None) -> Any:
        places = self._places(path)
        return load("crewgraph.memory.looking").described(self._of(), _shown(places, path), places)

    def _drawing(self, path: str | None, max_depth: int) -> Any:
        places = self._places(path)
        return load("crewgraph.memory.looking").drawn(self._of(), _shown(places, path), places, max_depth)


def _shown(places: Sequence[str], path: str | None) -> str:
    return places[0] if len(places) == 1 else "/" + "/".join(parts_of(path))
