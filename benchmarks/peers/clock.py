"""Measures the time of some work and prints it as the last line of the process."""

import gc
import json
import time
from collections.abc import Callable
from typing import Any

__all__ = ["printed", "timed", "waited"]


def timed(work: Callable[[], Any], *, units: int, repeats: int) -> dict[str, float]:
    """Milliseconds of processor time (user and system, all threads) and of wall time per unit of work.

    The work is done twice before, so that imports, connections and caches are there, and what the imports left to the garbage
    collector is collected: its next look at a hundred thousand new objects would cost as much as a hundred runs.
    """
    work()
    work()
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(repeats):
        work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": 1000 * cpu / (units * repeats), "wall": 1000 * wall / (units * repeats)}


def waited(work: Callable[[], Any]) -> float:
    """Seconds of wall time for some work, which is done once before; what importing left to collect is collected before, too."""
    work()
    gc.collect()
    wall = time.perf_counter()
    work()
    return time.perf_counter() - wall


def printed(figures: dict[str, float]) -> None:
    """Print the figures for the parent process."""
    print("\n" + json.dumps(figures))
