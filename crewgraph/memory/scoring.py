"""How well something remembered fits: nearness, age and importance."""

from datetime import UTC, datetime

from pydantic import BaseModel, Field

from crewgraph.memory.record import MemoryRecord, now

__all__ = ["MemoryConfig", "compute_composite_score", "naive_utc"]

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
