"""A window of `RPMController` that tells when requests were made, as it counts them itself."""

from crewgraph.llm.rate_limit import LoopWaiter, RPMController, Waiter, Window

__all__ = ["NotingWindow", "noting"]


class NotingWindow(Window):
    """Knows all that ever were made. What asks for a place may be late to say so on a busy machine; the window is not."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[float] = []

    def record(self, waiter: Waiter | LoopWaiter) -> None:
        with self._lock:
            super().record(waiter)
            self.seen.append(self._sent[-1])

    @property
    def waiting(self) -> int:
        """How many requests wait for their place."""
        return len(self._waiting)

    def closest(self, apart: int) -> float:
        """The shortest time in seconds between a request and the one that many places behind it."""
        times = sorted(self.seen)
        return min(later - at for at, later in zip(times, times[apart:], strict=False))


def noting(controller: RPMController) -> NotingWindow:
    """The window of a controller that was not used yet."""
    controller._window = window = NotingWindow()  # pyright: ignore[reportPrivateUsage]
    return window
