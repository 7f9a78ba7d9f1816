"""Requests a minute: who is let through when, on threads and on event loops."""

import asyncio
import copy
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from modes import Mode
from pydantic import ValidationError

from crewgraph.llm.rpm import RPMController, await_room, wait_for_room


class Passages:
    """When requests were let through, in seconds since the beginning, and whose they were."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.seen: list[tuple[float, Any]] = []

    def note(self, who: Any = None) -> None:
        self.seen.append((time.monotonic() - self.began, who))

    @property
    def order(self) -> list[Any]:
        return [who for _, who in sorted(self.seen, key=lambda one: one[0])]

    def closest(self, apart: int) -> float:
        """The shortest time between a request and the one that many places behind it."""
        times = sorted(at for at, _ in self.seen)
        return min(later - at for at, later in zip(times, times[apart:], strict=False))


def in_threads(*works: Callable[[], Any], apart: float = 0.0) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
        time.sleep(apart)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_no_window_sees_more_requests_than_it_may_on_threads_and_loops_at_once():
    controller, passages = RPMController(max_rpm=5, seconds=0.8), Passages()

    def request() -> None:
        assert controller.check_or_wait() is True
        passages.note()

    async def arequest() -> None:
        assert await controller.acheck_or_wait() is True
        passages.note()

    def loop() -> None:
        async def several() -> None:
            await asyncio.gather(*(arequest() for _ in range(4)))

        asyncio.run(several())

    in_threads(*[request] * 8, loop, loop)
    assert len(passages.seen) == 16
    assert passages.closest(5) > 0.5
    assert passages.seen[-1][0] < 5, "four windows are enough"


def test_requests_are_let_through_in_the_order_they_came(mode: Mode):
    controller, passages = RPMController(max_rpm=2, seconds=0.3), Passages()

    def request(who: int) -> None:
        controller.check_or_wait()
        passages.note(who)

    async def arequest(who: int) -> None:
        await controller.acheck_or_wait()
        passages.note(who)

    async def several() -> None:
        await asyncio.gather(*(arequest(who) for who in range(9)))

    if mode.asynchronous:
        asyncio.run(several())
    else:
        in_threads(*(lambda who=who: request(who) for who in range(9)), apart=0.04)
    # Those of one window may be noted in either order.
    assert [sorted(passages.order[n : n + 2]) for n in range(0, 8, 2)] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_a_cancelled_request_gives_its_place_to_those_behind_it():
    async def run() -> float:
        controller = RPMController(max_rpm=1, seconds=1)
        began = time.monotonic()
        await controller.acheck_or_wait()
        second, third = (asyncio.create_task(controller.acheck_or_wait()) for _ in range(2))
        await asyncio.sleep(0.05)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await third
        return time.monotonic() - began

    assert 0.9 < asyncio.run(run()) < 1.8


def test_an_interrupted_request_gives_its_place_back():
    controller = RPMController(max_rpm=1, seconds=60)
    controller.check_or_wait()
    began, this = time.monotonic(), threading.get_ident()
    timer = threading.Timer(0.1, signal.pthread_kill, (this, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        controller.check_or_wait()
    assert time.monotonic() - began < 5
    timer.join()
    controller.reset_counter()
    assert controller.check_or_wait()


def test_whoever_leaves_nobody_is_forgotten_and_no_window_sees_too_much():
    passages, rolled = Passages(), random.Random(7)

    async def run() -> None:
        controllers = [RPMController(max_rpm=n, seconds=0.2) for n in (4, 6)]

        async def request(who: int) -> None:
            await await_room(controllers[who % 2 :])
            passages.note()

        tasks = [asyncio.create_task(request(who)) for who in range(60)]
        for task in rolled.sample(tasks, 30):
            await asyncio.sleep(0.005)
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(one) for one in done} <= {type(None), asyncio.CancelledError}
        assert sum(one is None for one in done) == len(passages.seen) >= 30

    asyncio.run(run())
    assert passages.closest(6) > 0.15


def test_several_controllers_hold_together_and_who_waits_for_one_holds_no_place_of_a_wider_one(mode: Mode):
    narrow, wide = RPMController(max_rpm=1, seconds=0.8), RPMController(max_rpm=2, seconds=0.8)
    passages = Passages()

    wanted = {"one": [wide, narrow], "two": [wide, narrow], "three": [wide, narrow], "free": [wide]}

    def request(who: str) -> None:
        wait_for_room(wanted[who])
        passages.note(who)

    async def arequest(who: str) -> None:
        await await_room(wanted[who])
        passages.note(who)

    async def several() -> None:
        await asyncio.gather(*(arequest(who) for who in wanted))

    if mode.asynchronous:
        asyncio.run(several())
    else:
        in_threads(*(lambda who=who: request(who) for who in wanted), apart=0.04)
    assert passages.order == ["one", "free", "two", "three"]
    at = {who: at for at, who in passages.seen}
    assert at["free"] < 0.7 and at["two"] - at["one"] > 0.5 and at["three"] - at["two"] > 0.5


def test_a_request_counts_from_the_moment_it_is_made_not_from_when_it_had_its_first_place():
    narrow, wide = RPMController(max_rpm=1, seconds=0.3), RPMController(max_rpm=4, seconds=0.6)
    for _ in range(4):
        wide.check_or_wait()
    began = time.monotonic()
    wait_for_room([narrow, wide])
    assert time.monotonic() - began > 0.55
    narrow.check_or_wait()
    assert time.monotonic() - began > 0.85


def test_waiting_is_told_once_with_its_seconds(mode: Mode):
    controllers = [RPMController(max_rpm=1, seconds=0.3), RPMController(max_rpm=1, seconds=0.6)]
    told: list[tuple[float, int]] = []

    def note(seconds: float, max_rpm: int) -> None:
        told.append((seconds, max_rpm))

    for _ in range(2):
        mode.run(lambda: wait_for_room(controllers, note), lambda: await_room(controllers, note))
    ((seconds, max_rpm),) = told
    assert 0 < seconds <= 0.6 and max_rpm == 1


def test_a_counter_that_is_reset_lets_those_who_wait_through():
    controller = RPMController(max_rpm=1)
    controller.check_or_wait()
    threading.Timer(0.1, controller.reset_counter).start()
    began = time.monotonic()
    controller.check_or_wait()
    assert time.monotonic() - began < 5
    assert controller.reset_counter() is controller


def test_no_thread_runs_in_the_background_and_stopping_stops_nothing():
    before = threading.active_count()
    controller = RPMController(max_rpm=1, seconds=0.6)
    controller.check_or_wait()
    assert threading.active_count() == before
    controller.stop_rpm_counter()
    began = time.monotonic()
    controller.check_or_wait()
    assert time.monotonic() - began > 0.1, "stopping is no way around the bound"


def test_without_a_bound_nothing_waits(mode: Mode):
    controller = RPMController()
    assert controller.max_rpm is None and controller.seconds == 60
    assert all(mode.run(controller.check_or_wait, controller.acheck_or_wait) for _ in range(100))


@pytest.mark.parametrize("fields", [{"max_rpm": 0}, {"max_rpm": -1}, {"max_rpm": "many"}, {"seconds": 0}, {"rpm": 3}])
def test_a_bound_that_means_nothing_is_refused(fields: dict[str, Any]):
    with pytest.raises(ValidationError):
        RPMController(**fields)


def test_a_bound_may_be_changed():
    controller = RPMController(max_rpm=1)
    controller.check_or_wait()
    controller.max_rpm = 2
    assert controller.check_or_wait()
    with pytest.raises(ValidationError):
        controller.max_rpm = 0


@pytest.mark.parametrize("copied", [copy.deepcopy, RPMController.model_copy])
def test_a_deep_copy_counts_anew_and_a_shallow_one_goes_on(copied: Callable[[RPMController], RPMController]):
    controller = RPMController(max_rpm=1, seconds=0.6)
    controller.check_or_wait()
    began = time.monotonic()
    copied(controller).check_or_wait()
    assert (time.monotonic() - began > 0.1) is (copied is not copy.deepcopy)


class Own:
    """A controller with nothing of ours."""

    def __init__(self) -> None:
        self.asked = 0

    def check_or_wait(self) -> bool:
        self.asked += 1
        return True


class OwnOnLoops(Own):
    async def acheck_or_wait(self) -> bool:
        self.asked += 10
        return True


class Counting(RPMController):
    """One of ours that does more."""

    asked: int = 0

    def check_or_wait(self) -> bool:
        self.asked += 1
        return super().check_or_wait()


@pytest.mark.parametrize(("make", "sync", "asynchronous"), [(Own, 1, 1), (OwnOnLoops, 1, 10), (Counting, 1, 1)])
def test_users_controllers_are_asked_in_their_own_way(mode: Mode, make: Any, sync: int, asynchronous: int):
    controller = make()
    mode.run(lambda: wait_for_room([controller, controller]), lambda: await_room([controller, controller]))
    assert controller.asked == (asynchronous if mode.asynchronous else sync)


def test_a_loop_that_was_closed_over_a_waiting_request_stands_in_nobodys_way():
    controller = RPMController(max_rpm=1, seconds=0.2)
    controller.check_or_wait()
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(controller.acheck_or_wait())
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    began = time.monotonic()
    controller.check_or_wait()
    assert time.monotonic() - began < 2
    waiting._log_destroy_pending = False  # pyright: ignore[reportAttributeAccessIssue]  # asyncio would warn of it, rightly
    del waiting
