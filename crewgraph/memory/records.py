"""Memory records, their ranking by similarity, age and importance, and paths of scopes (`/team/research`, the root is `/`)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, Field

from crewgraph.redaction import RedactedModel
from crewgraph.schema import Metadata, PlainMapping


def utc_now() -> datetime:
    """The current time in UTC, without a zone, as in records."""
    return datetime.now(UTC).replace(tzinfo=None)


class MemoryRecord(BaseModel):
    """A memory."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """The record's id."""

    content: str
    """The text."""

    scope: str = "/"
    """The path of the record's scope: `"/customers/42"`."""

    categories: list[str] = Field(default_factory=list[str])
    """The topics of the record: `["people", "harbour"]`."""

    metadata: Metadata = Field(default_factory=Metadata)
    """Further JSON data: `{"page": 3}`."""

    importance: float = Field(default=0.5, ge=0, le=1)
    """How important the record is, from 0 to 1."""

    created_at: datetime = Field(default_factory=utc_now)
    """When it was first saved, in UTC, without a zone."""

    last_accessed: datetime = Field(default_factory=utc_now)
    """When it was last saved or changed, in UTC, without a zone."""

    embedding: list[float] | None = Field(default=None, exclude=True, repr=False)
    """The vector of the text, for custom storages; None elsewhere."""

    source: str | None = None
    """Where the record comes from, such as the role of an agent."""

    private: bool = False
    """Whether the record is recalled only for its source."""


class MemoryMatch(BaseModel):
    """A recalled memory."""

    record: MemoryRecord
    """The recalled record."""

    score: float
    """The weighted sum of its similarity to the query, its age and its importance."""

    match_reasons: list[str] = Field(default_factory=list[str])
    """Why it matches: "semantic", "recency", "importance"."""

    evidence_gaps: list[str] = Field(default_factory=list[str])
    """The parts of the query without matches; only on the first match."""

    def format(self) -> str:
        """The match as text for a prompt."""
        return "\n  ".join((f"- {self.record.content} (score {self.score:.2f})", *self._notes()))

    def _notes(self) -> Iterator[str]:
        if self.record.categories:
            yield f"categories: {', '.join(self.record.categories)}"
        for key, value in self.record.metadata.items():
            if value not in (None, "", [], {}):
                yield f"{key}: {_format_value(value)}"


class ScopeInfo(BaseModel):
    """Statistics of a scope and those below it."""

    path: str
    """The scope."""

    record_count: int = 0
    """The number of records."""

    categories: list[str] = Field(default_factory=list[str])
    """Their categories, sorted."""

    oldest_record: datetime | None = None
    """When the oldest was created, in UTC."""

    newest_record: datetime | None = None
    """When the newest was created, in UTC."""

    child_scopes: list[str] = Field(default_factory=list[str])
    """The scopes directly below."""


def _format_value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items())  # pyright: ignore[reportUnknownVariableType]
    return str(value)


_REASON_THRESHOLD = 0.5
_DAY = 86400


class MemoryConfig(RedactedModel):
    """Weights and thresholds of a memory."""

    recency_weight: float = Field(default=0.3, ge=0, le=1)
    """The weight of a record's age in its score; `MemoryMatch.score` is the weighted sum."""

    semantic_weight: float = Field(default=0.5, ge=0, le=1)
    """The weight of a record's similarity to the query in its score."""

    importance_weight: float = Field(default=0.2, ge=0, le=1)
    """The weight of a record's importance in its score."""

    recency_half_life_days: int = Field(default=30, ge=1)
    """The half-life of the recency part of the score, in days."""

    consolidation_threshold: float = Field(default=0.85, ge=0, le=1)
    """The minimum similarity for asking the model whether to merge two records."""

    consolidation_limit: int = Field(default=5, ge=1)
    """The maximum number of records that a new one is compared with."""

    batch_dedup_threshold: float = Field(default=0.98, ge=0, le=1)
    """Without effect: within a batch, the same words in the same scope are one record."""

    default_importance: float = Field(default=0.5, ge=0, le=1)
    """The importance if neither the program nor a model sets one."""

    confidence_threshold_high: float = Field(default=0.8, ge=0, le=1)
    """A deep recall whose best score reaches this value searches no further."""

    confidence_threshold_low: float = Field(default=0.5, ge=0, le=1)
    """A deep recall whose best score is below this value has the model suggest further queries."""

    complex_query_threshold: float = Field(default=0.7, ge=0, le=1)
    """Replaces `confidence_threshold_low` for queries that the model considers complex."""

    exploration_budget: int = Field(default=1, ge=0)
    """The maximum number of further searches in a deep recall; 0 lets the model suggest none."""

    recall_oversample_factor: int = Field(default=2, ge=1)
    """The number of records searched before scoring, as a multiple of the requested number."""

    query_analysis_threshold: int = Field(default=250, ge=0)
    """Queries of at least this many characters are analyzed by the model."""


def compute_composite_score(
    record: MemoryRecord, semantic_score: float, config: MemoryConfig
) -> tuple[float, list[str]]:
    """A record's score, and the reasons for it.

    Args:
        record: the record.
        semantic_score: its similarity to the query, 0 to 1.
        config: the weights.
    """
    days = max((utc_now() - naive_utc(record.created_at)).total_seconds() / _DAY, 0.0)
    recency = 0.5 ** (days / config.recency_half_life_days)
    score = (
        config.semantic_weight * semantic_score
        + config.recency_weight * recency
        + config.importance_weight * record.importance
    )
    reasons = ["semantic"]
    if recency > _REASON_THRESHOLD:
        reasons.append("recency")
    if record.importance > _REASON_THRESHOLD:
        reasons.append("importance")
    return score, reasons


def naive_utc(time: datetime) -> datetime:
    """Convert a time to UTC without a zone; a time without a zone is taken to be in UTC."""
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def normalize_scope_path(path: str | None) -> str:
    """Normalize a path: one leading slash, one between parts, none at the end."""
    return "/" + "/".join(scope_parts(path))


def join_scope_paths(root: str | None, inner: str | None) -> str:
    """Resolve a path relative to another."""
    return "/" + "/".join((*scope_parts(root), *scope_parts(inner)))


def sanitize_scope_name(name: str) -> str:
    """Convert a name to one part of a path: lower case, digits, `_`, and `-` for all else; "unknown" if nothing remains."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9_-]", "-", name.lower())).strip("-") or "unknown"


def scope_parts(path: str | None) -> tuple[str, ...]:
    """The parts of a path."""
    return tuple(part for part in (path or "").split("/") if part)


def is_within(path: str, scope: str) -> bool:
    """Return whether a path is that of a scope or below it."""
    parts = scope_parts(scope)
    return scope_parts(path)[: len(parts)] == parts


@dataclass(frozen=True, kw_only=True)
class RecordFilter:
    """Selects the records of a scope and those below it that meet all conditions."""

    scope: str = "/"
    categories: Sequence[str] | None = None
    """At least one of these; empty means no condition."""

    metadata: PlainMapping | None = None
    """All of these values."""

    older_than: datetime | None = None
    newer_than: datetime | None = None
    record_ids: Sequence[str] | None = None
    source: str | None = None
    """Also include this source's private records."""

    private: bool = True
    """Whether to include all private records."""

    @property
    def narrow(self) -> bool:
        """Whether it may exclude many records of a scope; private ones are few."""
        return bool(
            self.categories or self.metadata or self.older_than or self.newer_than or self.record_ids is not None
        )

    def __contains__(self, record: MemoryRecord) -> bool:
        """Return whether a record of the scope matches."""
        return (
            self._matches_content(record)
            and self._matches_time(record)
            and (self.private or not record.private or (self.source is not None and record.source == self.source))
        )

    def _matches_content(self, record: MemoryRecord) -> bool:
        return (
            (not self.categories or not set(self.categories).isdisjoint(record.categories))
            and all(record.metadata.get(key) == value for key, value in (self.metadata or {}).items())
            and (self.record_ids is None or record.id in self.record_ids)
        )

    def _matches_time(self, record: MemoryRecord) -> bool:
        created = naive_utc(record.created_at)
        return (self.older_than is None or created < naive_utc(self.older_than)) and (
            self.newer_than is None or created >= naive_utc(self.newer_than)
        )
