"""What a client of vectors is given, as plain data."""

from collections.abc import Mapping
from typing import Any, Required

from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

__all__ = ["BaseCollectionAddParams", "BaseCollectionParams", "BaseCollectionSearchParams", "BaseRecord"]


class BaseRecord(TypedDict, total=False):
    """A text that is to be kept."""

    doc_id: str
    """What it is known by; made of the text and its metadata where it is not given."""

    content: Required[str]
    metadata: Mapping[str, str | int | float | bool] | list[Mapping[str, str | int | float | bool]]
    """What else is known of it; of a list the first counts."""


class BaseCollectionParams(TypedDict, total=False):
    """Which collection is meant."""

    collection_name: Required[str]


class BaseCollectionAddParams(TypedDict, total=False):
    """What is to be kept, and where."""

    collection_name: Required[str]
    documents: Required[list[BaseRecord]]
    batch_size: int
    """How many texts are embedded at once; as the client's configuration says where it is not given."""


class BaseCollectionSearchParams(TypedDict, total=False):
    """What is looked for, and where."""

    collection_name: Required[str]
    query: Required[str]
    limit: int
    metadata_filter: dict[str, Any] | None
    score_threshold: float
    """From 0 to 1, how near a text is at least."""
