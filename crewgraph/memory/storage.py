"""What a memory keeps its entries with.

Memories kept by Mem0, on its platform or on this machine.

Where in a store the kinds of memory keep their entries.

A storage that finds entries by their meaning.

How well tasks were done, kept in a LangGraph store.

How well tasks were done, kept in an SQLite file of one's own.

The storage that a memory is given, or that is made for it.
"""

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from crewgraph.errors import StorageError
from crewgraph.extras import load, require
from crewgraph.settings import private_file, storage_dir
from crewgraph.text import slug

if TYPE_CHECKING:
    from crewgraph.storage.store.shelf import Shelf

__all__ = [
    "KEPT_IN",
    "LTMSQLiteStorage",
    "LTMStorage",
    "Mem0Storage",
    "RAGStorage",
    "Storage",
    "provided_storage",
    "shelf",
]


class Storage:
    """Where a memory keeps its entries; a class of your own overrides all three verbs, which may be async."""

    def save(self, value: Any, metadata: dict[str, Any]) -> None:
        """Keep a text, and what is noted with it."""
        raise NotImplementedError(f"`{type(self).__name__}` has no `save(value, metadata)` of its own")

    def search(self, query: str, limit: int, score_threshold: float) -> "dict[str, Any] | list[Any]":
        """The entries nearest to a text, the nearest first, each a dict with its text under `content`.

        Args:
            query: the text.
            limit: at most so many.
            score_threshold: how near they are at least, from 0 to 1.
        """
        raise NotImplementedError(f"`{type(self).__name__}` has no `search(query, limit, score_threshold)` of its own")

    def reset(self) -> None:
        """Forget everything."""
        raise NotImplementedError(f"`{type(self).__name__}` has no `reset()` of its own")


_WHO = ("user_id", "agent_id", "run_id")
_OF_SAVING = ("includes", "excludes")


class Mem0Storage(Storage):
    """Keeps memories with Mem0.

    Args:
        type: what kind of memory it is; noted with each entry.
        crew: whose it is.
        config: `user_id`, `agent_id`, `run_id`: whose memories they are; `infer`: whether Mem0 draws statements from what is
            said (True); `includes`, `excludes`: what these are about. On its platform `api_key` (else MEM0_API_KEY),
            `custom_categories`; on this machine `local_mem0_config`, as `mem0.Memory.from_config` takes it.

    Raises:
        MissingExtra: Mem0 is not installed.
    """

    def __init__(self, type: str, crew: Any = None, config: dict[str, Any] | None = None) -> None:
        self.type, self.crew, self.config = type, crew, config or {}
        self._mem0: Any = require("mem0", extra="mem0", purpose='a memory with the provider "mem0"')
        self._memory: Any = None

    @property
    def memory(self) -> Any:
        """Mem0's own object, made when it is first used."""
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

    def save(self, value: Any, metadata: dict[str, Any] | None = None) -> None:
        """Keep a text; `messages` among the metadata are the conversation that it ended."""
        noted = dict(metadata or {})
        last = {"role": "assistant", "content": str(value)}
        said = [one for one in _conversation(noted.pop("messages", None) or []) if one != last]
        more = {name: self.config[name] for name in _OF_SAVING if self._key and name in self.config}
        self.memory.add(
            [*said, last],
            metadata={"type": self.type, **noted},
            infer=self.config.get("infer", True),
            **self._who,
            **more,
        )

    def search(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """The memories nearest to a text: what Mem0 gives, each with its text also under `content`."""
        who = [{name: value} for name, value in self._who.items()]
        filters: dict[str, Any] = {}
        if who:
            filters = who[0] if len(who) == 1 else {"OR": who}
        found = self.memory.search(query, top_k=limit, threshold=score_threshold, filters=filters)
        results: Any = cast("dict[str, Any]", found).get("results", []) if isinstance(found, dict) else found or []
        return [{**one, "content": one.get("memory", "")} for one in results]

    def reset(self) -> None:
        """Forget what is kept for whom the configuration names; all there is, where it names nobody."""
        if self._who:
            self.memory.delete_all(**self._who)
        else:
            self.memory.reset()

    @property
    def _who(self) -> dict[str, Any]:
        return {name: self.config[name] for name in _WHO if self.config.get(name)}

    @property
    def _key(self) -> str | None:
        return self.config.get("api_key") or os.environ.get("MEM0_API_KEY") or None


def _conversation(said: list[Any]) -> list[dict[str, Any]]:
    """What was asked and answered; not what an agent is told of itself."""
    return [
        {"role": one["role"], "content": one["content"]}
        for one in cast("list[dict[str, Any]]", said)
        if one.get("role") in ("user", "assistant") and isinstance(one.get("content"), str) and one["content"]
    ]


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


_LONGEST = 80


class RAGStorage(Storage):
    """Keeps texts with vectors, in a LangGraph store on SQLite and FAISS; opened when it is first used.

        RAGStorage(type="short_term", embedder_config={"provider": "openai", "config": {...}}, path="./memory")

    The same text with the same metadata is one entry, however often it is saved.

    Args:
        type: what is kept: "short_term", "entities" or a name of yours; each has entries of its own.
        allow_reset: whether `reset` may forget everything.
        embedder_config: what turns texts into vectors; one on this machine where None.
        crew: whose it is: crews with other agents have other entries.
        path: a folder, a database file (`.db`), or a LangGraph store; the storage folder where None, in which each project has
            entries of its own.
    """

    def __init__(
        self,
        type: str,
        allow_reset: bool = True,
        embedder_config: Any = None,
        crew: Any = None,
        path: Any = None,
    ) -> None:
        self.type, self.allow_reset = type, allow_reset
        self.embedder_config, self.crew, self.path = embedder_config, crew, path
        self._named: Any = None

    @property
    def shelf(self) -> "Shelf":
        """Its entries."""
        # Always with a team, if only "": else its entries would be above those of all teams, and theirs among them.
        return shelf(self.type, _team(self.crew), storage=self.path, embedder=self.embedder)

    @property
    def embedder(self) -> Any:
        """What turns texts into vectors, made once: some take long to make.

        Raises:
            EmbedderError: `embedder_config` is nothing of that kind.
            MissingExtra: its provider needs a package that is not installed.
        """
        if self._named is None and self.embedder_config is not None:
            self._named = load("crewgraph.storage.vectors.resolve").embedder_of(self.embedder_config)
        return self._named

    def save(self, value: Any, metadata: dict[str, Any] | None = None) -> None:
        """Keep a text; nothing is kept of an empty one.

        Raises:
            StorageError: it cannot be kept.
        """
        text = str(value)
        if text.strip():
            noted = _plain(metadata or {})
            self.shelf.put(_key(text, noted), text, noted)

    def search(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, query: str, limit: int = 5, filter: dict[str, Any] | None = None, score_threshold: float = 0.6
    ) -> list[Any]:
        """The entries nearest to a text, the nearest first: dicts with `id`, `content`, `metadata` and `score`.

        Args:
            query: the text.
            limit: at most so many.
            filter: what their metadata hold.
            score_threshold: how near they are at least: 1 is the same, 0.5 is nothing in common.

        Raises:
            StorageError: they cannot be found.
        """
        if not query.strip():
            return []
        found = self.shelf.search(query, limit, 2 * score_threshold - 1, filter)
        return [
            {
                "id": one.key,
                "content": one.text,
                "metadata": dict(one.metadata),
                "score": (1 + one.score) / 2 if one.score is not None else None,
            }
            for one in found
        ]

    def reset(self) -> None:
        """Forget everything.

        Raises:
            StorageError: that is not allowed, or cannot be done.
        """
        if not self.allow_reset:
            raise StorageError(f"the storage `{self.type}` was made with `allow_reset=False`; it forgets nothing")
        self.shelf.reset()


def _team(crew: Any) -> str:
    """What the entries of a crew are called: by the roles of its agents, as they are written."""
    named = "_".join(slug(agent.template("role") or "") for agent in getattr(crew, "agents", None) or ())
    if len(named) <= _LONGEST:
        return named
    return f"{named[:_LONGEST]}_{hashlib.sha256(named.encode()).hexdigest()[:10]}"


def _key(text: str, metadata: dict[str, Any]) -> str:
    written = json.dumps([text, metadata], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _plain(metadata: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(metadata, ensure_ascii=False, default=str))


class LTMStorage:
    """Keeps how well tasks were done, by the descriptions of the tasks.

    Args:
        storage: a path, or a LangGraph store; the storage folder where None, in which each project has entries of its own.
    """

    def __init__(self, storage: Any = None) -> None:
        self.storage = storage

    @property
    def shelf(self) -> "Shelf":
        """Its entries."""
        return shelf("long_term", storage=self.storage)

    def save(self, task_description: str, metadata: dict[str, Any], datetime: str, score: int | float | None) -> None:
        """Keep how well a task was done at some time.

        Args:
            task_description: the task.
            metadata: what is known of it: JSON data.
            datetime: when, in seconds since 1970, as a text.
            score: from 0 to 10.

        Raises:
            StorageError: it cannot be kept.
        """
        named = _digest(task_description)
        noted = {"of": named, "metadata": metadata, "datetime": datetime, "score": score}
        self.shelf.put(_digest(f"{named} {datetime} {metadata.get('agent', '')}"), task_description, noted)

    def load(self, task_description: str, latest_n: int) -> list[dict[str, Any]]:
        """What is known of a task, the latest first.

        Raises:
            StorageError: it cannot be read.
        """
        found = [dict(one.metadata) for one in self.shelf.entries({"of": _digest(task_description)})]
        found.sort(key=lambda one: (_seconds(one["datetime"]), one["datetime"]), reverse=True)
        return [{name: one[name] for name in ("metadata", "datetime", "score")} for one in found[: max(latest_n, 0)]]

    def reset(self) -> None:
        """Forget everything.

        Raises:
            StorageError: that cannot be done.
        """
        self.shelf.reset()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _seconds(written: str) -> float:
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
    """Keeps how well tasks were done, in a table `long_term_memories`; files that CrewAI has written are read.

    Several processes may share the file.

    Args:
        db_path: the file; `long_term_memory_storage.db` in the storage folder where None.
    """

    def __init__(self, db_path: "str | Path | None" = None) -> None:
        self.db_path = str(storage_dir() / _FILE if db_path is None else Path(db_path).expanduser())
        self._lock = threading.Lock()

    def save(self, task_description: str, metadata: dict[str, Any], datetime: str, score: int | float | None) -> None:
        """Keep how well a task was done at some time; the same task, time and metadata are one row.

        Args:
            task_description: the task.
            metadata: what is known of it: JSON data.
            datetime: when, in seconds since 1970, as a text.
            score: from 0 to 10.

        Raises:
            StorageError: it cannot be kept.
        """
        row = (task_description, json.dumps(metadata, ensure_ascii=False, default=str), datetime)
        with self._connected("be written") as database:
            database.execute(
                "DELETE FROM long_term_memories WHERE task_description = ? AND metadata = ? AND datetime = ?", row
            )
            database.execute(
                "INSERT INTO long_term_memories (task_description, metadata, datetime, score) VALUES (?, ?, ?, ?)",
                (*row, score),
            )

    def load(self, task_description: str, latest_n: int) -> list[dict[str, Any]]:
        """What is known of a task, the latest first.

        Raises:
            StorageError: it cannot be read.
        """
        with self._connected("be read") as database:
            rows = database.execute(
                "SELECT metadata, datetime, score FROM long_term_memories WHERE task_description = ? "
                "ORDER BY datetime DESC, score ASC LIMIT ?",
                (task_description, max(latest_n, 0)),
            ).fetchall()
        return [{"metadata": json.loads(row[0]), "datetime": row[1], "score": row[2]} for row in rows]

    def reset(self) -> None:
        """Forget everything.

        Raises:
            StorageError: that cannot be done.
        """
        with self._connected("be emptied") as database:
            database.execute("DELETE FROM long_term_memories")

    @contextmanager
    def _connected(self, what: str) -> Generator[sqlite3.Connection]:
        # Opened for each use: what is kept open would not survive a fork, and a task is saved a few times a minute.
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
            raise StorageError(f"the long-term memory in `{self.db_path}` could not {what}: {error}") from error


def provided_storage(kind: str, storage: Any, crew: Any, embedder_config: Any, path: Any) -> Any:
    """What was given, else what the configuration names.

    Args:
        kind: what the memory is called in its storage.
        storage: what was given.
        crew: whose it is.
        embedder_config: what turns texts into vectors; Mem0, where it names that.
        path: a folder or a database file.
    """
    if storage is not None:
        return storage
    if isinstance(embedder_config, dict):
        config = cast("dict[str, Any]", embedder_config)
        if config.get("provider") == "mem0":
            return Mem0Storage(kind, crew, config.get("config") or {})
    return RAGStorage(type=kind, embedder_config=embedder_config, crew=crew, path=path)
