"""Memory in an external service or a custom storage."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

from crewgraph.errors import StorageError
from crewgraph.memory.short_term import StoredMemory
from crewgraph.memory.storage import Mem0Storage
from crewgraph.schema import Metadata, PlainDict

__all__ = ["ExternalMemory"]


class ExternalMemory(StoredMemory):
    """A memory in a custom `Storage`, or in Mem0.

        ExternalMemory(storage=MyStorage())
        ExternalMemory(embedder_config={"provider": "mem0", "config": {"user_id": "john"}})

    Args:
        storage: a `Storage` or a LangGraph store.
        data: `embedder_config`, which names a provider instead; `crew`.
    """

    kind: ClassVar[str] = "external_memory"
    stored_as: ClassVar[str] = "external"

    def __init__(self, storage: object = None, **data: Any) -> None:
        super().__init__(storage=storage, **data)

    @staticmethod
    def external_supported_storages() -> dict[str, Callable[..., Any]]:
        """The providers by name, with functions that create their storage from a crew and a `config`."""
        return {"mem0": _mem0}

    @staticmethod
    def create_storage(crew: object, embedder_config: Any) -> Any:
        """Create the storage that a configuration names.

        Raises:
            ValueError: the configuration names no known provider.
            MissingExtra: a package is not installed.
        """
        if not embedder_config:
            raise ValueError(
                "an `ExternalMemory` needs a `storage`, or an `embedder_config` that names a provider: "
                '`{"provider": "mem0", "config": {"user_id": "john"}}`'
            )
        providers = ExternalMemory.external_supported_storages()
        provider = embedder_config.get("provider")
        if provider not in providers:
            raise ValueError(
                f"`embedder_config` of an `ExternalMemory` names the provider {provider!r}; there is "
                f"{', '.join(map(repr, providers))}. For any other one give a `storage` of your own."
            )
        return providers[provider](crew, embedder_config.get("config") or {})

    def set_crew(self, crew: object) -> Self:
        """Assign the memory to a crew, and create its storage if it is only configured.

        Raises:
            ValueError: there is neither a storage nor a provider.
            MissingExtra: the provider's package is not installed.
        """
        super().set_crew(crew)
        if self.storage is None:
            self.storage = self.create_storage(crew, self.embedder_config)
        return self

    def save(self, value: Any, metadata: Metadata | None = None) -> None:
        """Save a text; see `StoredMemory.save`."""
        self._check()
        super().save(value, metadata)

    def search(self, query: str, limit: int = 5, score_threshold: float = 0.6) -> list[Any]:
        """Search by similarity; see `StoredMemory.search`."""
        self._check()
        return super().search(query, limit, score_threshold)

    def reset(self) -> None:
        """Delete everything; see `StoredMemory.reset`."""
        self._check()
        super().reset()

    def _check(self) -> None:
        if self.storage is None:
            if not self.embedder_config:
                raise StorageError("this `ExternalMemory` has no storage: give it a `storage`")
            self.storage = self.create_storage(self.crew, self.embedder_config)


def _mem0(crew: object, config: PlainDict) -> Mem0Storage:
    return Mem0Storage("external", crew, config)
