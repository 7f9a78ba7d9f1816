"""Tools with which an agent searches a memory and saves to it."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from crewgraph.core.loops.bridge import acall, call
from crewgraph.prompts.i18n import Book, default_book
from crewgraph.tools.base import BaseTool, keep_never

_NO_MATCHES = "Nothing of that is remembered."


class _Texts(BaseModel):
    @field_validator("*", mode="before")
    @classmethod
    def _wrap_single_text(cls, value: Any) -> object:
        return [value] if isinstance(value, str) else value


class RecallMemorySchema(_Texts):
    """What the tool that searches takes."""

    queries: list[str] = Field(description="One or more short search queries")


class RememberSchema(_Texts):
    """What the tool that remembers takes."""

    contents: list[str] = Field(
        description="What to remember: one or more sentences that can be understood by themselves"
    )


class _MemoryTool(BaseTool):
    _key: ClassVar[str]
    """The key of its description in the prompts."""

    @model_validator(mode="after")
    def _fill_description(self) -> Self:
        self.description = self.description or default_book().filled("tools", self._key)
        return self


class RecallMemoryTool(_MemoryTool):
    """Searches a memory; each record is returned once."""

    _key: ClassVar[str] = "recall_memory"

    name: str = "Search memory"
    description: str = ""
    args_schema: type[BaseModel] = RecallMemorySchema
    cache_function: Callable[..., bool] = keep_never

    memory: Any = Field(exclude=True)
    """The memory: a memory, a scope or a slice of one, or an object with `recall`."""

    def _run(self, queries: list[str] | str, **kwargs: object) -> str:
        """Return the matching records, one per line."""
        return _format_matches([call(self.memory.recall, query, limit=20) for query in _text_list(queries)])

    async def _arun(self, queries: list[str] | str, **kwargs: object) -> str:
        return _format_matches(
            [await acall(_async_method(self.memory, "recall"), query, limit=20) for query in _text_list(queries)]
        )


class RememberTool(_MemoryTool):
    """Saves texts to a memory before it returns."""

    _key: ClassVar[str] = "save_to_memory"

    name: str = "Save to memory"
    description: str = ""
    args_schema: type[BaseModel] = RememberSchema
    cache_function: Callable[..., bool] = keep_never

    memory: Any = Field(exclude=True)
    """The memory: a memory, a scope of one, or an object with `remember_many`."""

    def _run(self, contents: list[str] | str, **kwargs: object) -> str:
        """Save the texts and return a confirmation."""
        call(self.memory.remember_many, texts := _text_list(contents))
        return _confirmation(texts)

    async def _arun(self, contents: list[str] | str, **kwargs: object) -> str:
        await acall(_async_method(self.memory, "remember_many"), texts := _text_list(contents))
        return _confirmation(texts)


def create_memory_tools(memory: object, book: Book | None = None) -> list[BaseTool]:
    """Return the tools for a memory: a search tool and, unless it is read-only, a tool to save.

    Args:
        memory: A memory, a scope or a slice of one.
        book: Prompts with the descriptions; the English ones by default.
    """
    texts = book or default_book()
    tools: list[BaseTool] = [RecallMemoryTool(memory=memory, description=texts.filled("tools", "recall_memory"))]
    if not getattr(memory, "read_only", False) and callable(getattr(memory, "remember_many", None)):
        tools.append(RememberTool(memory=memory, description=texts.filled("tools", "save_to_memory")))
    return tools


def _text_list(texts: Any) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _async_method(memory: object, method: str) -> Callable[..., object]:
    return getattr(memory, f"a{method}", None) or getattr(memory, method)


def _format_matches(results: Sequence[Any]) -> str:
    unique: dict[Any, Any] = {}
    for match in (match for matches_of_one in results for match in matches_of_one):
        unique.setdefault(getattr(getattr(match, "record", None), "id", id(match)), match)
    return "\n".join(_format_match(match) for match in unique.values()) or _NO_MATCHES


def _format_match(match: object) -> str:
    formatter = getattr(match, "format", None)
    return str(match) if formatter is None or isinstance(match, str) else str(formatter())


def _confirmation(texts: Sequence[str]) -> str:
    return "Remembered." if len(texts) == 1 else f"Remembered: {len(texts)} texts."
