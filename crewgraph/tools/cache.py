"""Caching of tool results: `CacheHandler`, and CrewAI's `ToolsHandler` around it."""

import json
from collections import OrderedDict
from threading import Lock
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from crewgraph.schema import PlainDict

_lock = Lock()
"""Shared by all handlers: it is held only briefly, and handlers stay copyable."""


class CacheHandler(BaseModel, defer_build=True):
    """In-memory cache of tool results.

    Each crew has its own by default. Pass one as `Crew(cache_handler=)` or `Agent(cache_handler=)` to share it between
    crews, or pass any object with `read` and `add`, sync or async, to store results elsewhere.
    """

    most: int = Field(default=1000, ge=1)
    """Maximum number of results; the least recently used are evicted."""

    _results: OrderedDict[tuple[str, str], Any] = PrivateAttr(default_factory=OrderedDict[tuple[str, str], Any])

    def read(self, tool: str, input: str) -> Any | None:
        """Return the cached result of a call, or None.

        Args:
            tool: The name of the tool.
            input: The arguments as JSON with sorted keys.
        """
        with _lock:
            if (tool, input) not in self._results:
                return None
            self._results.move_to_end((tool, input))
            return self._results[tool, input]

    def add(self, tool: str, input: str, output: object) -> None:
        """Store the result of a call.

        Args:
            tool: The name of the tool.
            input: The arguments as JSON with sorted keys.
            output: The result as plain data.
        """
        with _lock:
            self._results[tool, input] = output
            self._results.move_to_end((tool, input))
            while len(self._results) > self.most:
                self._results.popitem(last=False)


CACHE_TOOL = "Hit Cache"
"""The name of CrewAI's cache tool, whose own results are never cached."""


class ToolCalling(BaseModel, defer_build=True):
    """A call of a tool that a model wishes for."""

    tool_name: str = Field(..., description="The name of the tool to call")
    """The name of the tool."""

    arguments: PlainDict | None = Field(..., description="Its arguments by name")
    """The arguments by name."""


class ToolsHandler(BaseModel, defer_build=True):
    """CrewAI's record of the last used tool, with a cache; crewgraph's runs do not use it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    cache: CacheHandler | None = Field(default=None)
    """The cache of results."""

    last_used_tool: ToolCalling | None = Field(default=None)
    """The last call."""

    def __init__(self, cache: CacheHandler | None = None, **fields: object) -> None:
        super().__init__(cache=cache, **fields)

    def on_tool_use(self, calling: ToolCalling, output: object, should_cache: bool = True) -> None:
        """Record a call and cache its result.

        Args:
            calling: The call.
            output: The result.
            should_cache: Whether to cache the result.
        """
        self.last_used_tool = calling
        if self.cache is not None and should_cache and calling.tool_name != CACHE_TOOL:
            self.cache.add(tool=calling.tool_name, input=_input_key(calling.arguments), output=output)


def _input_key(arguments: dict[str, object] | None) -> str:
    return json.dumps(arguments, sort_keys=True) if arguments else ""
