"""Passages of sources, search results, and splitting of texts into chunks and of Markdown into sections."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field
from typing_extensions import TypedDict  # pydantic reads no other one before Python 3.12

from crewgraph.schema import Metadata

_SEPARATOR = "\n\n"


@dataclass(frozen=True)
class Passage:
    """A text of a source with its metadata."""

    text: str
    metadata: Metadata = field(default_factory=dict[str, Any])
    """Plain data: `source` is its origin (a file, an address), with its `page`, `sheet` or `heading`."""


class SearchResult(TypedDict):
    """A passage that was found."""

    id: str
    content: str
    metadata: Metadata
    score: float
    """From 0 to 1: (1 + cosine) / 2, so 0.5 is unrelated to the query."""


def extract_knowledge_context(knowledge_snippets: Iterable[SearchResult]) -> str:
    """Join the texts of search results; empty if there are none."""
    return _SEPARATOR.join(snippet["content"].strip() for snippet in knowledge_snippets if snippet["content"].strip())


def group_passages(passages: Iterable[Passage], name: str) -> dict[str, list[Passage]]:
    """Group passages by origin, so that unchanged ones need not be stored again.

    Args:
        passages: the passages of a source.
        name: a prefix of the groups' names, so that different sources are never mixed.
    """
    groups: dict[str, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(f"{name}:{passage.metadata.get('source', '')}", []).append(passage)
    return groups


CHUNK_SIZE = 4000
"""The default maximum length of a chunk in characters."""

CHUNK_OVERLAP = 200
"""The default number of characters that a chunk shares with the previous one."""

_BREAKS = ("\n\n", "\n", ". ", "! ", "? ", "。", "; ", " ")
"""The separators to end a chunk at, in order of preference."""


def chunk_size_problem(size: int, overlap: int) -> str | None:
    """Return the problem with the sizes of chunks, or None."""
    if size < 1 or overlap < 0:
        return f"`chunk_size` is {size} and `chunk_overlap` is {overlap}; pass a size from 1 and an overlap from 0"
    if overlap >= size:
        return (
            f"`chunk_overlap` is {overlap}, which must be less than `chunk_size`, {size}: otherwise each chunk would start "
            "where the previous one did"
        )
    return None


def split_chunks(text: str, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[str]:
    """Split a text into chunks; each but the first begins with the last `overlap` characters of the one before it.

    A chunk ends at a paragraph, a sentence or a space if there is one in its last quarter. Blank chunks are left out.

    Args:
        text: the text.
        size: the maximum length of a chunk in characters.
        overlap: the number of characters shared with the chunk before it.

    Raises:
        ValueError: the overlap is not less than the size.
    """
    if problem := chunk_size_problem(size, overlap):
        raise ValueError(problem)
    chunks: list[str] = []
    start = 0
    while start < len(text):
        end = _chunk_end(text, start, size, overlap)
        chunks.append(text[start:end])
        if end == len(text):
            break
        start = end - overlap
    return [chunk for chunk in chunks if chunk.strip()]


def _chunk_end(text: str, start: int, size: int, overlap: int) -> int:
    last = start + size
    if last >= len(text):
        return len(text)
    first = start + max(overlap + 1, size * 3 // 4)  # behind the overlap, so that there is an end
    for sign in _BREAKS:
        position = text.rfind(sign, first - len(sign), last)
        if position >= 0 and position + len(sign) >= first:
            return position + len(sign)
    return last


_HEADING = re.compile(r"(#{1,6})[ \t]++(.++)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


def markdown_sections(text: str) -> list[Passage]:
    """Split Markdown into sections, each preceded by the path of its headings, which is also its `heading` metadata.

    Lines in code blocks are not headings. A text without headings is one section.
    """
    passages: list[Passage] = []
    trail: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""

    def close() -> None:
        body = "\n".join(lines).strip("\n")
        if not body.strip():
            return
        path = " > ".join(title for _, title in trail)
        passages.append(Passage(f"{path}\n{body}" if path else body, {"heading": path} if path else {}))

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
        title = heading[2].rstrip(" \t").rstrip("#").rstrip(" \t")
        trail = [*(entry for entry in trail if entry[0] < level), (level, title or "#")]
    close()
    return passages


class KnowledgeConfig(BaseModel, defer_build=True):
    """The number of passages an agent gets, and their minimum similarity to the task."""

    results_limit: int = Field(default=5, ge=1)
    """The maximum number of passages from the agent's own knowledge, and as many from that of its crew."""

    score_threshold: float = Field(default=0.6, ge=0, le=1)
    """The minimum score: 0.5 is unrelated, 1 is identical."""
