"""Which records are meant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crewgraph.memory.records import MemoryRecord, naive_utc

__all__ = ["Wanted"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Records of a scope and of those below it that meet all conditions given."""

    scope: str = "/"
    categories: Sequence[str] | None = None
    """At least one of these; an empty list is none given."""

    metadata: Mapping[str, Any] | None = None
    """All of these values."""

    older_than: datetime | None = None
    newer_than: datetime | None = None
    record_ids: Sequence[str] | None = None
    source: str | None = None
    """Whose private records count, too."""

    private: bool = True
    """Whether all private records count."""

    @property
    def narrow(self) -> bool:
        """Whether it leaves out many records of a scope; private ones are few."""
        return bool(
            self.categories or self.metadata or self.older_than or self.newer_than or self.record_ids is not None
        )

    def __contains__(self, record: MemoryRecord) -> bool:
        """Whether a record of the scope is meant."""
        return (
            self._of_kind(record)
            and self._of_time(record)
            and (self.private or not record.private or (self.source is not None and record.source == self.source))
        )

    def _of_kind(self, record: MemoryRecord) -> bool:
        return (
            (not self.categories or not set(self.categories).isdisjoint(record.categories))
            and all(record.metadata.get(key) == value for key, value in (self.metadata or {}).items())
            and (self.record_ids is None or record.id in self.record_ids)
        )

    def _of_time(self, record: MemoryRecord) -> bool:
        made = naive_utc(record.created_at)
        return (self.older_than is None or made < naive_utc(self.older_than)) and (
            self.newer_than is None or made >= naive_utc(self.newer_than)
        )
