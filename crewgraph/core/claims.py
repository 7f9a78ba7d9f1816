"""Claims on threads: one run at a time holds a thread.

Two runs of one thread at the same time would both do its work and write over each other. So a run claims its thread before it
reads what is stored, and holds the claim until it ends. How a claim excludes other processes depends on the saver; see
`crewgraph.storage.claims`.
"""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig

from crewgraph.core.loops.bridge import start_in_thread
from crewgraph.core.operations import Do, Program
from crewgraph.core.pregel import CLAIM
from crewgraph.schema import PlainMapping

_T = TypeVar("_T")


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


def claim_thread(keeper: ClaimKeeper, thread_id: str) -> Do:
    """Claim a thread."""

    async def aclaim() -> ThreadClaim:
        if (claim := keeper.claim_nowait(thread_id)) is not None:
            return claim
        claiming = start_in_thread(partial(keeper.claim, thread_id))
        try:
            return await asyncio.wrap_future(claiming)
        except asyncio.CancelledError:
            claiming.add_done_callback(_close_unused)  # the server may answer later
            raise

    return Do(partial(keeper.claim, thread_id), aclaim)


def _close_unused(claiming: "Future[ThreadClaim]") -> None:
    if not claiming.cancelled() and claiming.exception() is None:
        claiming.result().close()


def holding_claim(
    keeper: ClaimKeeper | None,
    thread_id: str,
    held: ThreadClaim | None,
    program: Callable[[ThreadClaim | None], Program[_T]],
) -> Program[_T]:
    """Run a program with the claim on a thread.

    Args:
        keeper: manages the claims; None if the run is not stored.
        thread_id: the thread.
        held: the claim, if the caller holds it.
        program: creates the program from the claim.

    Raises:
        ThreadBusy: another run holds the thread.
    """
    if held is not None or keeper is None:
        return (yield from program(held))
    claim: ThreadClaim = yield claim_thread(keeper, thread_id)
    try:
        return (yield from program(claim))
    finally:
        claim.close()


def claim_in(config: RunnableConfig) -> ThreadClaim | None:
    """Return the claim that the run with this config holds; None for a run that holds none itself."""
    names: PlainMapping = config.get("configurable") or {}
    return names.get(CLAIM)
