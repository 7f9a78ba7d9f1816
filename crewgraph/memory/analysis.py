"""The schemas of a model's replies about memories. Their docstrings and descriptions are part of the prompts."""

from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

__all__ = [
    "ConsolidationAction",
    "ConsolidationPlan",
    "ExtractedMemories",
    "ExtractedMetadata",
    "MemoryAnalysis",
    "QueryAnalysis",
    "QueryGaps",
]


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
