"""Calling async functions from sync code, and blocking functions from async code."""

import asyncio
import contextvars
import threading
import time
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import LONG, wait_until

from crewgraph.core.loops.bridge import TimeIsUp, call, in_thread, wait_for, wait_in_thread, wait_on_loop

COLOUR = contextvars.ContextVar("colour", default="none")


async def colour_later() -> str:
    await asyncio.sleep(0)
    return COLOUR.get()


def test_sync_code_waits_for_async_code_with_its_context():
    COLOUR.set("red")
    assert wait_for(colour_later()) == "red"


def test_sync_code_inside_a_running_loop_waits_without_blocking_it_forever():
    async def cell() -> str:
        COLOUR.set("blue")
        return wait_for(colour_later())

    assert asyncio.run(cell()) == "blue"


def test_async_work_that_runs_sync_code_that_waits_again_gets_another_loop():
    async def outer() -> str:
        COLOUR.set("green")
        return wait_for(colour_later())

    assert wait_for(outer()) == "green"


def test_two_waits_run_on_one_loop_so_that_connections_stay_usable():
    async def loop_id() -> int:
        return id(asyncio.get_running_loop())

    assert wait_for(loop_id()) == wait_for(loop_id())


def test_failures_come_back_as_they_were():
    async def fails() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        wait_for(fails())


def test_many_blocking_calls_run_at_once():
    barrier = threading.Barrier(40)

    async def all_at_once() -> list[int]:
        return await asyncio.gather(*(in_thread(barrier.wait, LONG) for _ in range(40)))

    assert sorted(asyncio.run(all_at_once())) == list(range(40))


def test_blocking_calls_do_not_stop_the_loop():
    async def both() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticker = asyncio.create_task(tick())
        await in_thread(wait_until, lambda: ticks >= 5)
        ticker.cancel()
        return ticks

    assert asyncio.run(both()) >= 5


def test_context_variables_travel_into_threads():
    async def inside() -> str:
        COLOUR.set("white")
        return await in_thread(COLOUR.get)

    assert asyncio.run(inside()) == "white"


def test_nothing_is_begun_when_the_time_is_up_already():
    done: list[str] = []

    async def work() -> None:
        done.append("a coroutine")

    with pytest.raises(TimeIsUp):
        wait_in_thread(lambda: done.append("a function"), 0)
    with pytest.raises(TimeIsUp):
        asyncio.run(wait_on_loop(work(), -1))
    assert done == []


def test_as_many_threads_work_as_there_are_calls_at_once():
    names: set[str] = set()

    def work(seconds: float) -> None:
        names.add(threading.current_thread().name)
        time.sleep(seconds)

    async def run() -> None:
        for _ in range(300):
            await asyncio.gather(in_thread(work, 0), in_thread(work, 0.0005))

    asyncio.run(run())
    assert len(names) == 2


def test_what_a_thread_raised_comes_back_as_it_was():
    def slow() -> None:
        raise TimeoutError

    def cancelled() -> None:
        raise futures.CancelledError("the other work")

    with pytest.raises(TimeoutError) as late:
        asyncio.run(in_thread(slow))
    assert late.traceback[-1].name == "slow"
    with pytest.raises(futures.CancelledError, match="the other work"):  # asyncio has one of its own, which ends tasks
        asyncio.run(in_thread(cancelled))


@pytest.mark.parametrize("end", [StopIteration, StopAsyncIteration, GeneratorExit])
def test_what_would_end_a_generator_is_raised_as_an_error(end: type[BaseException]):
    def ends() -> None:
        raise end

    with pytest.raises(RuntimeError, match=f"{end.__name__} was raised$"):
        asyncio.run(in_thread(ends))
    with pytest.raises(RuntimeError, match=f"{end.__name__} was raised$"):
        call(ends)


@pytest.mark.parametrize("end", [SystemExit, KeyboardInterrupt])
def test_a_coroutine_that_ends_the_program_ends_its_caller_and_not_the_loop(end: type[BaseException]):
    async def ends() -> None:
        raise end

    async def waits() -> str:
        begun.set()
        await asyncio.sleep(0.05)
        return "done"

    begun = threading.Event()
    with ThreadPoolExecutor() as pool:
        other = pool.submit(wait_for, waits())
        assert begun.wait(LONG)
        with pytest.raises(end):
            wait_for(ends())
        assert other.result(LONG) == "done"
