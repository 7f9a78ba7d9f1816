"""Which tool was used last, and what keeps results."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.tools.cache import CacheHandler

__all__ = ["CACHE_TOOL", "ToolCalling", "ToolsHandler"]

CACHE_TOOL = "Hit Cache"
"""The name of the tool that gives what is kept; its own results are not."""


class ToolCalling(BaseModel):
    """A call of a tool that a model wishes for."""

    tool_name: str = Field(..., description="The name of the tool to call")
    """Which tool."""

    arguments: dict[str, Any] | None = Field(..., description="Its arguments by name")
    """With what."""


class ToolsHandler(BaseModel):
    """Knows which tool was used last, and keeps results; runs do both for themselves."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    cache: CacheHandler | None = Field(default=None)
    """Where results are kept."""

    last_used_tool: ToolCalling | None = Field(default=None)
    """What was used last."""

    def __init__(self, cache: CacheHandler | None = None, **fields: Any) -> None:
        super().__init__(cache=cache, **fields)

    def on_tool_use(self, calling: ToolCalling, output: Any, should_cache: bool = True) -> None:
        """Note a use, and keep its result.

        Args:
            calling: what was used.
            output: what it gave.
            should_cache: whether that is kept.
        """
        self.last_used_tool = calling
        if self.cache is not None and should_cache and calling.tool_name != CACHE_TOOL:
            self.cache.add(tool=calling.tool_name, input=_written(calling.arguments), output=output)


def _written(arguments: dict[str, Any] | None) -> str:
    return json.dumps(arguments, sort_keys=True) if arguments else ""
