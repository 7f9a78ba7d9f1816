"""The background event loops, and garbage collection on other threads."""

import asyncio
import gc
import sys
import threading
import time
from collections.abc import AsyncGenerator
from types import AsyncGeneratorType
from typing import Any

import pytest
from waiting import LONG, wait_until

from crewgraph.core.loops.threads import start_loop


class Lingers:
    """Is collected slowly, so that other threads come to their turn meanwhile."""

    def __del__(self) -> None:
        time.sleep(0.2)


class Stream:
    """Holds the generator that holds it, as clients of models do."""

    def __init__(self, closing: threading.Event, closed: list[str]) -> None:
        self.closing, self.closed = closing, closed
        self.pieces = self.outer()
        self.lingers = Lingers()

    async def outer(self) -> AsyncGenerator[int]:
        self.within = self.inner()
        try:
            async for piece in self.within:
                yield piece
        finally:
            await self.within.aclose()
            self.closed.append("outer")

    async def inner(self) -> AsyncGenerator[int]:
        try:
            yield 1
            yield 2
        finally:
            self.closing.set()
            time.sleep(0.4)  # its code runs while the collector goes on
            self.closed.append("inner")


def test_a_stream_that_nobody_holds_any_more_is_closed_when_the_collector_is_through(monkeypatch: pytest.MonkeyPatch):
    reported, report_other = list[Any](), sys.unraisablehook

    def report(unraisable: Any) -> None:
        """Record what concerns generators; the collector also finds what other tests have left."""
        generator = isinstance(unraisable.object, AsyncGeneratorType)
        (reported.append if generator else report_other)(unraisable)

    gc.collect()
    monkeypatch.setattr(sys, "unraisablehook", report)
    loop, closing, closed = start_loop("crewgraph-tested"), threading.Event(), list[str]()

    async def read() -> None:
        async for _ in Stream(closing, closed).pieces:
            break

    gc.disable()
    try:
        asyncio.run_coroutine_threadsafe(read(), loop).result(LONG)
        wait_until(lambda: gc.collect() >= 0 and closing.is_set())
    finally:
        gc.enable()
    wait_until(lambda: closed == ["inner", "outer"])
    assert reported == []
    loop.call_soon_threadsafe(loop.stop)
    wait_until(lambda: not loop.is_running())
    loop.close()
