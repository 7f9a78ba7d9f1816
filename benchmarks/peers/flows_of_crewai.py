"""The flows of the benchmarks, with CrewAI."""

import asyncio
import sys
import time
from typing import Any

import crewai.flow.flow as words

from benchmarks.peers.clock import printed, timed
from benchmarks.peers.flow_shapes import chain, fan, loop, race
from benchmarks.peers.workload import repeats

SHAPES = {"chain": (chain, 1, 0), "loop": (loop, 2, 0), "fan": (fan, 1, 2)}
"""What builds each, and how many methods run: so many for each of its size, and so many more."""


def flows(case: str, told: str) -> dict[str, float]:
    """Time unstored runs.

    Args:
        case: as "chain 100".
        told: "told" on its console, as it does by itself; or "silent".
    """
    return _timed(case, told, lambda kind: kind)


def kept(case: str, told: str) -> dict[str, float]:
    from crewai.flow.persistence import persist

    return _timed(case, told, persist())


def _timed(case: str, told: str, kept: Any) -> dict[str, float]:
    shape, size = case.split()[0], int(case.split()[1])
    build, each, more = SHAPES[shape]
    kind, count = kept(build(words, size)), each * size + more

    def work() -> None:
        flow = kind(suppress_flow_events=told == "silent")
        flow.kickoff()
        assert len(flow.method_outputs) == count and (shape == "fan" or flow.state["n"] == size)

    return timed(work, units=count, repeats=repeats(count))


def starts(method_name: str) -> dict[str, float]:
    """The start time of the quick method's listener while the slow method still runs; the second of two runs."""
    is_async, begun = method_name == "akickoff", 0.0
    kind = race(words, is_async)
    for _ in range(2):
        flow, kicked_off = kind(suppress_flow_events=True), time.perf_counter()
        _ = asyncio.run(flow.kickoff_async()) if is_async else flow.kickoff()
        begun = flow.state["begun"] - kicked_off
    return {"wall": begun}


def first(what: str) -> dict[str, float]:
    """The processor time of this whole process, up to the import of the words, or to its first result."""
    if what != "import":
        from crewai.flow.persistence import persist

        kind = chain(words, 2)
        flow = (persist()(kind) if what == "kept" else kind)()
        flow.kickoff()
        assert flow.state["n"] == 2
    return {"cpu": 1000 * time.process_time()}


if __name__ == "__main__":
    printed(globals()[sys.argv[1]](*sys.argv[2:]))
