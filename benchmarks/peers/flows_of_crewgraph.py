"""The flows of the benchmarks, with the public names of crewgraph.

What is heavy is imported where it is used: `first` measures the imports.
"""

import asyncio
import sys
import time
from typing import Any

import crewgraph.flow as words
from benchmarks.peers.clock import printed, timed
from benchmarks.peers.flow_shapes import chain, fan, loop, race
from benchmarks.peers.workload import repeats


def flow_of(shape: str, size: int, method_name: str) -> type[Any]:
    shapes = {"chain": chain, "loop": loop, "fan": fan}
    return shapes[shape](words, size, method_name == "akickoff")


def run(flow: Any, method_name: str) -> Any:
    return asyncio.run(flow.akickoff()) if method_name == "akickoff" else flow.kickoff()


def methods(shape: str, size: int) -> int:
    return {"chain": size, "loop": 2 * size, "fan": size + 2}[shape]


def flows(case: str, method_name: str) -> dict[str, float]:
    """Time unstored runs. The case is as "chain 100"."""
    return _timed(case, method_name, False)


def kept(case: str, method_name: str) -> dict[str, float]:
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    with SqliteCheckpointer("kept.db") as saver:
        return _timed(case, method_name, saver)


def _timed(case: str, method_name: str, checkpointer: Any) -> dict[str, float]:
    shape, size = case.split()[0], int(case.split()[1])
    kind, count = flow_of(shape, size, method_name), methods(shape, size)

    def work() -> None:
        flow = kind(checkpointer=checkpointer)
        run(flow, method_name)
        assert len(flow.method_outputs) == count and (shape == "fan" or flow.state["n"] == size)

    return timed(work, units=count, repeats=repeats(count))


def long(rounds: str, keep: str) -> dict[str, float]:
    """One loop of so many rounds; a short one before."""
    from crewgraph.storage.checkpoints import SqliteCheckpointer

    saver = SqliteCheckpointer("long.db") if keep == "kept" else False
    flow_of("loop", 100, "kickoff")(checkpointer=saver).kickoff()
    flow = flow_of("loop", int(rounds), "kickoff")(checkpointer=saver)
    cpu = time.process_time()
    flow.kickoff()
    cpu = time.process_time() - cpu
    assert flow.state["n"] == int(rounds)
    return {"cpu": 1000 * cpu / methods("loop", int(rounds))}


def starts(method_name: str) -> dict[str, float]:
    """The start time of the quick method's listener while the slow method still runs; the second of two runs."""
    kind = race(words, method_name == "akickoff")
    run(kind(), method_name)
    flow, kicked_off = kind(), time.perf_counter()
    run(flow, method_name)
    return {"wall": flow.state["begun"] - kicked_off}


def first(what: str) -> dict[str, float]:
    """The processor time of this whole process, up to the import of the words, or to its first result."""
    if what != "import":
        flow = chain(words, 2)(checkpointer=what == "kept")
        flow.kickoff()
        assert flow.state["n"] == 2
    return {"cpu": 1000 * time.process_time()}


if __name__ == "__main__":
    printed(globals()[sys.argv[1]](*sys.argv[2:]))
