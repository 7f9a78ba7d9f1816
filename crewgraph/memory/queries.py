"""Programs that look at what there is, and change or forget it.

What is recalled, as LangChain documents.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document

from crewgraph.core.operations import Program
from crewgraph.memory.query import Wanted
from crewgraph.memory.records import MemoryMatch, MemoryRecord, ScopeInfo, join_scope_paths, now, parts_of

if TYPE_CHECKING:
    from crewgraph.memory.memory import Memory

__all__ = ["categories", "children", "described", "documents", "drawn", "forgetting", "listed", "updating"]


def listed(memory: "Memory", places: Sequence[str]) -> Program[list[MemoryRecord]]:
    """The records of some scopes and of those below them, the newest first."""
    found: dict[str, MemoryRecord] = {}
    for place in places:
        found |= {one.id: one for one in (yield from memory.records.listing(Wanted(scope=place)))}
    return sorted(found.values(), key=lambda one: one.created_at, reverse=True)


def children(memory: "Memory", places: Sequence[str]) -> Program[list[str]]:
    """The scopes right below some scopes."""
    found: set[str] = set()
    for place in places:
        found |= _children(place, (yield from memory.records.scopes(place)))
    return sorted(found)


def described(memory: "Memory", path: str, places: Sequence[str]) -> Program[ScopeInfo]:
    """What there is in some scopes, told of one path."""
    records = yield from listed(memory, places)
    times = [record.created_at for record in records]
    below = {path for place in places for path in _children(place, [one.scope for one in records])}
    return ScopeInfo(
        path=path,
        record_count=len(records),
        categories=sorted({name for record in records for name in record.categories}),
        oldest_record=min(times, default=None),
        newest_record=max(times, default=None),
        child_scopes=sorted(below),
    )


def categories(memory: "Memory", places: Sequence[str]) -> Program[dict[str, int]]:
    """How many records there are of each category, the most frequent first."""
    records = yield from listed(memory, places)
    return dict(Counter(name for record in records for name in record.categories).most_common())


def drawn(memory: "Memory", path: str, places: Sequence[str], max_depth: int) -> Program[str]:
    """The scopes below a path as an indented text."""
    records = yield from listed(memory, places)
    counts: Counter[tuple[str, ...]] = Counter()
    for record in records:
        parts = parts_of(record.scope)
        counts.update(parts[:length] for length in range(len(parts) + 1))
    top = len(parts_of(path))
    lines = [_line(path, len(records), 0)]
    for parts in sorted(parts for parts in counts if top < len(parts) <= top + max_depth):
        lines.append(_line("/" + "/".join(parts), counts[parts], len(parts) - top))
    return "\n".join(lines)


def forgetting(memory: "Memory", wanted: Wanted) -> Program[int]:
    """Forget the records that are meant; how many there were."""
    return (yield from memory.records.deleting((yield from memory.records.listing(wanted))))


def updating(memory: "Memory", root: str, record_id: str, changes: Mapping[str, Any]) -> Program[MemoryRecord]:
    """Change a record.

    Raises:
        ValueError: there is none of this id, or a value does not fit.
    """
    found = yield from memory.records.listing(Wanted(scope=root, record_ids=[record_id]))
    if not found:
        raise ValueError(f"there is no record `{record_id}` in the memory; `list_records()` tells those that there are")
    given = {name: value for name, value in changes.items() if value is not None}
    if "scope" in given:
        given["scope"] = join_scope_paths(root, given["scope"])
    changed = MemoryRecord.model_validate({**found[0].model_dump(), **given, "last_accessed": now()})
    yield from memory.records.replacing([changed])
    if found[0].scope != changed.scope:
        yield from memory.records.moved(found[0])
    return changed


def _children(scope: str, paths: Sequence[str]) -> set[str]:
    base = parts_of(scope)
    below = (parts_of(path) for path in paths)
    return {
        "/" + "/".join(parts[: len(base) + 1])
        for parts in below
        if len(parts) > len(base) and parts[: len(base)] == base
    }


def _line(path: str, count: int, depth: int) -> str:
    return f"{'  ' * depth}{path} ({count} {'record' if count == 1 else 'records'})"


_NOTED = {"id", "scope", "categories", "importance", "source"}


def documents(matches: Sequence[MemoryMatch]) -> list[Document]:
    """A document for each match."""
    return [
        Document(
            page_content=match.record.content,
            metadata={**match.record.metadata, **match.record.model_dump(include=_NOTED), "score": match.score},
        )
        for match in matches
    ]
