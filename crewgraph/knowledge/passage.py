"""Passages: what sources consist of, and what is found."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

__all__ = ["Passage", "SearchResult", "extract_knowledge_context", "grouped"]

_DIVIDER = "\n\n"


@dataclass(frozen=True)
class Passage:
    """A text of a source, with what is known of it."""

    text: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """Plain data: `source` says where it is from (a file, an address), with its `page`, `sheet` or `heading`."""


class SearchResult(TypedDict):
    """Something that was found."""

    id: str
    content: str
    metadata: dict[str, Any]
    score: float
    """From 0 to 1: (1 + cosine) / 2, so that 0.5 has nothing to do with the query."""


def extract_knowledge_context(knowledge_snippets: Iterable[SearchResult]) -> str:
    """The texts of what was found, one below the other; empty where nothing was."""
    return _DIVIDER.join(one["content"].strip() for one in knowledge_snippets if one["content"].strip())


def grouped(passages: Iterable[Passage], name: str) -> dict[str, list[Passage]]:
    """Passages by where they are from, so that what has not changed is left as it is.

    Args:
        passages: those of a source.
        name: what stands before the names, so that sources of different kinds never mix.
    """
    found: dict[str, list[Passage]] = {}
    for one in passages:
        found.setdefault(f"{name}:{one.metadata.get('source', '')}", []).append(one)
    return found
