"""What can be done with a memory, and with a scope of one."""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from crewgraph.errors import RunError
from crewgraph.lazy import lazy
from crewgraph.memory.paths import join_scope_paths
from crewgraph.memory.reads import MemoryReads
from crewgraph.memory.record import MemoryRecord
from crewgraph.memory.wanted import Wanted

if TYPE_CHECKING:
    from crewgraph.core.operations import Program, adrive, drive
    from crewgraph.memory.looking import forgetting
    from crewgraph.memory.remembering import Given, remembering
else:
    forgetting = lazy("crewgraph.memory.looking:forgetting")
    adrive = lazy("crewgraph.core.operations:adrive")
    drive = lazy("crewgraph.core.operations:drive")
    Given = lazy("crewgraph.memory.remembering:Given")
    remembering = lazy("crewgraph.memory.remembering:remembering")

__all__ = ["MemoryWrites"]


class MemoryWrites(MemoryReads):
    """Remembering and forgetting. Each verb is also there for event loops, with an `a` before it.

    All raise `StorageError` where what is kept cannot be read or written.
    """

    @abstractmethod
    def _root(self) -> str:
        """The scope that all of it is below."""

    def _scope(self, scope: str | None) -> str | None:
        """The scope below it; None where a model is to say it."""
        return scope

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Remember something: when this returns, it is kept.

        What is not given of `scope`, `categories` and `importance` says the model, if there is one; else it is the root, none
        and `default_importance`. What is remembered already, in the same words, scope, source and privacy, stays one record.
        Records that are much like it are merged as the model says.

        Args:
            content: what, in words.
            scope: where it belongs: a path.
            categories: what it is about.
            metadata: what else is known of it: JSON data.
            importance: how much it matters, 0 to 1.
            source: who it comes from.
            private: whether only that source recalls it.
            agent_role: the agent that remembers, for events.
            root_scope: the scope that `scope` is read from, instead of the memory's own.

        Returns:
            The record that holds it now; None where the memory is read-only.

        Raises:
            TypeError: the metadata are no JSON data.
            ValueError: a value does not fit.
        """
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        kept = drive(self._remembering([content], words))
        return kept[0] if kept else None

    async def aremember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Remember something; see `remember`."""
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        kept = await adrive(self._remembering([content], words))
        return kept[0] if kept else None

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember several things, with one write: when this returns, they are kept. See `remember`."""
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        return drive(self._remembering(contents, words))

    async def aremember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember several things; see `remember_many`."""
        words = self._words(scope, categories, metadata, importance, source, private, agent_role, root_scope)
        return await adrive(self._remembering(contents, words))

    def forget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
    ) -> int:
        """Forget the records that meet all that is given; with nothing given, everything.

        Args:
            scope: those of this scope and of those below it.
            categories: those of at least one of these.
            older_than: those remembered before; a time without a zone is in UTC.
            metadata_filter: those that have all of these values.
            record_ids: those of these ids.

        Returns:
            How many there were.

        Raises:
            RunError: the memory is read-only.
        """
        return drive(self._forgetting(scope, categories, older_than, metadata_filter, record_ids))

    async def aforget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
    ) -> int:
        """Forget records; see `forget`."""
        return await adrive(self._forgetting(scope, categories, older_than, metadata_filter, record_ids))

    def reset(self, scope: str | None = None) -> None:
        """Forget everything, or all of a scope.

        Raises:
            RunError: the memory is read-only.
        """
        self.forget(scope)

    async def areset(self, scope: str | None = None) -> None:
        """Forget everything; see `reset`."""
        await self.aforget(scope)

    def _words(
        self,
        scope: str | None,
        categories: Sequence[str] | None,
        metadata: dict[str, Any] | None,
        importance: float | None,
        source: str | None,
        private: bool,
        agent_role: str | None,
        root_scope: str | None,
    ) -> dict[str, Any]:
        return {
            "root": self._root() if root_scope is None else join_scope_paths(root_scope, None),
            "scope": self._scope(scope),
            "categories": categories,
            "metadata": metadata,
            "importance": importance,
            "source": source,
            "private": private,
            "agent_role": agent_role,
        }

    def _remembering(self, contents: Sequence[str], words: dict[str, Any]) -> "Program[list[MemoryRecord]]":
        memory = self._of()
        given = Given(contents=[] if memory.read_only else list(contents), **words)
        return remembering(memory, given)

    def _forgetting(
        self,
        scope: str | None,
        categories: Sequence[str] | None,
        older_than: datetime | None,
        metadata: dict[str, Any] | None,
        record_ids: Sequence[str] | None,
    ) -> "Program[int]":
        self._refuse_read_only("forget")
        place = join_scope_paths(self._root(), scope)
        wanted = Wanted(
            scope=place, categories=categories, older_than=older_than, metadata=metadata, record_ids=record_ids
        )
        return forgetting(self._of(), wanted)

    def _refuse_read_only(self, verb: str) -> None:
        if self._of().read_only:
            raise RunError(f"`{verb}` on a read-only memory: make it with `read_only=False` to change what it holds")
