"""Programs that recall."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from crewgraph.core.operations import Parallel, Program
from crewgraph.errors import CrewgraphError
from crewgraph.events.knowledge import MemoryQueryCompletedEvent, MemoryQueryFailedEvent, MemoryQueryStartedEvent
from crewgraph.memory.analysis import QueryAnalysis
from crewgraph.memory.analyze import looking_closer, taking_apart
from crewgraph.memory.events import REMEMBERING, tell
from crewgraph.memory.query import Wanted
from crewgraph.memory.records import MemoryMatch, MemoryRecord, compute_composite_score, parts_of

if TYPE_CHECKING:
    from crewgraph.memory.memory import Memory

__all__ = ["Asked", "recalling"]


_QUERIES = 3
_SOURCE = "unified_memory"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be recalled."""

    query: str
    places: Sequence[str]
    """The scopes that are searched, with all below them."""

    categories: Sequence[str] | None = None
    limit: int = 10
    depth: Literal["shallow", "deep"] = "deep"
    source: str | None = None
    include_private: bool = False
    since: datetime | None = None

    def wanted(self, scope: str) -> Wanted:
        """The records of one scope."""
        return Wanted(
            scope=scope,
            categories=self.categories,
            newer_than=self.since,
            source=self.source,
            private=self.include_private,
        )


_Near = dict[str, tuple[MemoryRecord, float]]


def recalling(memory: "Memory", asked: Asked) -> Program[list[MemoryMatch]]:
    """The records that fit a query best."""
    if not asked.query.strip() or asked.limit < 1:
        return []
    known = {"query": asked.query, "limit": asked.limit, "source_type": _SOURCE}
    event: dict[str, Any] = {**(REMEMBERING.get() or {}), **known}
    begun = time.perf_counter()
    tell(memory, MemoryQueryStartedEvent, **event)
    try:
        found = yield from _found(memory, asked)
    except CrewgraphError as error:
        tell(memory, MemoryQueryFailedEvent, **event, error=str(error))
        raise
    took = (time.perf_counter() - begun) * 1000
    tell(memory, MemoryQueryCompletedEvent, **event, results=found, query_time_ms=took)
    return found


def _found(memory: "Memory", asked: Asked) -> Program[list[MemoryMatch]]:
    said = yield from _taken_apart(memory, asked)
    queries = [text for text in said.recall_queries if text.strip()][:_QUERIES] or [asked.query]
    near: _Near = {}
    narrowed = _narrowed(memory, asked, said)
    yield from _search(memory, narrowed, queries, near)
    if not near and narrowed.places != asked.places:
        yield from _search(memory, replace(narrowed, places=asked.places), queries, near)
    gaps: list[str] = []
    for _ in range(memory.exploration_budget if asked.depth == "deep" else 0):
        model, ranked = memory.model, _ranked(memory, near)
        if model is None or not ranked or _confident(memory, ranked[0].score, said):
            break
        texts = [one.record.content for one in ranked[: asked.limit]]
        closer = yield from looking_closer(asked.query, texts, model, memory.wording)
        gaps = closer.missing
        if not closer.queries:
            break
        yield from _search(memory, asked, closer.queries[:_QUERIES], near)
    best = _ranked(memory, near)[: asked.limit]
    yield from memory.records.touching([one.record for one in best])
    return [one.model_copy(update={"evidence_gaps": gaps}) if place == 0 else one for place, one in enumerate(best)]


def _taken_apart(memory: "Memory", asked: Asked) -> Program[QueryAnalysis]:
    """What a long query asks for, by the model; else nothing but itself."""
    model = memory.model
    if asked.depth != "deep" or model is None or len(asked.query) < memory.query_analysis_threshold:
        return QueryAnalysis()
    scopes: list[str] = []
    for place in asked.places:
        scopes += yield from memory.records.scopes(place)
    said = yield from taking_apart(asked.query, scopes, None, model, memory.wording)
    return said or QueryAnalysis()


def _narrowed(memory: "Memory", asked: Asked, said: QueryAnalysis) -> Asked:
    """The query in the scopes and the time that the model says, within those that were asked for."""
    suggested = ["/" + "/".join(parts_of(path)) for path in said.suggested_scopes]
    places = [path for path in suggested if any(_below(path, place) for place in asked.places)]
    try:
        since = datetime.fromisoformat(said.time_filter) if said.time_filter else None
    except ValueError:
        since = None
    return replace(asked, places=places or asked.places, since=since)


def _below(path: str, scope: str) -> bool:
    parts = parts_of(scope)
    return parts_of(path)[: len(parts)] == parts


def _confident(memory: "Memory", best: float, said: QueryAnalysis) -> bool:
    if best >= memory.confidence_threshold_high:
        return True
    enough = memory.complex_query_threshold if said.complexity == "complex" else memory.confidence_threshold_low
    return best >= enough


def _search(memory: "Memory", asked: Asked, queries: Sequence[str], near: _Near) -> Program[None]:
    """Add what the queries find; each record with its best nearness."""
    look = asked.limit * memory.config.recall_oversample_factor
    programs = [
        memory.records.searching(query, asked.wanted(place), look)
        for query in dict.fromkeys(queries)
        for place in dict.fromkeys(asked.places)
    ]
    outcomes: Iterable[Any] = [(yield from programs[0])] if len(programs) == 1 else (yield Parallel(programs))
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        for record, score in outcome:
            if record.id not in near or near[record.id][1] < score:
                near[record.id] = (record, score)


def _ranked(memory: "Memory", near: _Near) -> list[MemoryMatch]:
    matches: list[MemoryMatch] = []
    for record, nearness in near.values():
        score, reasons = compute_composite_score(record, nearness, memory.config)
        matches.append(MemoryMatch(record=record, score=score, match_reasons=reasons))
    return sorted(matches, key=lambda match: match.score, reverse=True)
