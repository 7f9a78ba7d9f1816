"""Requests to a model about memories, as programs for sync and async, and as functions."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, field_validator

from crewgraph.core.operations import Program, user_call
from crewgraph.core.outages import is_outage
from crewgraph.errors import LimitReached
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.structure import read_structure
from crewgraph.memory.records import MemoryRecord, ScopeInfo, utc_now
from crewgraph.prompts.i18n import Book
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, model_outline


# Docstrings and descriptions of these classes are part of the prompts.
class _ModelReply(BaseModel):
    @field_validator("*", mode="before")
    @classmethod
    def _lists(cls, value: Any, info: Any) -> object:
        # Models write null for an empty list, and one text for a list of one.
        if cls.model_fields[info.field_name].annotation != list[str]:
            return value
        return [] if value is None else [value] if isinstance(value, str) else value


class ExtractedMetadata(_ModelReply):
    """Who and what a text is about."""

    entities: list[str] = Field(default_factory=list[str], description="people, places and things it mentions")
    dates: list[str] = Field(default_factory=list[str], description="dates and times it mentions")
    topics: list[str] = Field(default_factory=list[str], description="its topics, one word each")


class MemoryAnalysis(_ModelReply):
    """Where something belongs that is to be remembered."""

    suggested_scope: str = Field(description="the path of its scope")
    categories: list[str] = Field(default_factory=list[str], description="its topics")
    importance: float = Field(default=0.5, description="its importance from 0 to 1")
    extracted_metadata: ExtractedMetadata = Field(default_factory=ExtractedMetadata)

    @field_validator("importance")
    @classmethod
    def _of_one(cls, value: float) -> float:
        return min(max(value, 0.0), 1.0)


class ConsolidationAction(BaseModel):
    """What becomes of a record when one much like it is remembered."""

    action: str = Field(description='"keep", "update" or "delete"')
    record_id: str = Field(description="the id of the existing text")
    new_content: str | None = Field(default=None, description="for an update: the complete new text")
    reason: str = Field(default="", description="the reason in a few words")

    @property
    def kind(self) -> Literal["keep", "update", "delete"]:
        """The action to take; anything that cannot be done means keeping the record."""
        action = self.action.strip().lower()
        if action == "delete":
            return "delete"
        return "update" if action == "update" and (self.new_content or "").strip() else "keep"


class ConsolidationPlan(BaseModel):
    """What becomes of the records like one that is to be remembered, and of that one."""

    actions: list[ConsolidationAction] = Field(default_factory=list[ConsolidationAction])
    insert_new: bool = Field(default=True, description="whether to save the new text separately")
    insert_reason: str = Field(default="", description="the reason in a few words")


class ExtractedMemories(_ModelReply):
    """What is worth remembering of a text."""

    memories: list[str] = Field(default_factory=list[str], description="one sentence each")


class QueryAnalysis(_ModelReply):
    """What a query asks for."""

    keywords: list[str] = Field(default_factory=list[str], description="the important words")
    suggested_scopes: list[str] = Field(
        default_factory=list[str],
        description="existing scopes that must hold the answer; none if in doubt",
    )
    complexity: str = Field(default="simple", description='"simple" for one question, "complex" for several')
    recall_queries: list[str] = Field(default_factory=list[str], description="one to three short search queries")
    time_filter: str | None = Field(
        default=None,
        description="if the question is about something recent: the earliest date, such as 2025-12-31; otherwise null",
    )


class QueryGaps(_ModelReply):
    """What a search did not find."""

    missing: list[str] = Field(default_factory=list[str], description="what is still missing, in a few words each")
    queries: list[str] = Field(default_factory=list[str], description="at most three other search queries")


_log = redacted_logger("crewgraph")
_M = TypeVar("_M", bound=BaseModel)
_ATTEMPTS = 2
_MAX_NAMES = 50


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
