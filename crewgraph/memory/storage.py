"""The storages of the kinds of memory.

`RAGStorage` searches by meaning in a LangGraph store, `Mem0Storage` uses Mem0; `LTMStorage` and `LTMSQLiteStorage` store how
well tasks were done. `resolve_storage` chooses one.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crewgraph.disk import private_file
from crewgraph.errors import StorageError
from crewgraph.extras import require
from crewgraph.memory.events import MEMORY_USE
from crewgraph.schema import Metadata, PlainDict, is_object
from crewgraph.settings import storage_dir
from crewgraph.text import slug

if TYPE_CHECKING:
    from crewgraph.storage.store.namespace import StoreNamespace


class Storage:
    """The storage of a memory; a custom class overrides all three methods, which may be async."""

    def save(self, value: Any, metadata: Metadata) -> None:
        """Save a text with its metadata."""
        raise NotImplementedError(f"`{type(self).__name__}` does not implement `save(value, metadata)`")

    def search(self, query: str, limit: int, score_threshold: float) -> "PlainDict | list[Any]":
        """The entries most similar to a text, best first, each a dict with its text as `content`.

        Args:
            query: the text.
            limit: the maximum number of entries.
            score_threshold: the minimum score, from 0 to 1.
        """
        raise NotImplementedError(f"`{type(self).__name__}` does not implement `search(query, limit, score_threshold)`")

    def reset(self) -> None:
        """Delete everything."""
        raise NotImplementedError(f"`{type(self).__name__}` does not implement `reset()`")


_OWNER_KEYS = ("user_id", "agent_id", "run_id")
_SAVE_OPTIONS = ("includes", "excludes")


class Mem0Storage(Storage):
    """Stores memories in Mem0.

    Args:
        type: the kind of memory, stored with each entry.
        crew: the crew that owns it.
        config: `user_id`, `agent_id`, `run_id`: the owner of the memories; `infer`: whether Mem0 extracts facts from the
            text (True); `includes`, `excludes`: topics of these. On its platform `api_key` (or MEM0_API_KEY) and
            `custom_categories`; on this machine `local_mem0_config`, for `mem0.Memory.from_config`.

    Raises:
        MissingExtra: Mem0 is not installed.
    """

    def __init__(self, type: str, crew: object = None, config: PlainDict | None = None) -> None:
        self.type, self.crew, self.config = type, crew, config or {}
        self._mem0: Any = require("mem0", extra="mem0", purpose='a memory with the provider "mem0"')
        self._memory: Any = None

    @property
    def memory(self) -> Any:
        """Mem0's own object, created on first use."""
        if self._memory is None:
            mem0, key = self._mem0, self._key
            if key is None:
                local = self.config.get("local_mem0_config")
                self._memory = mem0.Memory.from_config(local) if local else mem0.Memory()
            else:
                self._memory = mem0.MemoryClient(api_key=key)
                if categories := self.config.get("custom_categories"):
                    self._memory.project.update(custom_categories=categories)
        return self._memory

    def save(self, value: Any, metadata: Metadata | None = None) -> None:
        """Save a text; `messages` in the metadata are the conversation before it."""
        fields = dict(metadata or {})
        last = {"role": "assistant", "content": str(value)}
        conversation = [message for message in _spoken(fields.pop("messages", None) or []) if message != last]
        options = {name: self.config[name] for name in _SAVE_OPTIONS if self._key and name in self.config}
        self.memory.add(
            [*conversation, last],
            metadata={"type": self.type, **fields},
            infer=self.config.get("infer", True),
            **self._owner,
            **options,
        )

    def search(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """Mem0's results for a text, each with its text also as `content`."""
        who = [{name: value} for name, value in self._owner.items()]
        filters: dict[str, object] = {}
        if who:
            filters = who[0] if len(who) == 1 else {"OR": who}
        response = self.memory.search(query, top_k=limit, threshold=score_threshold, filters=filters)
        results: list[PlainDict] = response.get("results", []) if is_object(response) else response or []
        return [{**result, "content": result.get("memory", "")} for result in results]

    def reset(self) -> None:
        """Delete the memories of the configured owner; all memories if none is configured."""
        if self._owner:
            self.memory.delete_all(**self._owner)
        else:
            self.memory.reset()

    @property
    def _owner(self) -> PlainDict:
        return {name: self.config[name] for name in _OWNER_KEYS if self.config.get(name)}

    @property
    def _key(self) -> str | None:
        return self.config.get("api_key") or os.environ.get("MEM0_API_KEY") or None


def _spoken(messages: list[object]) -> list[dict[str, object]]:
    """The user's and the assistant's messages, without system messages."""
    return [
        {"role": message["role"], "content": message["content"]}
        for message in filter(is_object, messages)
        if message.get("role") in ("user", "assistant")
        and isinstance(message.get("content"), str)
        and message["content"]
    ]


_MEMORIES = "memories"


def memory_namespace(*namespace: str, storage: object = None, embedder: object = None) -> "StoreNamespace":
    """The entries of a memory.

    Args:
        namespace: its labels.
        storage: a path or a LangGraph store; None for the run's store, or else a file in the storage folder, where each
            project has its own entries.
        embedder: the embedder; ignored for a store, which has its own.
    """
    location = MEMORY_USE.get().store if storage is None else storage
    from crewgraph.storage.store.namespace import StoreNamespace

    namespace_class: object = StoreNamespace
    return namespace_class(_MEMORIES, *namespace, storage=location, embedder=embedder, of_project=location is None)


_MAX_TEAM_LENGTH = 80


class RAGStorage(Storage):
    """Stores texts with vectors in a LangGraph store on SQLite and FAISS; opened on first use.

        RAGStorage(type="short_term", embedder_config={"provider": "openai", "config": {...}}, path="./memory")

    The same text with the same metadata is one entry, however often it is saved.

    Args:
        type: "short_term", "entities" or a custom name; each has its own entries.
        allow_reset: whether `reset` may delete everything.
        embedder_config: the embedder's configuration; None for the local one.
        crew: the crew that owns it: crews with other agents have other entries.
        path: a folder, a database file (`.db`), or a LangGraph store; None for the storage folder, where each project has
            its own entries.
    """

    def __init__(
        self,
        type: str,
        allow_reset: bool = True,
        embedder_config: Any = None,
        crew: object = None,
        path: object = None,
    ) -> None:
        self.type, self.allow_reset = type, allow_reset
        self.embedder_config, self.crew, self.path = embedder_config, crew, path
        self._embedder: object = None

    @property
    def namespace(self) -> "StoreNamespace":
        """Its entries."""
        # Always with a team, if only "": else its entries would be above those of all teams, and theirs among them.
        return memory_namespace(self.type, _team(self.crew), storage=self.path, embedder=self.embedder)

    @property
    def embedder(self) -> Any:
        """The embedder, created once, as that can be slow.

        Raises:
            EmbedderError: `embedder_config` is invalid.
            MissingExtra: the provider's package is not installed.
        """
        if self._embedder is None and self.embedder_config is not None:
            from crewgraph.storage.vectors.resolve import embedder_of

            self._embedder = embedder_of(self.embedder_config)
        return self._embedder

    def save(self, value: Any, metadata: Metadata | None = None) -> None:
        """Save a text, unless it is blank.

        Raises:
            StorageError: it cannot be saved.
        """
        text = str(value)
        if text.strip():
            plain_metadata = _as_json_data(metadata or {})
            self.namespace.put(_entry_key(text, plain_metadata), text, plain_metadata)

    def search(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, query: str, limit: int = 5, filter: PlainDict | None = None, score_threshold: float = 0.6
    ) -> list[Any]:
        """The entries most similar to a text, best first: dicts with `id`, `content`, `metadata` and `score`.

        Args:
            query: the text.
            limit: the maximum number of entries.
            filter: conditions on the metadata.
            score_threshold: the minimum score: 1 is identical, 0.5 is unrelated.

        Raises:
            StorageError: the store cannot be searched.
        """
        if not query.strip():
            return []
        entries = self.namespace.search(query, limit, 2 * score_threshold - 1, filter)
        return [
            {
                "id": entry.key,
                "content": entry.text,
                "metadata": dict(entry.metadata),
                "score": (1 + entry.score) / 2 if entry.score is not None else None,
            }
            for entry in entries
        ]

    def reset(self) -> None:
        """Delete everything.

        Raises:
            StorageError: `allow_reset` is False, or the store cannot be written.
        """
        if not self.allow_reset:
            raise StorageError(f"the storage `{self.type}` was created with `allow_reset=False`, so it cannot be reset")
        self.namespace.reset()


def _team(crew: object) -> str:
    """The label of a crew's entries: the roles of its agents, as templates."""
    named = "_".join(slug(agent.template("role") or "") for agent in getattr(crew, "agents", None) or ())
    if len(named) <= _MAX_TEAM_LENGTH:
        return named
    return f"{named[:_MAX_TEAM_LENGTH]}_{hashlib.sha256(named.encode()).hexdigest()[:10]}"


def _entry_key(text: str, metadata: Metadata) -> str:
    written = json.dumps([text, metadata], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _as_json_data(metadata: Metadata) -> dict[str, object]:
    return json.loads(json.dumps(metadata, ensure_ascii=False, default=str))


class LTMStorage:
    """Stores how well tasks were done, by task description, in a LangGraph store.

    Args:
        storage: a path or a LangGraph store; None for the storage folder, where each project has its own entries.
    """

    def __init__(self, storage: Any = None) -> None:
        self.storage = storage

    @property
    def namespace(self) -> "StoreNamespace":
        """Its entries."""
        return memory_namespace("long_term", storage=self.storage)

    def save(self, task_description: str, metadata: Metadata, datetime: str, score: int | float | None) -> None:
        """Save how well a task was done.

        Args:
            task_description: the task.
            metadata: JSON data.
            datetime: seconds since 1970, as text.
            score: from 0 to 10.

        Raises:
            StorageError: it cannot be saved.
        """
        task_digest = _short_digest(task_description)
        entry = {"of": task_digest, "metadata": metadata, "datetime": datetime, "score": score}
        self.namespace.put(
            _short_digest(f"{task_digest} {datetime} {metadata.get('agent', '')}"), task_description, entry
        )

    def load(self, task_description: str, latest_n: int) -> list[PlainDict]:
        """The results of a task, latest first.

        Raises:
            StorageError: the store cannot be read.
        """
        entries = [dict(entry.metadata) for entry in self.namespace.entries({"of": _short_digest(task_description)})]
        entries.sort(key=lambda entry: (_moment(entry["datetime"]), entry["datetime"]), reverse=True)
        return [
            {name: entry[name] for name in ("metadata", "datetime", "score")} for entry in entries[: max(latest_n, 0)]
        ]

    def reset(self) -> None:
        """Delete everything.

        Raises:
            StorageError: the store cannot be written.
        """
        self.namespace.reset()


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _moment(written: str) -> float:
    try:
        return float(written)
    except ValueError:  # a date in words of the user's
        return 0.0


_FILE = "long_term_memory_storage.db"
_BUSY_SECONDS = 30
_TABLE = (
    "CREATE TABLE IF NOT EXISTS long_term_memories (id INTEGER PRIMARY KEY AUTOINCREMENT, task_description TEXT, "
    "metadata TEXT, datetime TEXT, score REAL)"
)
_INDEX = "CREATE INDEX IF NOT EXISTS long_term_tasks ON long_term_memories (task_description, datetime)"


class LTMSQLiteStorage:
    """Stores how well tasks were done in a table `long_term_memories`; reads files written by CrewAI.

    Several processes may share the file.

    Args:
        db_path: the file; None for `long_term_memory_storage.db` in the storage folder.
    """

    def __init__(self, db_path: "str | Path | None" = None) -> None:
        self.db_path = str(storage_dir() / _FILE if db_path is None else Path(db_path).expanduser())
        self._lock = threading.Lock()

    def save(self, task_description: str, metadata: Metadata, datetime: str, score: int | float | None) -> None:
        """Save how well a task was done; the same task, time and metadata are one row.

        Args:
            task_description: the task.
            metadata: JSON data.
            datetime: seconds since 1970, as text.
            score: from 0 to 10.

        Raises:
            StorageError: it cannot be saved.
        """
        row = (task_description, json.dumps(metadata, ensure_ascii=False, default=str), datetime)
        with self._connect("be written") as database:
            database.execute(
                "DELETE FROM long_term_memories WHERE task_description = ? AND metadata = ? AND datetime = ?", row
            )
            database.execute(
                "INSERT INTO long_term_memories (task_description, metadata, datetime, score) VALUES (?, ?, ?, ?)",
                (*row, score),
            )

    def load(self, task_description: str, latest_n: int) -> list[PlainDict]:
        """The results of a task, latest first.

        Raises:
            StorageError: the file cannot be read.
        """
        with self._connect("be read") as database:
            rows = database.execute(
                "SELECT metadata, datetime, score FROM long_term_memories WHERE task_description = ? "
                "ORDER BY datetime DESC, score ASC LIMIT ?",
                (task_description, max(latest_n, 0)),
            ).fetchall()
        return [{"metadata": json.loads(row[0]), "datetime": row[1], "score": row[2]} for row in rows]

    def reset(self) -> None:
        """Delete everything.

        Raises:
            StorageError: the file cannot be written.
        """
        with self._connect("be emptied") as database:
            database.execute("DELETE FROM long_term_memories")

    @contextmanager
    def _connect(self, action: str) -> Generator[sqlite3.Connection]:
        # Opened for each use: an open connection would not survive a fork, and a task is saved only a few times a minute.
        try:
            private_file(self.db_path)
            with self._lock:
                database = sqlite3.connect(self.db_path, timeout=_BUSY_SECONDS)
                try:
                    with database:
                        database.execute(_TABLE)
                        database.execute(_INDEX)
                        yield database
                finally:
                    database.close()
        except (sqlite3.Error, OSError, ValueError) as error:
            raise StorageError(
                f"the long-term memory in `{self.db_path}` could not {action}: {error}. Make the file and its folder writable, "
                "with room on the disk, or give another path."
            ) from error


def resolve_storage(kind: str, storage: object, crew: object, embedder_config: object, path: object) -> Any:
    """The storage that was passed, or else the configured one.

    Args:
        kind: the memory's name in its storage.
        storage: the storage that was passed, or None.
        crew: the crew that owns it.
        embedder_config: the embedder's configuration; may select Mem0.
        path: a folder or a database file.
    """
    if storage is not None:
        return storage
    if is_object(embedder_config) and embedder_config.get("provider") == "mem0":
        return Mem0Storage(kind, crew, embedder_config.get("config") or {})
    return RAGStorage(type=kind, embedder_config=embedder_config, crew=crew, path=path)
