"""The model call that is under way: what it used, and who wants to see its text as it comes."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from crewgraph.core.messages import Usage

__all__ = ["CALLER", "ONGOING", "OngoingCall"]


@dataclass
class OngoingCall:
    """One call of a model that is a Python object; known to the code below it through `ONGOING`."""

    on_text: Callable[[str], None] | None = None
    """Takes each piece of text as the model writes it; None where nobody looks."""

    observed: bool = False
    """Whether events tell of it as one request, whatever it asks."""

    used: list[Usage] = field(default_factory=list[Usage])
    """What was reported during the call; a list, because it may ask several models."""

    @property
    def usage(self) -> Usage | None:
        """The sum of what was reported; None where nothing was."""
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
"""The call around the running code; a copied context shares it, so a call's own threads report to it too."""

CALLER: ContextVar[tuple[Any, Any]] = ContextVar("crewgraph_asker", default=(None, None))
"""The agent that asks, and the task it works on."""
