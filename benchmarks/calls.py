"""`python -m benchmarks.calls`: how many Python functions a warm run of one task calls before it asks its model.

The table stands in README.md; `tests/runtime/calls.py` holds crewgraph to bounds.
"""

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.peers.crews_of_crewgraph import ZeroLLM, crew_of, heard
from benchmarks.peers.crews_of_crewgraph import run as run_crew
from benchmarks.peers.crews_of_langgraph import Chain, saver_at
from benchmarks.peers.workload import Zero
from crewgraph.storage.checkpoints import SqliteCheckpointer

__all__ = ["main"]

WARM = 3


def calls_before_request(work: Callable[[], object]) -> int:
    """Return how many functions some work calls, on any thread, before its model is asked; after some runs that warm it up."""
    calls: list[str] = []

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    for _ in range(WARM):
        work()
    threading.setprofile(count)
    sys.setprofile(count)
    work()
    sys.setprofile(None)
    threading.setprofile(None)
    return calls.index(f"{Zero.__name__}.{Zero.answer.__name__}")


def by_hand(folder: Path | None) -> Callable[[], object]:
    chain, options = Chain(1, "channels"), {}
    graph: Any = chain.compiled()
    if folder is not None:
        saver, options = saver_at(str(folder / "hand.db"), "same")
        graph = chain.compiled(checkpointer=saver)
    return lambda: chain.run(graph, chain.config, **options)


def crew(folder: Path | None) -> Callable[[], object]:
    made, outputs = crew_of(1, ZeroLLM()), heard()
    saver = False if folder is None else SqliteCheckpointer(folder / "crew.db")
    return lambda: run_crew(made, outputs, saver)


def main() -> None:
    print("| Python calls until the request | LangGraph by hand | crewgraph |\n|---|---:|---:|")
    for title, is_stored in (("not stored", False), ("stored in SQLite", True)):
        cells: list[str] = []
        for make in (by_hand, crew):
            with tempfile.TemporaryDirectory() as folder:
                cells.append(f"{calls_before_request(make(Path(folder) if is_stored else None)):,}")
        print(f"| {title} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
