"""Caching of tool results."""

from collections import OrderedDict
from threading import Lock
from typing import Any

from pydantic import BaseModel, Field, PrivateAttr

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
