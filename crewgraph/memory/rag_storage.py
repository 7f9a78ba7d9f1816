"""A storage that finds entries by their meaning."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from crewgraph.errors import StorageError
from crewgraph.extras import load
from crewgraph.memory.shelves import shelf
from crewgraph.memory.storage import Storage
from crewgraph.text import slug

if TYPE_CHECKING:
    from crewgraph.storage.store.shelf import Shelf

__all__ = ["RAGStorage"]

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
