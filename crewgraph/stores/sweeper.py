"""A thread that removes what has expired, now and then."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event, Thread

from crewgraph.errors import StorageError

__all__ = ["Sweeper"]

_SECONDS = 60  # of a minute
_logger = logging.getLogger(__name__)


class Sweeper:
    """Calls a function at intervals until it is stopped; what storage refuses is told in the log and tried again."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stopped = Event()
        self._thread: Thread | None = None
        self._ended: Future[None] = Future()

    def start(self, minutes: float) -> Future[None]:
        """Start, unless it runs; the future ends when the thread does.

        Raises:
            ValueError: no time is between two sweeps.
        """
        if minutes <= 0:
            raise ValueError(f"There are to be {minutes} minutes between two sweeps; give more than 0.")
        if self._thread is None or not self._thread.is_alive():
            self._stopped, self._ended = Event(), Future()
            arguments = (self._stopped, self._ended, minutes * _SECONDS)
            self._thread = Thread(target=self._run, args=arguments, name="crewgraph-sweeper", daemon=True)
            self._thread.start()
        return self._ended

    def stop(self, timeout: float | None) -> bool:
        """Stop, and wait for it so many seconds; whether it has ended."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout)
        return self._thread is None or not self._thread.is_alive()

    def _run(self, stopped: Event, ended: Future[None], seconds: float) -> None:
        while not stopped.wait(seconds):
            try:
                if count := self._sweep():
                    _logger.info("%s entries have expired.", count)
            except StorageError as error:
                _logger.warning("What has expired could not be removed: %s", error)
        ended.set_result(None)
