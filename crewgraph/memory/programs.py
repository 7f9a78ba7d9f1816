"""The programs that save memories (classification by the model, duplicates, consolidation, writing) and recall them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import NAMESPACE_URL, uuid4, uuid5

from crewgraph.core.operations import Parallel, Program
from crewgraph.memory.analyze import (
    ConsolidationPlan,
    MemoryAnalysis,
    QueryAnalysis,
    consolidation_program,
    gaps_program,
    placement_program,
    query_analysis_program,
)
from crewgraph.memory.events import UNIFIED, memory_events
from crewgraph.memory.records import (
    MemoryMatch,
    MemoryRecord,
    RecordFilter,
    compute_composite_score,
    is_within,
    join_scope_paths,
    scope_parts,
    utc_now,
)
from crewgraph.schema import PlainMapping

if TYPE_CHECKING:
    from crewgraph.memory.memory import Memory


_SHOWN_RECORDS = 200

_Plan = tuple[list[MemoryRecord], ConsolidationPlan]
"""Records similar to a new one, and the plan for them."""


@dataclass(frozen=True, kw_only=True)
class SaveRequest:
    """A request to save a text, with the values that the program has set."""

    contents: Sequence[str]
    root: str
    """The scope that all others are below."""

    scope: str | None = None
    categories: Sequence[str] | None = None
    metadata: PlainMapping | None = None
    importance: float | None = None
    source: str | None = None
    private: bool = False
    agent_role: str | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left for a model to decide."""
        return self.scope is not None and self.categories is not None and self.importance is not None


def save_program(memory: "Memory", request: SaveRequest) -> Program[list[MemoryRecord]]:
    """Save texts and return the records that hold them; a blank text is none."""
    if not (contents := [content for content in request.contents if content.strip()]):
        return []
    request = replace(request, contents=contents)
    _check_request(request)
    value = request.contents[0] if len(request.contents) == 1 else f"{len(request.contents)} memories"
    metadata = dict(request.metadata) if request.metadata else None
    with memory_events(memory, UNIFIED, value=value, metadata=metadata, agent_role=request.agent_role):
        return (yield from _save_all(memory, request))


def _save_all(memory: "Memory", request: SaveRequest) -> Program[list[MemoryRecord]]:
    analyses = yield from _analyze_contents(memory, request)
    records: list[MemoryRecord] = []
    existing_ids: set[str] = set()
    for content, analysis in zip(request.contents, analyses, strict=True):
        record, existed = yield from _find_duplicate(memory, _new_record(memory, request, content, analysis))
        records.append(record)
        existing_ids |= {record.id} if existed else set()
    if memory.model is not None and len(records) > 1:
        yield from memory.records.preparing([record.content for record in records])
    plans: list[_Plan] = yield from _run_all([_plan_consolidation(memory, record) for record in records])
    result: list[MemoryRecord] = []
    saved: dict[str, MemoryRecord] = {}
    deleted: dict[str, MemoryRecord] = {}
    for record, (similar, plan) in zip(records, plans, strict=True):
        holder, updated, deletions = _apply_plan(record, similar, plan)
        if any(item.id in saved and item.content != saved[item.id].content for item in updated if item is not record):
            holder, updated, deletions = (
                record,
                [record],
                [],
            )  # two texts are worded into one record: only the first can be
        result.append(holder)
        existing_ids |= {item.id for item in similar}
        deleted |= {item.id: item for item in deletions}
        for item in updated:
            saved[item.id] = _merge(saved[item.id], item) if item.id in saved else item
    kept_ids = {*saved, *(item.id for item in result)}
    # Save first: a process that dies in between leaves too much rather than too little.
    yield from memory.records.saving([item for key, item in saved.items() if key not in existing_ids])
    yield from memory.records.replacing([item for key, item in saved.items() if key in existing_ids])
    yield from memory.records.deleting([item for key, item in deleted.items() if key not in kept_ids])
    return [saved.get(item.id, item) for item in result]


def _analyze_contents(memory: "Memory", request: SaveRequest) -> Program[list[MemoryAnalysis | None]]:
    """Let the model classify each text, where the request leaves that open."""
    model = memory.model
    if request.complete or model is None:
        return [None] * len(request.contents)
    paths = yield from memory.records.scopes(request.root)
    scopes = [path[len(request.root.rstrip("/")) :] or "/" for path in paths]
    sample = yield from memory.records.sampling(request.root, _SHOWN_RECORDS)
    categories = dict.fromkeys(name for record in sample for name in record.categories)
    return (
        yield from _run_all(
            [
                placement_program(content, scopes, list(categories), model, memory.wording)
                for content in request.contents
            ]
        )
    )


def _new_record(memory: "Memory", request: SaveRequest, content: str, analysis: MemoryAnalysis | None) -> MemoryRecord:
    scope = request.scope if request.scope is not None else analysis.suggested_scope if analysis else None
    suggested = analysis.extracted_metadata.model_dump() if analysis else {}
    importance = request.importance if request.importance is not None else analysis.importance if analysis else None
    return MemoryRecord(
        content=content,
        scope=join_scope_paths(request.root, scope),
        categories=list(
            request.categories if request.categories is not None else analysis.categories if analysis else ()
        ),
        metadata={**suggested, **(request.metadata or {})},
        importance=memory.default_importance if importance is None else importance,
        source=request.source,
        private=request.private,
    )


def _find_duplicate(memory: "Memory", record: MemoryRecord) -> Program[tuple[MemoryRecord, bool]]:
    """The record with its content-based id, and whether it exists: the same words of a source in a scope are one record."""
    words = " ".join(record.content.split()).casefold()
    identity = json.dumps([record.scope, record.source, record.private, words])
    record = record.model_copy(update={"id": str(uuid5(NAMESPACE_URL, identity))})
    stored = (yield from memory.records.getting([(record.scope, record.id)]))[0]
    if stored is None:
        return record, False
    if " ".join(stored.content.split()).casefold() != words:  # it was changed since, and says something else
        return record.model_copy(update={"id": str(uuid4())}), False
    return _merge(stored, record), True


def _merge(before: MemoryRecord, after: MemoryRecord) -> MemoryRecord:
    return after.model_copy(
        update={
            "created_at": before.created_at,
            "categories": list(dict.fromkeys([*before.categories, *after.categories])),
            "metadata": {**before.metadata, **after.metadata},
            "importance": max(before.importance, after.importance),
        }
    )


def _plan_consolidation(memory: "Memory", record: MemoryRecord) -> Program[_Plan]:
    """The similar records, and the model's plan for them."""
    if (model := memory.model) is None:
        return [], ConsolidationPlan()
    record_filter = RecordFilter(scope=record.scope, private=False, source=record.source)
    hits = yield from memory.records.searching(record.content, record_filter, memory.consolidation_limit + 1)
    similar = [hit for hit, score in hits if score >= memory.consolidation_threshold and hit.id != record.id]
    similar = [hit for hit in similar if hit.private == record.private][: memory.consolidation_limit]
    return similar, (yield from consolidation_program(record.content, similar, model, memory.wording))


def _apply_plan(
    record: MemoryRecord, similar: Sequence[MemoryRecord], plan: ConsolidationPlan
) -> tuple[MemoryRecord, list[MemoryRecord], list[MemoryRecord]]:
    """The record that now holds the text, those to write, and those to delete."""
    remaining = {other.id: other for other in similar}
    updated: list[MemoryRecord] = []
    deleted: list[MemoryRecord] = []
    for action in plan.actions:
        if action.record_id not in remaining or action.kind == "keep":
            continue
        other = remaining.pop(action.record_id)
        if action.kind == "delete":
            deleted.append(other)
        else:
            updated.append(other.model_copy(update={"content": action.new_content, "last_accessed": utc_now()}))
    holders = [*updated, *remaining.values()]
    if plan.insert_new or not holders:  # text that no other record holds is kept, whatever the model says
        return record, [*updated, record], deleted
    return holders[0], updated, deleted


def _run_all(programs: Sequence[Program[object]]) -> Program[list[Any]]:
    if len(programs) == 1:
        return [(yield from programs[0])]
    outcomes: Iterable[object] = yield Parallel(programs)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return list(outcomes)


def _check_request(request: SaveRequest) -> None:
    """Reject invalid requests before a model is called.

    Raises:
        TypeError: the metadata are not JSON data.
        pydantic.ValidationError: another value is invalid.
    """
    for content in request.contents:
        MemoryRecord.model_validate(
            {
                "content": content,
                "categories": [] if request.categories is None else request.categories,
                "metadata": request.metadata or {},
                "importance": 0 if request.importance is None else request.importance,
                "source": request.source,
            }
        )
    for key, value in (request.metadata or {}).items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"the metadata `{key}` of a memory are not JSON data ({error}); use texts, numbers, lists, dicts"
            ) from error


_MAX_QUERIES = 3


@dataclass(frozen=True, kw_only=True)
class RecallRequest:
    """What to recall."""

    query: str
    places: Sequence[str]
    """The scopes to search, with all below them."""

    limit: int
    depth: Literal["shallow", "deep"]
    conditions: RecordFilter
    """The conditions of a record, beside its scope."""


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
    return replace(request, places=places or request.places, conditions=replace(request.conditions, newer_than=since))


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
        memory.records.searching(query, replace(request.conditions, scope=place), limit)
        for query in dict.fromkeys(queries)
        for place in dict.fromkeys(request.places)
    ]
    for found in (yield from _run_all(programs)):
        for record, score in found:
            if record.id not in candidates or candidates[record.id][1] < score:
                candidates[record.id] = (record, score)


def _rank(memory: "Memory", candidates: _Candidates) -> list[MemoryMatch]:
    matches: list[MemoryMatch] = []
    for record, nearness in candidates.values():
        score, reasons = compute_composite_score(record, nearness, memory.config)
        matches.append(MemoryMatch(record=record, score=score, match_reasons=reasons))
    return sorted(matches, key=lambda match: match.score, reverse=True)
