"""Filters of records."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from crewgraph.memory.records import MemoryRecord, naive_utc
from crewgraph.schema import PlainMapping

__all__ = ["RecordFilter"]


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
