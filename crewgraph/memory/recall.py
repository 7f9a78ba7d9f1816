"""The program that recalls: query analysis, search, ranking, and a second search where matches are weak."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from crewgraph.core.operations import Parallel, Program
from crewgraph.memory.analyze import QueryAnalysis, gaps_program, query_analysis_program
from crewgraph.memory.events import UNIFIED, memory_events
from crewgraph.memory.records import (
    MemoryMatch,
    MemoryRecord,
    RecordFilter,
    compute_composite_score,
    is_within,
    scope_parts,
)

if TYPE_CHECKING:
    from crewgraph.memory.memory import Memory

__all__ = ["RecallRequest", "recall_program"]


_MAX_QUERIES = 3


@dataclass(frozen=True, kw_only=True)
class RecallRequest:
    """What to recall."""

    query: str
    places: Sequence[str]
    """The scopes to search, with all below them."""

    categories: Sequence[str] | None = None
    limit: int = 10
    depth: Literal["shallow", "deep"] = "deep"
    source: str | None = None
    include_private: bool = False
    since: datetime | None = None

    def record_filter(self, scope: str) -> RecordFilter:
        """The filter for one scope."""
        return RecordFilter(
            scope=scope,
            categories=self.categories,
            newer_than=self.since,
            source=self.source,
            private=self.include_private,
        )


_Candidates = dict[str, tuple[MemoryRecord, float]]


def recall_program(memory: "Memory", request: RecallRequest) -> Program[list[MemoryMatch]]:
    """The records that best match a query."""
    if not request.query.strip() or request.limit < 1:
        return []
    with memory_events(memory, UNIFIED, query=request.query, limit=request.limit) as found:
        found["results"] = matches = yield from _recall(memory, request)
    return matches


def _recall(memory: "Memory", request: RecallRequest) -> Program[list[MemoryMatch]]:
    analysis = yield from _analyze_query(memory, request)
    queries = [text for text in analysis.recall_queries if text.strip()][:_MAX_QUERIES] or [request.query]
    candidates: _Candidates = {}
    narrow_request = _narrow(memory, request, analysis)
    yield from _search_all(memory, narrow_request, queries, candidates)
    if not candidates and narrow_request.places != request.places:
        yield from _search_all(memory, replace(narrow_request, places=request.places), queries, candidates)
    gaps: list[str] = []
    for _ in range(memory.exploration_budget if request.depth == "deep" else 0):
        model, ranked = memory.model, _rank(memory, candidates)
        if model is None or not ranked or _is_confident(memory, ranked[0].score, analysis):
            break
        texts = [match.record.content for match in ranked[: request.limit]]
        gaps_found = yield from gaps_program(request.query, texts, model, memory.wording)
        gaps = gaps_found.missing
        if not gaps_found.queries:
            break
        yield from _search_all(memory, request, gaps_found.queries[:_MAX_QUERIES], candidates)
    best = _rank(memory, candidates)[: request.limit]
    yield from memory.records.touching([match.record for match in best])
    return [
        match.model_copy(update={"evidence_gaps": gaps}) if position == 0 else match
        for position, match in enumerate(best)
    ]


def _analyze_query(memory: "Memory", request: RecallRequest) -> Program[QueryAnalysis]:
    """Let the model analyze a long query; an empty analysis otherwise."""
    model = memory.model
    if request.depth != "deep" or model is None or len(request.query) < memory.query_analysis_threshold:
        return QueryAnalysis()
    scopes: list[str] = []
    for place in request.places:
        scopes += yield from memory.records.scopes(place)
    analysis = yield from query_analysis_program(request.query, scopes, None, model, memory.wording)
    return analysis or QueryAnalysis()


def _narrow(memory: "Memory", request: RecallRequest, analysis: QueryAnalysis) -> RecallRequest:
    """Restrict the request to the scopes and the time that the analysis suggests, within those requested."""
    suggested = ["/" + "/".join(scope_parts(path)) for path in analysis.suggested_scopes]
    places = [path for path in suggested if any(is_within(path, place) for place in request.places)]
    try:
        since = datetime.fromisoformat(analysis.time_filter) if analysis.time_filter else None
    except ValueError:
        since = None
    return replace(request, places=places or request.places, since=since)


def _is_confident(memory: "Memory", best: float, analysis: QueryAnalysis) -> bool:
    if best >= memory.confidence_threshold_high:
        return True
    threshold = memory.complex_query_threshold if analysis.complexity == "complex" else memory.confidence_threshold_low
    return best >= threshold


def _search_all(
    memory: "Memory", request: RecallRequest, queries: Sequence[str], candidates: _Candidates
) -> Program[None]:
    """Add the results of the queries, each record with its best similarity."""
    limit = request.limit * memory.config.recall_oversample_factor
    programs = [
        memory.records.searching(query, request.record_filter(place), limit)
        for query in dict.fromkeys(queries)
        for place in dict.fromkeys(request.places)
    ]
    outcomes: Iterable[Any] = [(yield from programs[0])] if len(programs) == 1 else (yield Parallel(programs))
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        for record, score in outcome:
            if record.id not in candidates or candidates[record.id][1] < score:
                candidates[record.id] = (record, score)


def _rank(memory: "Memory", candidates: _Candidates) -> list[MemoryMatch]:
    matches: list[MemoryMatch] = []
    for record, nearness in candidates.values():
        score, reasons = compute_composite_score(record, nearness, memory.config)
        matches.append(MemoryMatch(record=record, score=score, match_reasons=reasons))
    return sorted(matches, key=lambda match: match.score, reverse=True)
