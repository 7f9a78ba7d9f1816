"""Who makes the storages that memories name by a text."""

from collections.abc import Callable
from typing import Any

__all__ = ["MemoryStorageFactory", "resolve_memory_storage", "set_memory_storage_factory"]

MemoryStorageFactory = Callable[[str], Any]
"""Is given what a memory says of its storage: "lancedb" where it says nothing; gives a `StorageBackend`, or None for the
usual one."""

_set: list[MemoryStorageFactory] = []


def set_memory_storage_factory(factory: MemoryStorageFactory | None) -> None:
    """Let a function make the storages of memories that are made from here on, in this process; None for none."""
    _set[:] = [] if factory is None else [factory]


def resolve_memory_storage(spec: str) -> Any:
    """What that function makes of a text; None where there is no such function."""
    return _set[0](spec) if _set else None
