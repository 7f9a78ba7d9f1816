"""Context of the current model call: its usage and its text stream."""

from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from crewgraph.core.messages import Content, Usage

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
        sums: Any = Counter[str]()
        for usage in self.used:
            sums.update(usage)
        total: Any = {**sums} or None
        return total


@dataclass(frozen=True)
class RequestEnd:
    """Emits the event of a request's end, once the hooks after it have run."""

    completed: Callable[[Content], None]
    """Takes the content as the hooks left it."""

    failed: Callable[[BaseException], None]
    """Takes the deny of a hook."""


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

    ends: list[RequestEnd] | None = None
    """Where the event of the request's end is left to hooks; None where it is emitted at once."""


CALL: ContextVar[CurrentCall] = ContextVar("crewgraph_call", default=CurrentCall())
"""The call of a model that the running code belongs to."""
