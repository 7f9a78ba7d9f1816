"""What is remembered, and what is found of it.

How well something remembered fits: nearness, age and importance.

Paths of scopes: `/team/research`, the root is `/`.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, Field

__all__ = [
    "MemoryConfig",
    "MemoryMatch",
    "MemoryRecord",
    "ScopeInfo",
    "compute_composite_score",
    "join_scope_paths",
    "naive_utc",
    "normalize_scope_path",
    "now",
    "parent_path",
    "parts_of",
    "sanitize_scope_name",
]


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


_SPEAKS = 0.5
_DAY = 86400


class MemoryConfig(BaseModel):
    """How a memory weighs and merges what it holds."""

    recency_weight: float = Field(default=0.3, ge=0, le=1)
    """What the age of a record counts."""

    semantic_weight: float = Field(default=0.5, ge=0, le=1)
    """What its nearness to the query counts."""

    importance_weight: float = Field(default=0.2, ge=0, le=1)
    """What its importance counts."""

    recency_half_life_days: int = Field(default=30, ge=1)
    """After so many days its age counts half."""

    consolidation_threshold: float = Field(default=0.85, ge=0, le=1)
    """How near two records are at least for the model to be asked whether they are one."""

    consolidation_limit: int = Field(default=5, ge=1)
    """With how many others a new record is compared at most."""

    batch_dedup_threshold: float = Field(default=0.98, ge=0, le=1)
    """Without effect: of what is remembered at once, the same words in the same scope are one record."""

    default_importance: float = Field(default=0.5, ge=0, le=1)
    """The importance where neither the program nor a model says it."""

    confidence_threshold_high: float = Field(default=0.8, ge=0, le=1)
    """A best score from here on is taken as it is."""

    confidence_threshold_low: float = Field(default=0.5, ge=0, le=1)
    """With a best score below, a model is asked what else to look for."""

    complex_query_threshold: float = Field(default=0.7, ge=0, le=1)
    """The same for a query that the model called complex."""

    exploration_budget: int = Field(default=1, ge=0)
    """How often it is asked that at most."""

    recall_oversample_factor: int = Field(default=2, ge=1)
    """How many times the records wanted are looked at."""

    query_analysis_threshold: int = Field(default=250, ge=0)
    """Queries of so many characters are first taken apart by the model."""


def compute_composite_score(
    record: MemoryRecord, semantic_score: float, config: MemoryConfig
) -> tuple[float, list[str]]:
    """How well a record fits, and what speaks for it.

    Args:
        record: the record.
        semantic_score: how near it is to the query, 0 to 1.
        config: the weights.
    """
    days = max((now() - naive_utc(record.created_at)).total_seconds() / _DAY, 0.0)
    recency = 0.5 ** (days / config.recency_half_life_days)
    score = (
        config.semantic_weight * semantic_score
        + config.recency_weight * recency
        + config.importance_weight * record.importance
    )
    reasons = ["semantic"]
    if recency > _SPEAKS:
        reasons.append("recency")
    if record.importance > _SPEAKS:
        reasons.append("importance")
    return score, reasons


def naive_utc(time: datetime) -> datetime:
    """A time in UTC, without a zone; one without a zone is taken to be in UTC."""
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def normalize_scope_path(path: str | None) -> str:
    """A path as it is kept: one slash at its beginning and between its parts, none at its end."""
    return "/" + "/".join(parts_of(path))


def join_scope_paths(root: str | None, inner: str | None) -> str:
    """A path that is read from another one on."""
    return "/" + "/".join((*parts_of(root), *parts_of(inner)))


def sanitize_scope_name(name: str) -> str:
    """A name as one part of a path: small letters, digits, `_`, and `-` for all else; "unknown" where nothing is left."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9_-]", "-", name.lower())).strip("-") or "unknown"


def parts_of(path: str | None) -> tuple[str, ...]:
    """The parts of a path."""
    return tuple(part for part in (path or "").split("/") if part)


def parent_path(path: str) -> str:
    """The path that a path stands below; the root stands below itself."""
    return "/" + "/".join(parts_of(path)[:-1])
