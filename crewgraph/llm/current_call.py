"""Context of the current model call: its usage and its text stream."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from crewgraph.core.messages import Usage

if TYPE_CHECKING:
    from crewgraph.llm.answer_limits import AnswerClock
    from crewgraph.llm.usage import UsageLedger


@dataclass
class OngoingCall:
    """A call of a model that is a Python object; code within the call finds it in `CALL`."""

    on_text: Callable[[str], None] | None = None
    """Called with each chunk of text; None if nothing listens."""

    observed: bool = False
    """Whether events already report it as one request, so that nested requests emit none."""

    used: list[Usage] = field(default_factory=list[Usage])
    """Usage reported during the call; a list, because it may call several models."""

    def enter(self) -> None:
        """Let the code of this context belong to the call."""
        CALL.set(CALL.get()._replace(ongoing=self))

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


class CurrentCall(NamedTuple):
    """The call of a model that the running code belongs to, and the ledgers that it counts in."""

    ongoing: OngoingCall | None = None
    """The call of a Python object; copied contexts share it, so that threads started by a call report to it, too."""

    caller: tuple[object, object] | None = None
    """The agent and the task on whose behalf a request is made, which is counted as a whole; None outside of such requests."""

    clock: "AnswerClock | None" = None
    """Watches the answer of a request over HTTP."""

    ledgers: "tuple[UsageLedger, ...]" = ()
    """The ledgers of the enclosing flows, in which every request counts."""

    replaced: "tuple[UsageLedger, UsageLedger] | None" = None
    """A ledger and its replacement; see `UsageLedger.current`."""


CALL: ContextVar[CurrentCall] = ContextVar("crewgraph_call", default=CurrentCall())
"""The call of a model that the running code belongs to."""
