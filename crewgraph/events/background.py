"""The event loop for coroutines of threads that have none."""

import asyncio
import threading

__all__ = ["BackgroundLoop"]


class BackgroundLoop:
    """An event loop that runs on a daemon thread of its own."""

    loop: asyncio.AbstractEventLoop
    """The loop; it runs."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        self.loop.call_soon(started.set)
        self._thread = threading.Thread(target=self._run, name="crewgraph-events", daemon=True)
        self._thread.start()
        started.wait()

    def stop(self) -> None:
        """Cancel what still runs, close the loop and wait for the thread to end.

        On the loop's own thread nobody waits: the loop ends at the next `await`.
        """
        self.loop.call_soon_threadsafe(self.loop.stop)
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:  # leaving it cancels and closes
            runner.get_loop().run_forever()
