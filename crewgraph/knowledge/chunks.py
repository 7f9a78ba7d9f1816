"""Texts in pieces that are found one by one."""

__all__ = ["OVERLAP", "SIZE", "chunked", "sizes_fault"]

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
