"""Claims that hold within this process."""

import math
import os
import socket
import threading
import time
import weakref
from collections.abc import Collection
from concurrent.futures import Future
from typing import Any

from crewgraph.core.claims import Holder
from crewgraph.errors import ThreadBusy


def process_name() -> str:
    """This process, for messages."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def busy(thread_id: str, holder: Holder) -> ThreadBusy:
    """Return the error for a thread that another run holds."""
    return ThreadBusy(
        f"thread `{thread_id}` is being run by {holder}. Two runs of one thread would repeat each other's work: wait for that "
        "run, end it and resume, or give this run another `thread_id`."
    )


class ProcessClaim:
    """A claim of this process; never lost while the process lives.

    It ends at the latest with its run: a run that nothing refers to any longer, such as an abandoned stream whose event loop is
    closed, never gets to closing it.
    """

    is_fenced = False
    """Whether the saver checks the claim in each transaction of the run."""

    verify_interval = math.inf
    """Seconds after a check in which it is not lost."""

    def __init__(self, claims: "ProcessClaims", thread_id: str, holder: Holder) -> None:
        self._claims, self.thread_id, self._holder = claims, thread_id, holder
        self._awaited: set[Future[Any]] = set()
        self._is_closed = False
        self._process = os.getpid()
        self.checked_at = time.monotonic()
        """When it was last checked."""

    @property
    def is_doubtful(self) -> bool:
        """Whether it was last checked too long ago, or by the process from which this one was forked."""
        return os.getpid() != self._process or time.monotonic() - self.checked_at > self.verify_interval

    def check_process(self) -> None:
        """Check that this is the process that has claimed the thread.

        Raises:
            ThreadBusy: this process was forked from it.
        """
        if os.getpid() != self._process:
            raise ThreadBusy(
                f"thread `{self.thread_id}` is run by process {self._process}, from which this process was forked. End a forked "
                "process with `os._exit`, or start programs with `subprocess`."
            )

    def verify(self) -> None:
        """Verify that the claim is still held; see `check_process`."""
        self.check_process()

    async def averify(self) -> None:
        """Async version of `verify`."""
        self.verify()

    def close(self) -> None:
        """Release the claim. May be called more than once."""
        self._is_closed = True
        if not self._awaited:
            self._claims.release(self.thread_id, self._holder)

    def __del__(self) -> None:
        if not self._is_closed:
            self._claims.drop(self.thread_id, self._holder)

    def close_after(self, works: Collection[Future[Any]]) -> None:
        """Delay the release until some works have ended, even if the claim is closed before."""
        self._awaited.update(works)
        for work in works:
            work.add_done_callback(self._ended)

    def _ended(self, work: Future[Any]) -> None:
        self._awaited.discard(work)
        if self._is_closed:
            self.close()


class ProcessClaims:
    """The claims of this process on the threads of one saver."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holders: dict[str, Holder] = {}
        _instances.add(self)

    def claim(self, thread_id: str) -> ProcessClaim:
        """Claim a thread for a run.

        Raises:
            ThreadBusy: another run has it.
        """
        holder = Holder("this process", time.time())
        try:
            if (other := self._holders.setdefault(thread_id, holder)) is not holder:
                raise busy(thread_id, other)
            claim = self._take(thread_id, holder)
            if isinstance(claim, Holder):
                raise busy(thread_id, claim)
        except BaseException:  # also Ctrl-C: the claim is withdrawn
            if self._holders.get(thread_id) is holder:
                del self._holders[thread_id]
            raise
        return claim

    def release(self, thread_id: str, holder: Holder) -> "Future[None] | None":
        """Release a claim, if it is still held; return the future of a release that takes a while."""
        with self._lock:  # two threads may close one claim at once
            if self._holders.get(thread_id) is not holder:
                return None
            try:
                return self._give_back(thread_id)  # before this process may claim it again
            finally:
                del self._holders[thread_id]

    def drop(self, thread_id: str, holder: Holder) -> None:
        """Release a claim from wherever the garbage collector runs."""
        self.release(thread_id, holder)

    def claim_nowait(self, thread_id: str) -> ProcessClaim | None:
        """Like `claim`; return None if that would wait."""
        return self.claim(thread_id)

    def holder(self, thread_id: str) -> Holder | None:
        """Return the current holder of a thread, as far as this process knows."""
        return self._holders.get(thread_id)

    def forked(self) -> None:
        """Discard the parent's claims in a forked child."""
        self._lock = threading.RLock()
        self._holders = {}

    def _take(self, thread_id: str, holder: Holder) -> ProcessClaim | Holder:
        """Lock a thread against other processes; return the claim, or the holder."""
        return ProcessClaim(self, thread_id, holder)

    def _give_back(self, thread_id: str) -> "Future[None] | None":
        """Unlock a thread for other processes, without waiting."""


_instances: "weakref.WeakSet[ProcessClaims]" = weakref.WeakSet()


def _forget_claims() -> None:
    for claims in list(_instances):
        claims.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_claims)
