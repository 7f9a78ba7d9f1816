"""Results of tools, kept to be given again: `CacheHandler`."""

from collections import OrderedDict
from threading import Lock
from typing import Any

from pydantic import BaseModel, Field, PrivateAttr

__all__ = ["CacheHandler"]

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
