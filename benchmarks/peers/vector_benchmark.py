"""The measurements of a vector store: saving, searching, and opening in a new process."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Protocol

from benchmarks.peers.clock import printed
from benchmarks.peers.clustered_vectors import DIMS, NEAREST, Clustered

__all__ = ["Keeps", "main"]

_SAVES = 200
_QUERIES = 200
_UNTIMED = 10


class Keeps(Protocol):
    """A contender: a store of numbered vectors."""

    def fill(self, rows: Any) -> None:
        """Save entries 0, 1, ..., and wait for any background work."""

    def save(self, number: int, row: Any) -> None:
        """Save one more entry."""

    def search(self, row: Any) -> Sequence[int]:
        """Return the numbers of the ten nearest vectors."""

    def close(self) -> None:
        """Close it, so that another process can open it."""


def main(make: Callable[[Clustered], Keeps], n: int, opens: bool) -> None:
    """Print the figures.

    Args:
        make: opens the contender, in the working directory.
        n: how many entries.
        opens: whether this is the new process.
    """
    if opens:
        printed(_opened(make, Clustered(1, _QUERIES), n))
        return
    figures = _worked(make, Clustered(n + _SAVES, _QUERIES), n)
    words = [sys.executable, *sys.orig_argv[1:], "open"]
    again = subprocess.run(words, capture_output=True, text=True, check=False)
    if again.returncode:
        raise RuntimeError(again.stderr[-2000:])
    line = next(line for line in reversed(again.stdout.splitlines()) if line.startswith("{"))
    printed({**figures, **json.loads(line)})


def _worked(make: Callable[[Clustered], Keeps], data: Clustered, n: int) -> dict[str, float]:
    begin = time.perf_counter()
    keeps = make(data)
    keeps.fill(data.rows[:n])
    filled = time.perf_counter() - begin
    save, save_cpu = _each(lambda at: keeps.save(n + at, data.rows[n + at]), _SAVES)
    found: list[set[int]] = [set() for _ in range(_QUERIES)]

    def look(at: int) -> None:
        found[at] = set(keeps.search(data.queries[at]))

    search, search_cpu = _each(look, _QUERIES)
    right = sum(len(mine & its) for mine, its in zip(found, data.nearest(), strict=True))
    keeps.close()
    return {
        "fill": filled,
        "save": save,
        "save_cpu": save_cpu,
        "search": search,
        "search_cpu": search_cpu,
        "recall": right / (NEAREST * _QUERIES),
    }


def _each(work: Callable[[int], None], times: int) -> tuple[float, float]:
    """Median milliseconds of wall time of a piece of work; the mean ones of processor time of all threads."""
    for at in range(_UNTIMED):  # connections and caches are there then
        work(at)
    walls, cpu = list[float](), time.process_time()
    for at in range(_UNTIMED, times):
        begin = time.perf_counter()
        work(at)
        walls.append(time.perf_counter() - begin)
    return 1000 * median(walls), 1000 * (time.process_time() - cpu) / len(walls)


def _opened(make: Callable[[Clustered], Keeps], data: Clustered, n: int) -> dict[str, float]:
    before = _resident()
    begin = time.perf_counter()
    keeps = make(data)
    assert len(keeps.search(data.queries[0])) == NEAREST
    opened = time.perf_counter() - begin
    for row in data.queries[1:]:
        keeps.search(row)
    figures = {"open": opened, "memory": (_resident() - before) / (4 * DIMS * n)}
    keeps.close()
    return figures


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
