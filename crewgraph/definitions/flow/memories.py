"""What flows remember."""

from typing import Any

from crewgraph.errors import DefinitionError
from crewgraph.memory.memory import Memory
from crewgraph.memory.records import MemoryMatch, MemoryRecord, sanitize_scope_name

__all__ = ["FlowMemories", "validate_flow_memory"]

_VERBS = ("remember", "recall")


class FlowMemories:
    """Remembering and recalling in the methods of a flow, and outside of them.

    What a method remembers is its own doing, as a file that it writes would be: it stays when the method fails later, and a
    method that runs again after a crash remembers it again, which makes no second record of the same words in the same scope.
    """

    memory: Any = None
    """Where the flow remembers: a `Memory`, a scope or a slice of one, or an object with `remember` and `recall`; where None, a
    memory of its own below the scope `/flow/<its name>`."""

    flow_name: Any

    def remember(self, content: str | list[str], **words: Any) -> MemoryRecord | list[MemoryRecord] | None:
        """Remember a text, or several; see `Memory.remember` and `Memory.remember_many`, also for the words.

        Raises:
            StorageError: it cannot be kept.
        """
        memory = self._checked_memory()
        if isinstance(content, list):
            return memory.remember_many(content, **words)
        return memory.remember(content, **words)

    async def aremember(self, content: str | list[str], **words: object) -> MemoryRecord | list[MemoryRecord] | None:
        """Remember a text, or several, on this event loop; see `remember`."""
        memory = self._checked_memory()
        if isinstance(content, list):
            return await memory.aremember_many(content, **words)
        return await memory.aremember(content, **words)

    def recall(self, query: str, **words: object) -> list[MemoryMatch]:
        """What is remembered that fits a query, the best first; see `Memory.recall`, also for the words.

        Raises:
            StorageError: it cannot be read.
        """
        return self._checked_memory().recall(query, **words)

    async def arecall(self, query: str, **words: object) -> list[MemoryMatch]:
        """What is remembered that fits a query, on this event loop; see `recall`."""
        return await self._checked_memory().arecall(query, **words)

    def extract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text; see `Memory.extract_memories`. Nothing is kept."""
        return self._checked_memory().extract_memories(content)

    async def aextract_memories(self, content: str) -> list[str]:
        """What is worth remembering of a text, on this event loop; see `extract_memories`."""
        return await self._checked_memory().aextract_memories(content)

    def _checked_memory(self) -> Any:
        """What remembers.

        Raises:
            DefinitionError: the class has something else under the name `memory`.
        """
        return validate_flow_memory(self.memory, type(self).__name__)

    def _init_memory(self, given: Any) -> None:
        """Take the memory given, that of the class, or one of its own."""
        if given is not None:
            self.memory = validate_flow_memory(given, type(self).__name__)
        elif self.memory is None:
            self.memory = Memory(root_scope=f"/flow/{sanitize_scope_name(self.flow_name)}")


def validate_flow_memory(given: Any, flow: str) -> Any:
    """A memory as flows are given it.

    Raises:
        DefinitionError: it does not remember.
    """
    if all(callable(getattr(given, verb, None)) for verb in _VERBS):
        return given
    raise DefinitionError(
        f"`memory` of flow `{flow}` is {given!r:.60}; give a `Memory()`, a scope or a slice of one, or leave it out for a memory "
        "of its own"
    )
