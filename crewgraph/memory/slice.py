"""Several parts of a memory, read as one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, Field, PrivateAttr, field_validator

from crewgraph.errors import RunError
from crewgraph.memory.paths import join_scope_paths, parts_of
from crewgraph.memory.reads import MemoryReads
from crewgraph.memory.record import MemoryRecord

if TYPE_CHECKING:
    from crewgraph.memory.unified import Memory

__all__ = ["MemorySlice"]


class MemorySlice(MemoryReads, BaseModel):
    """A memory that sees some scopes and what is below them: `memory.slice(["/agent/writer", "/company"])`."""

    memory_kind: Literal["slice"] = "slice"
    """Tells it from memories and scopes where it is dumped."""

    scopes: list[str] = Field(default_factory=list[str])
    """Where it looks."""

    categories: list[str] | None = None
    """What it recalls, unless it is told otherwise: only records of at least one of these."""

    read_only: bool = True
    """Whether nothing is written."""

    _memory: "Memory | None" = PrivateAttr(default=None)

    def __init__(self, memory: "Memory | None" = None, **given: Any) -> None:
        """Take parts of a memory.

        Args:
            memory: the memory; None until `bind`.
            given: `scopes`, `categories`, `read_only`.
        """
        super().__init__(**given)
        self._memory = memory

    @field_validator("scopes")
    @classmethod
    def _paths(cls, paths: list[str]) -> list[str]:
        return [join_scope_paths(path, None) for path in paths]

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The same parts of the same memory."""
        return self

    def bind(self, memory: "Memory") -> Self:
        """Say of which memory they are parts."""
        self._memory = memory
        return self

    def remember(
        self,
        content: str,
        scope: str,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
    ) -> MemoryRecord | None:
        """Remember something in one of the scopes, or below one; see `Memory.remember`.

        Returns:
            The record; None where the slice is read-only.

        Raises:
            ValueError: the scope is none of the slice's.
        """
        if self.read_only:
            return None
        return self._of().remember(content, self._own(scope), categories, metadata, importance, source, private)

    async def aremember(
        self,
        content: str,
        scope: str,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
    ) -> MemoryRecord | None:
        """Remember something in one of the scopes; see `remember`."""
        if self.read_only:
            return None
        return await self._of().aremember(content, self._own(scope), categories, metadata, importance, source, private)

    def _of(self) -> "Memory":
        if self._memory is None:
            raise RunError("the slice is of no memory yet: take it with `memory.slice([...])`, or `bind` it")
        return self._memory

    def _roots(self) -> Sequence[str]:
        return [join_scope_paths(self._of().root_scope, path) for path in self.scopes]

    def _places(self, scope: str | None) -> list[str]:
        """The scopes below a path of the memory's; where it is one of them, or below one, the path itself."""
        asked = parts_of(join_scope_paths(self._of().root_scope, scope))
        roots = {root: parts_of(root) for root in self._roots()}
        if any(asked[: len(parts)] == parts for parts in roots.values()):
            return ["/" + "/".join(asked)]
        return [root for root, parts in roots.items() if parts[: len(asked)] == asked]

    def _kinds(self, categories: Sequence[str] | None) -> Sequence[str] | None:
        return self.categories if categories is None else categories

    def _own(self, scope: str) -> str:
        parts = parts_of(scope)
        if not any(parts[: len(own)] == own for own in map(parts_of, self.scopes)):
            known = ", ".join(f"`{path}`" for path in self.scopes)
            raise ValueError(f"the scope `{scope}` is none of the slice's, which are {known}")
        return scope
