"""What is remembered, and what is found of it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, Field

__all__ = ["MemoryMatch", "MemoryRecord", "ScopeInfo", "now"]


def now() -> datetime:
    """The time in UTC, without a zone, as records have it."""
    return datetime.now(UTC).replace(tzinfo=None)


class MemoryRecord(BaseModel):
    """Something that is remembered."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """What it is known by."""

    content: str
    """What is remembered, in words."""

    scope: str = "/"
    """Where it belongs: the path of a scope."""

    categories: list[str] = Field(default_factory=list[str])
    """What it is about."""

    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What else is known of it: JSON data."""

    importance: float = Field(default=0.5, ge=0, le=1)
    """How much it matters, 0 to 1."""

    created_at: datetime = Field(default_factory=now)
    """When it was remembered first, in UTC, without a zone."""

    last_accessed: datetime = Field(default_factory=now)
    """When it was remembered or changed last, in UTC, without a zone."""

    embedding: list[float] | None = Field(default=None, exclude=True, repr=False)
    """Its vector, for storages of one's own; None elsewhere."""

    source: str | None = None
    """Who it comes from."""

    private: bool = False
    """Whether only its source recalls it."""


class MemoryMatch(BaseModel):
    """Something that is recalled."""

    record: MemoryRecord
    """What is remembered."""

    score: float
    """How well it fits: the weighted sum of its nearness to the query, its age and its importance."""

    match_reasons: list[str] = Field(default_factory=list[str])
    """What speaks for it: "semantic", "recency", "importance"."""

    evidence_gaps: list[str] = Field(default_factory=list[str])
    """What was looked for and is not remembered; told with the first match."""

    def format(self) -> str:
        """The match as text for a prompt."""
        return "\n  ".join((f"- {self.record.content} (score {self.score:.2f})", *self._notes()))

    def _notes(self) -> Iterator[str]:
        if self.record.categories:
            yield f"categories: {', '.join(self.record.categories)}"
        for key, value in self.record.metadata.items():
            if value not in (None, "", [], {}):
                yield f"{key}: {_shown(value)}"


class ScopeInfo(BaseModel):
    """What is remembered in a scope and below it."""

    path: str
    """The scope."""

    record_count: int = 0
    """How many records."""

    categories: list[str] = Field(default_factory=list[str])
    """What they are about, by name."""

    oldest_record: datetime | None = None
    """When the oldest was remembered, in UTC."""

    newest_record: datetime | None = None
    """When the newest was remembered, in UTC."""

    child_scopes: list[str] = Field(default_factory=list[str])
    """The scopes right below it."""


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())  # pyright: ignore[reportUnknownVariableType]
    return str(value)
