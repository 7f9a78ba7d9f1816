"""Stores on files, opened once in a process for each path and embedder."""

import threading
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore

from crewgraph.settings import storage_dir
from crewgraph.stores.faiss_store import FaissStore
from crewgraph.vectors.embedder import NamedEmbedder
from crewgraph.vectors.resolve import embedder_of

__all__ = ["close_stores", "opened", "store_for"]

_FILES = (".db", ".sqlite", ".sqlite3")

_lock = threading.Lock()
_opened: dict[tuple[Path, str], FaissStore] = {}


def store_for(storage: "BaseStore | str | Path | None", file: str, embedder: Any = None) -> BaseStore:
    """The store that was asked for.

    Args:
        storage: a LangGraph store, which is taken as it is; the path of a folder or of a database file; None for the storage
            folder.
        file: the name of the database file in a folder.
        embedder: as `embedder_of` takes it; of no meaning for a store that was given.

    Raises:
        TypeError: it is none of these.
        StorageError: the file cannot be opened.
    """
    if isinstance(storage, BaseStore):
        return storage
    if storage is not None and not isinstance(storage, (str, Path)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"a `{type(storage).__name__}` is no storage; give a path, or a LangGraph store (`InMemoryStore(index=...)`, "
            "`FaissStore(...)`)"
        )
    path = storage_dir() if storage is None else Path(storage).expanduser()
    return opened(path if path.suffix in _FILES else path / file, embedder)


def opened(path: Path, embedder: Any = None) -> BaseStore:
    """The store on a file, the same one for an embedder as long as the process lives.

    Raises:
        StorageError: the file cannot be opened.
    """
    named = embedder if isinstance(embedder, NamedEmbedder) else embedder_of(embedder)
    key = (path.absolute(), named.name)
    with _lock:
        if key not in _opened:
            _opened[key] = FaissStore(path, embedder=named)
        return _opened[key]


def close_stores(folder: Path) -> None:
    """Close the stores whose files are in a folder; they are opened anew when they are needed."""
    with _lock:
        for key in [key for key in _opened if key[0].is_relative_to(folder.absolute())]:
            _opened.pop(key).close()
