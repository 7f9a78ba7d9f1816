"""Markdown in its sections."""

import re

from crewgraph.knowledge.passage import Passage

__all__ = ["sections"]

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
