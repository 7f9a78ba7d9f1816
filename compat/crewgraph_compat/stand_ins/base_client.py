"""What a client of vectors can do."""

from collections.abc import Callable
from typing import Any, Protocol, Unpack, runtime_checkable

from crewgraph.knowledge.passage import SearchResult
from crewgraph_compat.stand_ins.rag_records import (
    BaseCollectionAddParams,
    BaseCollectionParams,
    BaseCollectionSearchParams,
)

__all__ = ["BaseClient"]


@runtime_checkable
class BaseClient(Protocol):
    """Keeps texts in collections and finds them by meaning; each verb also for event loops, with an `a` before it."""

    client: Any
    embedding_function: Callable[..., Any]

    def create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    async def acreate_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    def get_or_create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> Any: ...

    async def aget_or_create_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> Any: ...

    def add_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None: ...

    async def aadd_documents(self, **kwargs: Unpack[BaseCollectionAddParams]) -> None: ...

    def search(self, **kwargs: Unpack[BaseCollectionSearchParams]) -> list[SearchResult]: ...

    async def asearch(self, **kwargs: Unpack[BaseCollectionSearchParams]) -> list[SearchResult]: ...

    def delete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    async def adelete_collection(self, **kwargs: Unpack[BaseCollectionParams]) -> None: ...

    def reset(self) -> None: ...

    async def areset(self) -> None: ...
