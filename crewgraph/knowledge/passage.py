"""Passages: what sources consist of, and what is found.

Texts in pieces that are found one by one.

Markdown in its sections.

How an agent's knowledge is searched.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field
from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

__all__ = [
    "OVERLAP",
    "SIZE",
    "KnowledgeConfig",
    "Passage",
    "SearchResult",
    "chunked",
    "extract_knowledge_context",
    "grouped",
    "sections",
    "sizes_fault",
]


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


SIZE = 4000
"""Characters of a chunk, at most."""

OVERLAP = 200
"""Characters that a chunk has in common with the one before it."""

_BREAKS = ("\n\n", "\n", ". ", "! ", "? ", "。", "; ", " ")
"""Where a chunk ends best, the best first."""


def sizes_fault(size: int, overlap: int) -> str | None:
    """What is wrong with the sizes of chunks; None where nothing is."""
    if size < 1 or overlap < 0:
        return f"`chunk_size` is {size} and `chunk_overlap` is {overlap}; give a size from 1 and an overlap from 0"
    if overlap >= size:
        return (
            f"`chunk_overlap` is {overlap}, which has to be less than `chunk_size`, {size}: else each chunk would begin where "
            "the one before it did"
        )
    return None


def chunked(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[str]:
    """A text in chunks, in order; each but the first begins with the last `overlap` characters of the one before it.

    A chunk ends at a paragraph, a sentence or a blank where there is one in its last quarter. Chunks of blanks are left out.

    Args:
        text: the text.
        size: characters of a chunk, at most.
        overlap: characters that it has in common with the one before it.

    Raises:
        ValueError: the overlap is not less than the size.
    """
    if fault := sizes_fault(size, overlap):
        raise ValueError(fault)
    chunks: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start, size, overlap)
        chunks.append(text[start:end])
        if end == len(text):
            break
        start = end - overlap
    return [chunk for chunk in chunks if chunk.strip()]


def _end(text: str, start: int, size: int, overlap: int) -> int:
    last = start + size
    if last >= len(text):
        return len(text)
    first = start + max(overlap + 1, size * 3 // 4)  # behind the overlap, so that there is an end
    for sign in _BREAKS:
        found = text.rfind(sign, first - len(sign), last)
        if found >= 0 and found + len(sign) >= first:
            return found + len(sign)
    return last


_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


def sections(text: str) -> list[Passage]:
    """The sections of a Markdown text, each with its headings from the top; `heading` in the metadata says them, too.

    What stands in a block of code is no heading. A text without headings is one section.
    """
    made: list[Passage] = []
    trail: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""

    def close() -> None:
        body = "\n".join(lines).strip("\n")
        if not body.strip():
            return
        path = " > ".join(title for _, title in trail)
        made.append(Passage(f"{path}\n{body}" if path else body, {"heading": path} if path else {}))

    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence) and not line.strip().strip(fence[0])):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        close()
        lines.clear()
        level = len(heading[1])
        trail = [*(one for one in trail if one[0] < level), (level, heading[2])]
    close()
    return made


class KnowledgeConfig(BaseModel):
    """How much an agent is told of what is known, and how near to the task it has to be."""

    results_limit: int = Field(default=5, ge=1)
    """At most so many passages of its own knowledge, and as many of its crew's."""

    score_threshold: float = Field(default=0.6, ge=0, le=1)
    """How near they are at least: 0.5 has nothing to do with what is looked for, 1 says the same."""
