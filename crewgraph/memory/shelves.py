"""Where in a store the kinds of memory keep their entries."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from crewgraph.extras import load

if TYPE_CHECKING:
    from crewgraph.storage.store.shelf import Shelf

__all__ = ["KEPT_IN", "shelf"]

KEPT_IN: ContextVar[Any] = ContextVar("crewgraph_kept_in", default=None)
"""The store of the graph around the running code, which keeps what has no place of its own; None where it has none."""

_MEMORIES = "memories"


def shelf(*namespace: str, storage: Any = None, embedder: Any = None) -> "Shelf":
    """The entries of a memory.

    Args:
        namespace: what it is called.
        storage: a path, or a LangGraph store; where None the store of the run, else a file in the storage folder, in which
            each project has entries of its own.
        embedder: what turns texts into vectors; of no meaning for a store, which has its own.
    """
    kept = KEPT_IN.get() if storage is None else storage
    made: Any = load("crewgraph.storage.store.shelf").Shelf
    return made(_MEMORIES, *namespace, storage=kept, embedder=embedder, of_project=kept is None)
