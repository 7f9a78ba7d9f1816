"""What a tool of an MCP server gave, as plain data to be recorded."""

import json
from collections.abc import Mapping
from typing import Any

from crewgraph.tools.blocks import shown

__all__ = ["result_of"]


def result_of(answer: Mapping[str, Any]) -> Any:
    """What a server answered to a call, as it is recorded: a text, or blocks where there are images.

    Args:
        answer: a `CallToolResult` as plain data.
    """
    blocks: list[dict[str, Any]] = list(answer.get("content") or ())
    structured = answer.get("structuredContent")
    if structured is not None and not any(block.get("type") in ("text", "image", "resource") for block in blocks):
        blocks = [{"type": "text", "text": json.dumps(structured, ensure_ascii=False)}, *blocks]
    text, images = shown(blocks)
    return [{"type": "text", "text": text}, *images] if images else text
