"""Calling async functions from sync code, and blocking functions from async code."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import LONG, wait_until

from crewgraph.core.loops.bridge import call, in_thread, wait_for

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


def test_two_waits_run_on_one_loop_so_that_connections_stay_usable():
    async def loop_id() -> int:
        return id(asyncio.get_running_loop())

    assert wait_for(loop_id()) == wait_for(loop_id())


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
