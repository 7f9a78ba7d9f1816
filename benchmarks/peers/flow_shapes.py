"""The measured flows, written with the words that crewgraph and CrewAI share: `words` is either's module of them.

What they do costs nothing: they count in the state. `is_async` makes all methods coroutine functions.
"""

import asyncio
import time
from typing import Any

__all__ = ["QUICK", "SLOW", "chain", "fan", "loop", "race"]

QUICK, SLOW = 0.05, 1.0
"""Seconds that two parallel methods take; the quick one has a listener."""


def chain(words: Any, methods: int, is_async: bool = False) -> type[Any]:
    """A chain of a number of methods."""
    body: dict[str, Any] = {}
    for number in range(methods):

        def step(self: Any) -> None:
            self.state["n"] = self.state.get("n", 0) + 1

        async def astep(self: Any) -> None:
            self.state["n"] = self.state.get("n", 0) + 1

        method = astep if is_async else step
        method.__name__ = f"m{number}"
        body[method.__name__] = (words.listen(f"m{number - 1}") if number else words.start())(method)
    return type("Chain", (words.Flow,), body)


def loop(words: Any, rounds: int, is_async: bool = False) -> type[Any]:
    """A method and a router that repeats it a number of times."""

    class Loop(words.Flow):
        max_method_calls = 10**9

        @words.start("again")
        def step(self) -> None:
            self.state["n"] = self.state.get("n", 0) + 1

        @words.router(step)
        def enough(self) -> str:
            return "again" if self.state["n"] < rounds else "done"

    class AsyncLoop(words.Flow):
        max_method_calls = 10**9

        @words.start("again")
        async def step(self) -> None:
            self.state["n"] = self.state.get("n", 0) + 1

        @words.router(step)
        async def enough(self) -> str:
            return "again" if self.state["n"] < rounds else "done"

    return AsyncLoop if is_async else Loop


def fan(words: Any, width: int, is_async: bool = False) -> type[Any]:
    """A method, a number of parallel listeners, and one that waits for all of them."""
    names = [f"m{number}" for number in range(width)]
    body: dict[str, Any] = {}
    triggers = {"begin": words.start(), **{name: words.listen("begin") for name in names}}
    triggers["end"] = words.listen(words.and_(*names))
    for name, trigger in triggers.items():

        def step(self: Any) -> int:
            return 1

        async def astep(self: Any) -> int:
            return 1

        method = astep if is_async else step
        method.__name__ = name
        body[name] = trigger(method)
    return type("Fan", (words.Flow,), body)


def race(words: Any, is_async: bool = False) -> type[Any]:
    """A quick method with a listener, parallel to a slow one; the state holds when the listener began."""

    class Race(words.Flow):
        @words.start()
        def quick(self) -> None:
            time.sleep(QUICK)

        @words.start()
        def slow(self) -> None:
            time.sleep(SLOW)

        @words.listen(quick)
        def behind(self) -> None:
            self.state["begun"] = time.perf_counter()

    class AsyncRace(words.Flow):
        @words.start()
        async def quick(self) -> None:
            await asyncio.sleep(QUICK)

        @words.start()
        async def slow(self) -> None:
            await asyncio.sleep(SLOW)

        @words.listen(quick)
        async def behind(self) -> None:
            self.state["begun"] = time.perf_counter()

    return AsyncRace if is_async else Race
