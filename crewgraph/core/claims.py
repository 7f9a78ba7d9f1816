"""Claims on threads: one run at a time holds a thread.

Two runs of one thread at the same time would both do its work and write over each other. So a run claims its thread before it
reads what is stored, and holds the claim until it ends. How a claim excludes other processes depends on the saver; see
`crewgraph.storage.claims`.
"""

from collections.abc import Collection
from concurrent.futures import Future
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from langchain_core.runnables import RunnableConfig

from crewgraph.core.pregel import CLAIM
from crewgraph.schema import PlainMapping


class Holder(NamedTuple):
    """The holder of a claim."""

    process: str
    """The process, for messages."""

    since: float | None
    """When the claim was made, in seconds since the epoch; None if unknown."""

    def __str__(self) -> str:
        if self.since is None:
            return self.process
        return f"{self.process}, since {datetime.fromtimestamp(self.since).isoformat(' ', 'seconds')}"


class ThreadClaim(Protocol):
    """A claim that is held."""

    is_fenced: bool
    """Whether the saver checks the claim in each transaction of the run; else call `verify` before writing if it is doubtful."""

    @property
    def is_doubtful(self) -> bool:
        """Whether the claim may have been lost since it was last checked; call `verify` before an effect."""
        ...

    def verify(self) -> None:
        """Verify that the claim is still held.

        Raises:
            ThreadBusy: it was lost.
        """
        ...

    async def averify(self) -> None:
        """Async version of `verify`."""
        ...

    def close(self) -> None:
        """Release the claim, without waiting. May be called more than once."""
        ...

    def close_after(self, works: "Collection[Future[Any]]") -> None:
        """Delay the release until some works have ended, even if the claim is closed before."""
        ...


class ClaimKeeper(Protocol):
    """Manages the claims on the threads of a saver."""

    def claim(self, thread_id: str) -> ThreadClaim:
        """Claim a thread for a run of this process.

        Raises:
            ThreadBusy: another run holds it, in this process or another one.
        """
        ...

    def claim_nowait(self, thread_id: str) -> ThreadClaim | None:
        """Like `claim`; return None if that would wait."""
        ...

    def holder(self, thread_id: str) -> Holder | None:
        """Return the current holder of a thread; None if none is known."""
        ...


def claim_in(config: RunnableConfig) -> ThreadClaim | None:
    """Return the claim that the run with this config holds; None for a run that holds none itself."""
    names: PlainMapping = config.get("configurable") or {}
    return names.get(CLAIM)
