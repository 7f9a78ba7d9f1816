"""The memories of flows."""

from typing import Any

from crewgraph.errors import DefinitionError
from crewgraph.memory.memory import Memory
from crewgraph.memory.records import MemoryMatch, MemoryRecord, sanitize_scope_name

_METHOD_NAMES = ("remember", "recall")


class FlowMemories:
    """Methods of flows that store and search memories, inside and outside of a run.

    Storing a memory is a side effect of the method, like writing a file: it stays if the method fails later. A method that runs
    again after a crash stores it again, which makes no second record of the same text in the same scope.
    """

    memory: Any = None
    """The memory of the flow: a `Memory`, a scope or slice of one, or an object with `remember` and `recall`; for None, a
    memory of its own below the scope `/flow/<its name>`."""

    flow_name: Any

    def remember(self, content: str | list[str], **words: Any) -> MemoryRecord | list[MemoryRecord] | None:
        """Store one or several texts; see `Memory.remember` and `Memory.remember_many` for the arguments.

        Raises:
            StorageError: it cannot be kept.
        """
        memory = self._checked_memory()
        if isinstance(content, list):
            return memory.remember_many(content, **words)
        return memory.remember(content, **words)

    async def aremember(self, content: str | list[str], **words: object) -> MemoryRecord | list[MemoryRecord] | None:
        """Store one or several texts, on the current event loop; see `remember`."""
        memory = self._checked_memory()
        if isinstance(content, list):
            return await memory.aremember_many(content, **words)
        return await memory.aremember(content, **words)

    def recall(self, query: str, **words: object) -> list[MemoryMatch]:
        """Return the memories that match a query, best first; see `Memory.recall` for the arguments.

        Raises:
            StorageError: it cannot be read.
        """
        return self._checked_memory().recall(query, **words)

    async def arecall(self, query: str, **words: object) -> list[MemoryMatch]:
        """Return the memories that match a query, on the current event loop; see `recall`."""
        return await self._checked_memory().arecall(query, **words)

    def extract_memories(self, content: str) -> list[str]:
        """Return the statements in a text that are worth remembering; see `Memory.extract_memories`. Nothing is stored."""
        return self._checked_memory().extract_memories(content)

    async def aextract_memories(self, content: str) -> list[str]:
        """Return the statements in a text that are worth remembering, on the current event loop; see `extract_memories`."""
        return await self._checked_memory().aextract_memories(content)

    def _checked_memory(self) -> Any:
        """Return the memory of the flow.

        Raises:
            DefinitionError: the class has something else under the name `memory`.
        """
        return validate_flow_memory(self.memory, type(self).__name__)

    def _init_memory(self, candidate: Any) -> None:
        """Set the memory: the given one, that of the class, or a new one."""
        if candidate is not None:
            self.memory = validate_flow_memory(candidate, type(self).__name__)
        elif self.memory is None:
            self.memory = Memory(root_scope=f"/flow/{sanitize_scope_name(self.flow_name)}")


def validate_flow_memory(candidate: Any, flow: str) -> Any:
    """Return a memory unchanged if flows can use it.

    Raises:
        DefinitionError: it does not remember.
    """
    if all(callable(getattr(candidate, method_name, None)) for method_name in _METHOD_NAMES):
        return candidate
    raise DefinitionError(
        f"`memory` of flow `{flow}` is {candidate!r:.60}; pass a `Memory()`, a scope or a slice of one, or leave it out for "
        "a memory of its own"
    )
