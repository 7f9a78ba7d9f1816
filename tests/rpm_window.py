"""A window of `RPMController` that records when requests were made."""

from crewgraph.llm.rate_limit import RPMController, Waiter, Window

__all__ = ["RecordingWindow", "record_requests"]


class RecordingWindow(Window):
    """Records all requests and looks. Callers may notice their slot late on a busy machine; the window does not."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[float] = []
        self.looks = 0

    def turn(self, waiter: Waiter, limit: int | None, seconds: float) -> float:
        self.looks += 1
        return super().turn(waiter, limit, seconds)

    def record(self, waiter: Waiter) -> None:
        with self._lock:
            super().record(waiter)
            self.seen.append(self._sent[-1])

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._waiting)

    def closest(self, apart: int) -> float:
        """The shortest time in seconds between a request and the n-th one after it."""
        times = sorted(self.seen)
        return min(later - at for at, later in zip(times, times[apart:], strict=False))


def record_requests(controller: RPMController) -> RecordingWindow:
    """Replace the window of an unused controller, and return it."""
    controller._window = window = RecordingWindow()  # pyright: ignore[reportPrivateUsage]
    return window
