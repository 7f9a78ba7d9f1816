"""Context of the current model call: its usage and its text stream."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from crewgraph.core.messages import Usage

__all__ = ["ONGOING", "OngoingCall"]


@dataclass
class OngoingCall:
    """A call of a model that is a Python object; code within the call finds it through `ONGOING`."""

    on_text: Callable[[str], None] | None = None
    """Called with each chunk of text; None if nothing listens."""

    observed: bool = False
    """Whether events already report it as one request, so that nested requests emit none."""

    used: list[Usage] = field(default_factory=list[Usage])
    """Usage reported during the call; a list, because it may call several models."""

    @property
    def usage(self) -> Usage | None:
        """The sum of the reported usage; None if there is none."""
        if not self.used:
            return None
        return {
            "prompt_tokens": sum(usage["prompt_tokens"] for usage in self.used),
            "completion_tokens": sum(usage["completion_tokens"] for usage in self.used),
            "total_tokens": sum(usage["total_tokens"] for usage in self.used),
            "cached_prompt_tokens": sum(usage["cached_prompt_tokens"] for usage in self.used),
            "reasoning_tokens": sum(usage["reasoning_tokens"] for usage in self.used),
            "cache_creation_tokens": sum(usage["cache_creation_tokens"] for usage in self.used),
        }


ONGOING: ContextVar[OngoingCall | None] = ContextVar("crewgraph_ongoing_call", default=None)
"""The enclosing call; copied contexts share it, so that threads started by a call report to it, too."""
