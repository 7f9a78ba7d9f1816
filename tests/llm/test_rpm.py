"""Rate limiting on threads and on event loops."""

import asyncio
import copy
import random
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from modes import Mode
from pydantic import ValidationError
from rpm_window import RecordingWindow, record_requests
from waiting import LONG, wait_until, wait_until_async

from crewgraph.core.operations import adrive, drive
from crewgraph.llm.rate_limit import RPMController, taking_slot


class Passages:
    """Whose requests were let through, in order, and whoever else waits in some windows."""

    def __init__(self, mode: Mode, *windows: RecordingWindow) -> None:
        self.mode, self.windows = mode, windows
        self.seen: list[Any] = []

    @contextmanager
    def requesting(self, controllers: Mapping[Any, Sequence[RPMController]]) -> Generator[None]:
        """Send all requests, in order; at the end of the block all were admitted."""

        def request(who: Any) -> None:
            drive(taking_slot(controllers[who]))
            self.seen.append(who)

        async def arequest(who: Any) -> None:
            await adrive(taking_slot(controllers[who]))
            self.seen.append(who)

        async def several() -> None:
            await asyncio.gather(*(arequest(who) for who in controllers))

        if self.mode.asynchronous:
            threads = [threading.Thread(target=lambda: asyncio.run(several()))]
        else:
            threads = [threading.Thread(target=request, args=(who,)) for who in controllers]
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda number=number: self.arrived >= number)
        wait_until(lambda: self.arrived == len(controllers))
        yield
        joined(threads)

    @property
    def arrived(self) -> int:
        return len(self.seen) + sum(window.waiting for window in self.windows)


def joined(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


def in_threads(*works: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    joined(threads)


def test_no_window_sees_more_requests_than_it_may_on_threads_and_loops_at_once():
    controller = RPMController(max_rpm=5, seconds=0.8)
    window = record_requests(controller)
    passed: list[tuple[float, bool]] = []

    def request() -> None:
        passed.append((time.monotonic(), controller.check_or_wait()))

    async def arequest() -> None:
        passed.append((time.monotonic(), await controller.acheck_or_wait()))

    def loop() -> None:
        async def several() -> None:
            await asyncio.gather(*(arequest() for _ in range(4)))

        asyncio.run(several())

    in_threads(*[request] * 8, loop, loop)
    assert len(passed) == len(window.seen) == 16 and all(value is True for _, value in passed)
    assert window.closest(5) > 0.799
    assert window.closest(4) < 0.8, "a window has as many as it may"


def test_requests_are_admitted_in_order_of_arrival(mode: Mode):
    controller = RPMController(max_rpm=2)
    passages = Passages(mode, record_requests(controller))
    with passages.requesting({who: [controller] for who in range(9)}):
        for through in (2, 4, 6, 8):
            wait_until(lambda through=through: len(passages.seen) == through)
            controller.reset_counter()
    # Those of one window may be noted in either order.
    assert [sorted(passages.seen[n : n + 2]) for n in range(0, 10, 2)] == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]


def test_a_cancelled_request_gives_its_slot_to_the_next():
    async def run() -> None:
        controller = RPMController(max_rpm=1, seconds=600)
        window = record_requests(controller)
        await controller.acheck_or_wait()
        second, third = (asyncio.create_task(controller.acheck_or_wait()) for _ in range(2))
        await wait_until_async(lambda: window.waiting == 2)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert window.waiting == 1 and not third.done()
        controller.reset_counter()
        await asyncio.wait_for(third, LONG)

    asyncio.run(run())


def test_a_waiting_request_looks_again_only_when_its_turn_comes_or_another_leaves(mode: Mode):
    controller = RPMController(max_rpm=1, seconds=600)
    window = record_requests(controller)
    passages = Passages(mode, window)
    with passages.requesting({who: [controller] for who in range(3)}):
        time.sleep(0.3)
        looks = [window.looks]
        controller.reset_counter()
        wait_until(lambda: len(passages.seen) == 2)
        time.sleep(0.3)
        looks.append(window.looks)
        controller.reset_counter()
    assert looks == [3, 5]


def test_an_interrupted_request_gives_its_slot_back():
    controller, this = RPMController(max_rpm=1, seconds=600), threading.get_ident()
    window = record_requests(controller)
    controller.check_or_wait()

    def interrupt() -> None:
        wait_until(lambda: window.waiting)
        signal.pthread_kill(this, signal.SIGINT)

    presses = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        presses.start()
        controller.check_or_wait()
    presses.join()
    controller.reset_counter()
    assert controller.check_or_wait()


def test_whoever_leaves_nobody_is_forgotten_and_no_window_sees_too_much():
    rolled, passed = random.Random(7), list[int]()
    controllers = [RPMController(max_rpm=n, seconds=0.2) for n in (4, 6)]
    four, six = (record_requests(controller) for controller in controllers)

    async def run() -> None:
        async def request(who: int) -> None:
            await adrive(taking_slot(controllers[who % 2 :]))
            passed.append(who)

        tasks = [asyncio.create_task(request(who)) for who in range(60)]
        for task in rolled.sample(tasks, 30):
            await asyncio.sleep(0.005)
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(controller) for controller in done} <= {type(None), asyncio.CancelledError}
        assert sum(controller is None for controller in done) == len(passed) >= 30

    asyncio.run(run())
    assert len(six.seen) == len(passed) and six.closest(6) > 0.199 and four.closest(4) > 0.199


def test_waiting_for_one_controller_holds_no_slot_of_a_wider_one(mode: Mode):
    narrow, wide = RPMController(max_rpm=1, seconds=600), RPMController(max_rpm=2, seconds=600)
    of_narrow, of_wide = record_requests(narrow), record_requests(wide)
    passages = Passages(mode, of_narrow, of_wide)
    expected = {"one": [wide, narrow], "two": [wide, narrow], "three": [wide, narrow], "free": [wide]}
    with passages.requesting(expected):
        wait_until(lambda: len(passages.seen) == 2)
        assert sorted(passages.seen) == ["free", "one"] and (of_narrow.waiting, of_wide.waiting) == (2, 0)
        narrow.reset_counter()
        wait_until(lambda: of_wide.waiting)
        assert len(passages.seen) == 2 and of_narrow.waiting == 1
        wide.reset_counter()
        wait_until(lambda: len(passages.seen) == 3)
        assert passages.seen[2] == "two" and of_narrow.waiting == 1
        narrow.reset_counter()
    assert passages.seen[3] == "three"


def test_a_request_counts_from_when_it_is_sent_not_admitted():
    narrow, wide = RPMController(max_rpm=1, seconds=0.3), RPMController(max_rpm=4, seconds=0.6)
    began = time.monotonic()
    for _ in range(4):
        wide.check_or_wait()
    drive(taking_slot([narrow, wide]))
    assert time.monotonic() - began > 0.599
    narrow.check_or_wait()
    assert time.monotonic() - began > 0.899


def test_a_wait_is_reported_once_with_its_seconds(mode: Mode):
    controllers = [RPMController(max_rpm=1, seconds=300), RPMController(max_rpm=1, seconds=600)]
    windows = [record_requests(one) for one in controllers]
    waits: list[tuple[float, int]] = []

    def let_through() -> None:
        for controller, window in reversed(list(zip(controllers, windows, strict=True))):
            wait_until(lambda window=window: window.waiting)
            controller.reset_counter()

    def note(seconds: float, max_rpm: int) -> None:
        waits.append((seconds, max_rpm))

    lets = threading.Thread(target=let_through)
    lets.start()
    for _ in range(2):
        mode.run(lambda: drive(taking_slot(controllers, note)), lambda: adrive(taking_slot(controllers, note)))
    lets.join()
    ((seconds, max_rpm),) = waits
    assert 300 < seconds <= 600 and max_rpm == 1


def test_nothing_waits_without_a_limit(mode: Mode):
    controller = RPMController()
    assert controller.max_rpm is None and controller.seconds == 60
    assert all(mode.run(controller.check_or_wait, controller.acheck_or_wait) for _ in range(100))


@pytest.mark.parametrize("fields", [{"max_rpm": 0}, {"max_rpm": -1}, {"max_rpm": "many"}, {"seconds": 0}, {"rpm": 3}])
def test_an_invalid_limit_is_rejected(fields: dict[str, Any]):
    with pytest.raises(ValidationError):
        RPMController(**fields)


@pytest.mark.parametrize("copied", [copy.deepcopy, RPMController.model_copy])
def test_a_deep_copy_starts_at_zero_and_a_shallow_one_continues(copied: Callable[[RPMController], RPMController]):
    controller = RPMController(max_rpm=1, seconds=600)
    controller.check_or_wait()
    other, waits_seen = copied(controller), list[float]()

    def waits(seconds: float, max_rpm: int) -> None:
        waits_seen.append(seconds)
        other.reset_counter()

    drive(taking_slot([other], waits))
    assert len(waits_seen) == (0 if copied is copy.deepcopy else 1)


class Own:
    """A controller with nothing of ours."""

    def __init__(self) -> None:
        self.calls = 0

    def check_or_wait(self) -> bool:
        self.calls += 1
        return True


class OwnOnLoops(Own):
    async def acheck_or_wait(self) -> bool:
        self.calls += 10
        return True


class Counting(RPMController):
    """One of ours that does more."""

    calls: int = 0

    def check_or_wait(self) -> bool:
        self.calls += 1
        return super().check_or_wait()


@pytest.mark.parametrize(("make", "sync", "asynchronous"), [(Own, 1, 1), (OwnOnLoops, 1, 10), (Counting, 1, 1)])
def test_custom_controllers_are_called_through_their_own_methods(mode: Mode, make: Any, sync: int, asynchronous: int):
    controller = make()
    mode.run(
        lambda: drive(taking_slot([controller, controller])), lambda: adrive(taking_slot([controller, controller]))
    )
    assert controller.calls == (asynchronous if mode.asynchronous else sync)


def test_a_closed_loop_with_a_waiting_request_blocks_nothing():
    controller = RPMController(max_rpm=1, seconds=0.2)
    controller.check_or_wait()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(controller.acheck_or_wait())
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    began = time.monotonic()
    controller.check_or_wait()
    assert time.monotonic() - began < LONG
    waiting._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]  # asyncio would warn of it, rightly
    del waiting
