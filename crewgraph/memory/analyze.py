"""A model is asked about what is remembered, or looked for: as programs, and as functions."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.operations import Operation, Program, drive
from crewgraph.errors import LimitReached
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.memory.analysis import ConsolidationPlan, ExtractedMemories, MemoryAnalysis, QueryAnalysis, QueryGaps
from crewgraph.memory.records import MemoryRecord, ScopeInfo, now
from crewgraph.prompts.book import Book, english
from crewgraph.schema import described

__all__ = [
    "Called",
    "analyze_for_consolidation",
    "analyze_for_save",
    "analyze_query",
    "extract_memories_from_content",
    "extracting",
    "judging",
    "looking_closer",
    "placing",
    "taking_apart",
]

_log = logging.getLogger("crewgraph")
_M = TypeVar("_M", bound=BaseModel)
_ATTEMPTS = 2
_LISTED = 50


class Called(Operation):
    """A call of a function; on an event loop of its async twin, where there is one."""

    def __init__(self, function: Callable[..., Any], *args: Any, twin: Callable[..., Any] | None = None) -> None:
        self.function, self.args, self.twin = function, args, twin

    def run(self) -> Any:
        return call(self.function, *self.args)

    async def arun(self) -> Any:
        return await acall(self.twin or self.function, *self.args)


def analyze_for_save(
    content: str, existing_scopes: list[str], existing_categories: list[str], llm: Any
) -> MemoryAnalysis:
    """Where a text belongs; where the model does not say, the root."""
    said = drive(placing(content, existing_scopes, existing_categories, llm, english()))
    return said or MemoryAnalysis(suggested_scope="/")


def analyze_for_consolidation(new_content: str, existing_records: list[MemoryRecord], llm: Any) -> ConsolidationPlan:
    """What becomes of records like a new text; where the model does not say, all are kept."""
    return drive(judging(new_content, existing_records, llm, english()))


def analyze_query(query: str, available_scopes: list[str], scope_info: ScopeInfo | None, llm: Any) -> QueryAnalysis:
    """What a query asks for; where the model does not say, what it says itself."""
    said = drive(taking_apart(query, available_scopes, scope_info, llm, english()))
    return said or QueryAnalysis(recall_queries=[query])


def extract_memories_from_content(content: str, llm: Any) -> list[str]:
    """What is worth remembering of a text; where the model does not say, the text."""
    return drive(extracting(content, llm, english()))


def placing(
    content: str, scopes: Sequence[str], categories: Sequence[str], llm: Any, book: Book
) -> Program[MemoryAnalysis | None]:
    """Where a text belongs; None where the model does not say."""
    asked = book.filled(
        "memory", "save_user", content=content, existing_scopes=_named(scopes), existing_categories=_named(categories)
    )
    system = book.filled("memory", "save_system", schema=described(MemoryAnalysis))
    return (yield from _said(llm, system, asked, MemoryAnalysis, book))


def judging(content: str, records: Sequence[MemoryRecord], llm: Any, book: Book) -> Program[ConsolidationPlan]:
    """What becomes of records like a new text; where the model does not say, all are kept."""
    if not records:
        return ConsolidationPlan()
    listed = "\n\n".join(
        f"{record.id} (remembered {record.created_at:%Y-%m-%d}):\n{record.content}" for record in records
    )
    asked = book.filled("memory", "consolidation_user", new_content=content, records_summary=listed)
    system = book.filled("memory", "consolidation_system", schema=described(ConsolidationPlan))
    return (yield from _said(llm, system, asked, ConsolidationPlan, book)) or ConsolidationPlan()


def extracting(content: str, llm: Any, book: Book) -> Program[list[str]]:
    """What is worth remembering of a text; where no model says, the text."""
    if not content.strip():
        return []
    said: ExtractedMemories | None = None
    if llm is not None:
        asked = book.filled("memory", "extract_memories_user", content=content)
        system = book.filled("memory", "extract_memories_system", schema=described(ExtractedMemories))
        said = yield from _said(llm, system, asked, ExtractedMemories, book)
    return [content] if said is None else [text.strip() for text in said.memories if text.strip()]


def taking_apart(
    query: str, scopes: Sequence[str], info: ScopeInfo | None, llm: Any, book: Book
) -> Program[QueryAnalysis | None]:
    """What a query asks for; None where the model does not say."""
    within = "" if info is None else f"All of it is in {info.path}: {info.record_count} records."
    asked = book.filled("memory", "query_user", query=query, available_scopes=_named(scopes), scope_desc=within)
    system = book.filled("memory", "query_system", date=f"{now():%Y-%m-%d}", schema=described(QueryAnalysis))
    return (yield from _said(llm, system, asked, QueryAnalysis, book))


def looking_closer(query: str, found: Sequence[str], llm: Any, book: Book) -> Program[QueryGaps]:
    """What a search did not find; nothing where the model does not say."""
    asked = book.filled("memory", "gaps_user", query=query, found="\n".join(f"- {text}" for text in found))
    system = book.filled("memory", "gaps_system", schema=described(QueryGaps))
    return (yield from _said(llm, system, asked, QueryGaps, book)) or QueryGaps()


def _said(llm: Any, system: str, asked: str, schema: type[_M], book: Book) -> Program[_M | None]:
    """What the model says, asked once more where that cannot be read; None, with a warning, where nothing comes of it."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}, {"role": "user", "content": asked}]
    problem = ""
    try:
        model = as_llm(llm)
        for _ in range(_ATTEMPTS):
            answer: Any = yield Called(model.call, messages, twin=getattr(model, "acall", None))
            if isinstance(answer, schema):  # a model with a `response_format`
                return answer
            found, problem = read_structure(str(answer), schema)
            if found is not None:
                return found
            again = book.slice("conversion_again", error=problem)
            messages = [*messages, {"role": "assistant", "content": str(answer)}, {"role": "user", "content": again}]
    except LimitReached:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model raises, what is to be remembered is kept
        problem = f"{type(error).__name__}: {error}"
    _log.warning("the memory's model gave no `%s`, so the memory goes on without: %s", schema.__name__, problem)
    return None


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) or "none"
