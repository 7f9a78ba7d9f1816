"""Programs that inspect, change and delete records."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from crewgraph.core.operations import Program
from crewgraph.memory.query import RecordFilter
from crewgraph.memory.records import MemoryMatch, MemoryRecord, ScopeInfo, join_scope_paths, scope_parts, utc_now
from crewgraph.schema import PlainMapping

if TYPE_CHECKING:
    from crewgraph.memory.memory import Memory

__all__ = [
    "categories_program",
    "child_scopes_program",
    "deletion_program",
    "listing_program",
    "match_documents",
    "scope_info_program",
    "tree_program",
    "update_program",
]


def listing_program(memory: "Memory", places: Sequence[str]) -> Program[list[MemoryRecord]]:
    """The records of some scopes and those below them, newest first."""
    records: dict[str, MemoryRecord] = {}
    for place in places:
        records |= {record.id: record for record in (yield from memory.records.listing(RecordFilter(scope=place)))}
    return sorted(records.values(), key=lambda record: record.created_at, reverse=True)


def child_scopes_program(memory: "Memory", places: Sequence[str]) -> Program[list[str]]:
    """The scopes directly below some scopes."""
    scopes: set[str] = set()
    for place in places:
        scopes |= _children(place, (yield from memory.records.scopes(place)))
    return sorted(scopes)


def scope_info_program(memory: "Memory", path: str, places: Sequence[str]) -> Program[ScopeInfo]:
    """Statistics of some scopes, reported for one path."""
    records = yield from listing_program(memory, places)
    times = [record.created_at for record in records]
    below = {path for place in places for path in _children(place, [record.scope for record in records])}
    return ScopeInfo(
        path=path,
        record_count=len(records),
        categories=sorted({name for record in records for name in record.categories}),
        oldest_record=min(times, default=None),
        newest_record=max(times, default=None),
        child_scopes=sorted(below),
    )


def categories_program(memory: "Memory", places: Sequence[str]) -> Program[dict[str, int]]:
    """The number of records by category, most frequent first."""
    records = yield from listing_program(memory, places)
    return dict(Counter(name for record in records for name in record.categories).most_common())


def tree_program(memory: "Memory", path: str, places: Sequence[str], max_depth: int) -> Program[str]:
    """The scopes below a path as indented text."""
    records = yield from listing_program(memory, places)
    counts: Counter[tuple[str, ...]] = Counter()
    for record in records:
        parts = scope_parts(record.scope)
        counts.update(parts[:length] for length in range(len(parts) + 1))
    top = len(scope_parts(path))
    lines = [_line(path, len(records), 0)]
    for parts in sorted(parts for parts in counts if top < len(parts) <= top + max_depth):
        lines.append(_line("/" + "/".join(parts), counts[parts], len(parts) - top))
    return "\n".join(lines)


def deletion_program(memory: "Memory", record_filter: RecordFilter) -> Program[int]:
    """Delete the records that match a filter and return their number."""
    return (yield from memory.records.deleting((yield from memory.records.listing(record_filter))))


def update_program(memory: "Memory", root: str, record_id: str, changes: PlainMapping) -> Program[MemoryRecord]:
    """Change a record.

    Raises:
        ValueError: the record does not exist, or a value is invalid.
    """
    matches = yield from memory.records.listing(RecordFilter(scope=root, record_ids=[record_id]))
    if not matches:
        raise ValueError(f"record `{record_id}` was not found in the memory; see `list_records()`")
    values = {name: value for name, value in changes.items() if value is not None}
    if "scope" in values:
        values["scope"] = join_scope_paths(root, values["scope"])
    changed = MemoryRecord.model_validate({**matches[0].model_dump(), **values, "last_accessed": utc_now()})
    yield from memory.records.replacing([changed])
    if matches[0].scope != changed.scope:
        yield from memory.records.moved(matches[0])
    return changed


def _children(scope: str, paths: Sequence[str]) -> set[str]:
    base = scope_parts(scope)
    below = (scope_parts(path) for path in paths)
    return {
        "/" + "/".join(parts[: len(base) + 1])
        for parts in below
        if len(parts) > len(base) and parts[: len(base)] == base
    }


def _line(path: str, count: int, depth: int) -> str:
    return f"{'  ' * depth}{path} ({count} {'record' if count == 1 else 'records'})"


_RECORD_FIELDS = {"id", "scope", "categories", "importance", "source"}


def match_documents(matches: Sequence[MemoryMatch]) -> list[Document]:
    """Matches as LangChain documents."""
    return [
        Document(
            page_content=match.record.content,
            metadata={**match.record.metadata, **match.record.model_dump(include=_RECORD_FIELDS), "score": match.score},
        )
        for match in matches
    ]
