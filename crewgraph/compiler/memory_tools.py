"""The tools for an agent's memory, which it is offered without being given them."""

from collections.abc import Collection
from typing import Any

from crewgraph.compiler.memories import Memories
from crewgraph.core.protocols import Model
from crewgraph.memory.memory import MemoryReads
from crewgraph.prompts.book import Book
from crewgraph.tools.memory import create_memory_tools

__all__ = ["memory_tools"]


def memory_tools(memories: Memories, model: Model, taken: Collection[str], book: Book) -> list[Any]:
    """The tools for a memory for everything; none under a name that another tool has.

    Models without native tool calls get none: in the text protocol every tool makes the prompt of each task longer.

    Args:
        memories: what the agent has.
        model: who would use them.
        taken: the names of its other tools.
        book: the wording.
    """
    if not isinstance(memories.unified, MemoryReads) or not model.native_tools:
        return []
    return [tool for tool in create_memory_tools(memories.unified, book) if tool.spec["name"] not in taken]
