"""A part of a memory: a scope and all below it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, PrivateAttr, field_validator

from crewgraph.errors import RunError
from crewgraph.memory.paths import join_scope_paths
from crewgraph.memory.writes import MemoryWrites

if TYPE_CHECKING:
    from crewgraph.memory.unified import Memory

__all__ = ["MemoryScope"]


class MemoryScope(MemoryWrites, BaseModel):
    """A memory that sees and writes only what is below a path: `memory.scope("/agent/writer")`.

    Paths that it is given are read from there, whatever they look like; those that it gives are whole.
    """

    memory_kind: Literal["scope"] = "scope"
    """Tells it from memories and slices where it is dumped."""

    root_path: str = "/"
    """Where it begins."""

    _memory: "Memory | None" = PrivateAttr(default=None)

    def __init__(self, memory: "Memory | None" = None, **given: Any) -> None:
        """Take a part of a memory.

        Args:
            memory: the memory; None until `bind`.
            given: `root_path`.
        """
        super().__init__(**given)
        self._memory = memory

    @field_validator("root_path")
    @classmethod
    def _path(cls, path: str) -> str:
        return join_scope_paths(path, None)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The same part of the same memory."""
        return self

    @property
    def read_only(self) -> bool:
        """Whether nothing is written."""
        return self._of().read_only

    def bind(self, memory: "Memory") -> Self:
        """Say of which memory it is a part."""
        self._memory = memory
        return self

    def subscope(self, path: str) -> "MemoryScope":
        """A part of this part."""
        return MemoryScope(memory=self._of(), root_path=join_scope_paths(self.root_path, path))

    def _of(self) -> "Memory":
        if self._memory is None:
            raise RunError(
                f"the scope `{self.root_path}` is of no memory yet: take it with `memory.scope(...)`, or `bind` it"
            )
        return self._memory

    def _root(self) -> str:
        return join_scope_paths(self._of().root_scope, self.root_path)

    def _roots(self) -> Sequence[str]:
        return [self._root()]

    def _scope(self, scope: str | None) -> str | None:
        return scope or "/"  # where it belongs is said by taking this part
