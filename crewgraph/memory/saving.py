"""Programs that remember."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from crewgraph.core.operations import Parallel, Program
from crewgraph.errors import CrewgraphError
from crewgraph.events.knowledge import MemorySaveCompletedEvent, MemorySaveFailedEvent, MemorySaveStartedEvent
from crewgraph.memory.analysis import ConsolidationPlan, MemoryAnalysis
from crewgraph.memory.analyze import extracting, judging, placing
from crewgraph.memory.events import REMEMBERING, tell
from crewgraph.memory.query import Wanted
from crewgraph.memory.records import MemoryRecord, join_scope_paths, now

if TYPE_CHECKING:
    from crewgraph.memory.memory import Memory

__all__ = ["Given", "extracted", "remembering"]


_SHOWN_RECORDS = 200
_SOURCE = "unified_memory"

_Plan = tuple[list[MemoryRecord], ConsolidationPlan]
"""Records like a new one, and what becomes of them."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What is to be remembered, and what the program says of it."""

    contents: Sequence[str]
    root: str
    """The scope that all of it is below."""

    scope: str | None = None
    categories: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    importance: float | None = None
    source: str | None = None
    private: bool = False
    agent_role: str | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left for a model to say."""
        return self.scope is not None and self.categories is not None and self.importance is not None

    def event(self) -> dict[str, Any]:
        """What events tell of it."""
        told = self.contents[0] if len(self.contents) == 1 else f"{len(self.contents)} memories"
        known = {"value": told, "metadata": dict(self.metadata) if self.metadata else None, "source_type": _SOURCE}
        return {"agent_role": self.agent_role, **(REMEMBERING.get() or {}), **known}


def extracted(memory: "Memory", content: str) -> Program[list[str]]:
    """What is worth remembering of a text; the text itself where there is no model."""
    return (yield from extracting(content, memory.model, memory.wording))


def remembering(memory: "Memory", given: Given) -> Program[list[MemoryRecord]]:
    """Keep texts; the records that they are kept in."""
    if not given.contents:
        return []
    _check(given)
    event, begun = given.event(), time.perf_counter()
    tell(memory, MemorySaveStartedEvent, **event)
    try:
        kept = yield from _kept(memory, given)
    except CrewgraphError as error:
        tell(memory, MemorySaveFailedEvent, **event, error=str(error))
        raise
    took = (time.perf_counter() - begun) * 1000
    tell(memory, MemorySaveCompletedEvent, **event, save_time_ms=took)
    return kept


def _kept(memory: "Memory", given: Given) -> Program[list[MemoryRecord]]:
    placed = yield from _placed(memory, given)
    made: list[MemoryRecord] = []
    held: set[str] = set()
    for content, said in zip(given.contents, placed, strict=True):
        record, before = yield from _known(memory, _made(memory, given, content, said))
        made.append(record)
        held |= {record.id} if before else set()
    plans: list[_Plan] = yield from _together([_plan(memory, record) for record in made])
    result: list[MemoryRecord] = []
    saved: dict[str, MemoryRecord] = {}
    gone: dict[str, MemoryRecord] = {}
    for record, (similar, plan) in zip(made, plans, strict=True):
        own, changed, left = _applied(record, similar, plan)
        if any(one.id in saved and one.content != saved[one.id].content for one in changed if one is not record):
            own, changed, left = record, [record], []  # two texts are worded into one record: only the first can be
        result.append(own)
        held |= {one.id for one in similar}
        gone |= {one.id: one for one in left}
        for one in changed:
            saved[one.id] = _merged(saved[one.id], one) if one.id in saved else one
    holding = {*saved, *(one.id for one in result)}
    # First what is new: a process that ends in between leaves too much behind rather than too little.
    yield from memory.records.saving([one for key, one in saved.items() if key not in held])
    yield from memory.records.replacing([one for key, one in saved.items() if key in held])
    yield from memory.records.deleting([one for key, one in gone.items() if key not in holding])
    return [saved.get(one.id, one) for one in result]


def _placed(memory: "Memory", given: Given) -> Program[list[MemoryAnalysis | None]]:
    """Where each text belongs, as far as a model is to say it."""
    model = memory.model
    if given.complete or model is None:
        return [None] * len(given.contents)
    paths = yield from memory.records.scopes(given.root)
    scopes = [path[len(given.root.rstrip("/")) :] or "/" for path in paths]
    some = yield from memory.records.some(given.root, _SHOWN_RECORDS)
    categories = dict.fromkeys(name for record in some for name in record.categories)
    return (
        yield from _together(
            [placing(content, scopes, list(categories), model, memory.wording) for content in given.contents]
        )
    )


def _made(memory: "Memory", given: Given, content: str, said: MemoryAnalysis | None) -> MemoryRecord:
    scope = given.scope if given.scope is not None else said.suggested_scope if said else None
    suggested = said.extracted_metadata.model_dump() if said else {}
    importance = given.importance if given.importance is not None else said.importance if said else None
    return MemoryRecord(
        content=content,
        scope=join_scope_paths(given.root, scope),
        categories=list(given.categories if given.categories is not None else said.categories if said else ()),
        metadata={**suggested, **(given.metadata or {})},
        importance=memory.default_importance if importance is None else importance,
        source=given.source,
        private=given.private,
    )


def _known(memory: "Memory", record: MemoryRecord) -> Program[tuple[MemoryRecord, bool]]:
    """The record under the id of its words, and whether there was one: the same words of a source in a scope are one."""
    words = " ".join(record.content.split()).casefold()
    own = json.dumps([record.scope, record.source, record.private, words])
    record = record.model_copy(update={"id": str(uuid5(NAMESPACE_URL, own))})
    before = (yield from memory.records.at([(record.scope, record.id)]))[0]
    if before is None:
        return record, False
    if " ".join(before.content.split()).casefold() != words:  # it was changed since, and says something else
        return record.model_copy(update={"id": str(uuid4())}), False
    return _merged(before, record), True


def _merged(before: MemoryRecord, after: MemoryRecord) -> MemoryRecord:
    return after.model_copy(
        update={
            "created_at": before.created_at,
            "categories": list(dict.fromkeys([*before.categories, *after.categories])),
            "metadata": {**before.metadata, **after.metadata},
            "importance": max(before.importance, after.importance),
        }
    )


def _plan(memory: "Memory", record: MemoryRecord) -> Program[_Plan]:
    """The records like this one, and what the model says becomes of them."""
    if (model := memory.model) is None:
        return [], ConsolidationPlan()
    wanted = Wanted(scope=record.scope, private=False, source=record.source)
    near = yield from memory.records.searching(record.content, wanted, memory.consolidation_limit + 1)
    similar = [one for one, score in near if score >= memory.consolidation_threshold and one.id != record.id]
    similar = [one for one in similar if one.private == record.private][: memory.consolidation_limit]
    return similar, (yield from judging(record.content, similar, model, memory.wording))


def _applied(
    record: MemoryRecord, similar: Sequence[MemoryRecord], plan: ConsolidationPlan
) -> tuple[MemoryRecord, list[MemoryRecord], list[MemoryRecord]]:
    """The record that holds the text now, those to be written, and those to be forgotten."""
    left = {one.id: one for one in similar}
    changed: list[MemoryRecord] = []
    gone: list[MemoryRecord] = []
    for action in plan.actions:
        if action.record_id not in left or action.kind == "keep":
            continue
        one = left.pop(action.record_id)
        if action.kind == "delete":
            gone.append(one)
        else:
            changed.append(one.model_copy(update={"content": action.new_content, "last_accessed": now()}))
    held = [*changed, *left.values()]
    if plan.insert_new or not held:  # what nothing else holds is kept, whatever the model says
        return record, [*changed, record], gone
    return held[0], changed, gone


def _together(programs: Sequence[Program[Any]]) -> Program[list[Any]]:
    if len(programs) == 1:
        return [(yield from programs[0])]
    outcomes: Iterable[Any] = yield Parallel(programs)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return list(outcomes)


def _check(given: Given) -> None:
    """Refuse what cannot be kept, before a model is asked.

    Raises:
        TypeError: the metadata are no JSON data.
        pydantic.ValidationError: something else does not fit.
    """
    for content in given.contents:
        MemoryRecord.model_validate(
            {
                "content": content,
                "categories": [] if given.categories is None else given.categories,
                "metadata": given.metadata or {},
                "importance": 0 if given.importance is None else given.importance,
                "source": given.source,
            }
        )
    for key, value in (given.metadata or {}).items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"the metadata `{key}` of what is to be remembered is no JSON data ({error}); give texts, numbers, lists, dicts"
            ) from error
