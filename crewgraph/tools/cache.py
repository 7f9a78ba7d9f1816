"""Results of tools, kept to be given again: `CacheHandler`.

Which tool was used last, and what keeps results.
"""

import json
from collections import OrderedDict
from threading import Lock
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

__all__ = ["CACHE_TOOL", "CacheHandler", "ToolCalling", "ToolsHandler"]


_lock = Lock()
"""One for all: a handler must stay copyable, and little is done under it."""


class CacheHandler(BaseModel):
    """Keeps results of tools in memory.

    A crew has one of its own. Give another as `Crew(cache_handler=)` or `Agent(cache_handler=)` where several crews are to
    share it, or an object of your own with `read` and `add`, sync or async, that keeps results elsewhere.
    """

    most: int = Field(default=1000, ge=1)
    """How many results are kept; those used longest ago go first."""

    _results: OrderedDict[tuple[str, str], Any] = PrivateAttr(default_factory=OrderedDict[tuple[str, str], Any])

    def read(self, tool: str, input: str) -> Any | None:
        """The result of a call, or None.

        Args:
            tool: the tool's name.
            input: its arguments as JSON, keys sorted.
        """
        with _lock:
            if (tool, input) not in self._results:
                return None
            self._results.move_to_end((tool, input))
            return self._results[tool, input]

    def add(self, tool: str, input: str, output: Any) -> None:
        """Keep the result of a call, plain data.

        Args:
            tool: the tool's name.
            input: its arguments as JSON, keys sorted.
            output: what it returned.
        """
        with _lock:
            self._results[tool, input] = output
            self._results.move_to_end((tool, input))
            while len(self._results) > self.most:
                self._results.popitem(last=False)


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
            self.cache.add(tool=calling.tool_name, input=_cache_key(calling.arguments), output=output)


def _cache_key(arguments: dict[str, Any] | None) -> str:
    return json.dumps(arguments, sort_keys=True) if arguments else ""
