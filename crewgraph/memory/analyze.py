"""Requests to a model about memories, as programs for sync and async, and as functions."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from crewgraph.core.operations import Program, drive, user_call
from crewgraph.core.outages import is_outage
from crewgraph.errors import LimitReached
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.memory.analysis import ConsolidationPlan, ExtractedMemories, MemoryAnalysis, QueryAnalysis, QueryGaps
from crewgraph.memory.records import MemoryRecord, ScopeInfo, utc_now
from crewgraph.prompts.book import Book, default_book
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, model_outline

__all__ = [
    "analyze_for_consolidation",
    "analyze_for_save",
    "analyze_query",
    "consolidation_program",
    "extract_memories_from_content",
    "extraction_program",
    "gaps_program",
    "placement_program",
    "query_analysis_program",
]

_log = redacted_logger("crewgraph")
_M = TypeVar("_M", bound=BaseModel)
_ATTEMPTS = 2
_MAX_NAMES = 50


def analyze_for_save(
    content: str, existing_scopes: list[str], existing_categories: list[str], llm: object
) -> MemoryAnalysis:
    """Ask the model for a text's scope, categories and importance; the root scope if it fails."""
    analysis = drive(placement_program(content, existing_scopes, existing_categories, llm, default_book()))
    return analysis or MemoryAnalysis(suggested_scope="/")


def analyze_for_consolidation(new_content: str, existing_records: list[MemoryRecord], llm: object) -> ConsolidationPlan:
    """Ask the model what to do with records similar to a new text; all are kept if it fails."""
    return drive(consolidation_program(new_content, existing_records, llm, default_book()))


def analyze_query(query: str, available_scopes: list[str], scope_info: ScopeInfo | None, llm: object) -> QueryAnalysis:
    """Ask the model what a query is about; the query itself if it fails."""
    analysis = drive(query_analysis_program(query, available_scopes, scope_info, llm, default_book()))
    return analysis or QueryAnalysis(recall_queries=[query])


def extract_memories_from_content(content: str, llm: object) -> list[str]:
    """Ask the model what is worth remembering of a text; the text itself if it fails."""
    return drive(extraction_program(content, llm, default_book()))


def placement_program(
    content: str, scopes: Sequence[str], categories: Sequence[str], llm: object, book: Book
) -> Program[MemoryAnalysis | None]:
    """Ask for a text's scope, categories and importance; None if the model fails."""
    user = book.filled(
        "memory",
        "save_user",
        content=content,
        existing_scopes=_join_names(scopes),
        existing_categories=_join_names(categories),
    )
    system = book.filled("memory", "save_system", schema=model_outline(MemoryAnalysis))
    return (yield from _ask_model(llm, system, user, MemoryAnalysis, book))


def consolidation_program(
    content: str, records: Sequence[MemoryRecord], llm: object, book: Book
) -> Program[ConsolidationPlan]:
    """Ask what to do with records similar to a new text; all are kept if the model fails."""
    if not records:
        return ConsolidationPlan()
    listed = "\n\n".join(
        f"{record.id} (remembered {record.created_at:%Y-%m-%d}):\n{record.content}" for record in records
    )
    user = book.filled("memory", "consolidation_user", new_content=content, records_summary=listed)
    system = book.filled("memory", "consolidation_system", schema=model_outline(ConsolidationPlan))
    return (yield from _ask_model(llm, system, user, ConsolidationPlan, book)) or ConsolidationPlan()


def extraction_program(content: str, llm: object, book: Book) -> Program[list[str]]:
    """Ask what is worth remembering of a text; the text itself if there is no model or it fails."""
    if not content.strip():
        return []
    extracted: ExtractedMemories | None = None
    if llm is not None:
        user = book.filled("memory", "extract_memories_user", content=content)
        system = book.filled("memory", "extract_memories_system", schema=model_outline(ExtractedMemories))
        extracted = yield from _ask_model(llm, system, user, ExtractedMemories, book)
    return [content] if extracted is None else [text.strip() for text in extracted.memories if text.strip()]


def query_analysis_program(
    query: str, scopes: Sequence[str], info: ScopeInfo | None, llm: object, book: Book
) -> Program[QueryAnalysis | None]:
    """Ask what a query is about; None if the model fails."""
    scope_note = "" if info is None else f"All of it is in {info.path}: {info.record_count} records."
    user = book.filled("memory", "query_user", query=query, available_scopes=_join_names(scopes), scope_desc=scope_note)
    system = book.filled("memory", "query_system", date=f"{utc_now():%Y-%m-%d}", schema=model_outline(QueryAnalysis))
    return (yield from _ask_model(llm, system, user, QueryAnalysis, book))


def gaps_program(query: str, contents: Sequence[str], llm: object, book: Book) -> Program[QueryGaps]:
    """Ask what a search did not find; nothing if the model fails."""
    user = book.filled("memory", "gaps_user", query=query, found="\n".join(f"- {text}" for text in contents))
    system = book.filled("memory", "gaps_system", schema=model_outline(QueryGaps))
    return (yield from _ask_model(llm, system, user, QueryGaps, book)) or QueryGaps()


def _ask_model(llm: object, system: str, user: str, schema: type[_M], book: Book) -> Program[_M | None]:
    """Ask the model for a structured reply, retrying an unreadable one; None, with a warning, if it fails."""
    messages: list[PlainDict] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    problem = ""
    try:
        model = as_llm(llm)
        for _ in range(_ATTEMPTS):
            answer: object = yield user_call(model.call, messages, twin=getattr(model, "acall", None))
            if isinstance(answer, schema):  # a model with a `response_format`
                return answer
            result, problem = read_structure(str(answer), schema)
            if result is not None:
                return result
            correction = book.slice("conversion_again", error=problem)
            messages = [
                *messages,
                {"role": "assistant", "content": str(answer)},
                {"role": "user", "content": correction},
            ]
    except LimitReached:
        raise
    except Exception as error:  # whatever a model raises, what is to be remembered is kept
        if not is_outage(error):
            raise
        problem = f"{type(error).__name__}: {error}"
    _log.warning("the memory's model returned no `%s`; continuing without it: %s", schema.__name__, problem)
    return None


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMES]) or "none"
