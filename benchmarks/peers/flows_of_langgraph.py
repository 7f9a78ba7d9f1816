"""The flows of the benchmarks as hand-written LangGraph graphs; heavy packages are imported where they are used."""

import asyncio
import operator
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from benchmarks.peers.clock import printed, timed
from benchmarks.peers.crews_of_langgraph import saver_at
from benchmarks.peers.flow_shapes import QUICK, SLOW
from benchmarks.peers.workload import repeats


class Counted(TypedDict, total=False):
    n: int


class Gathered(TypedDict, total=False):
    n: Annotated[int, operator.add]


def node(function: Callable[[Any], Any], is_async: bool) -> Callable[[Any], Any]:
    """Return a node with this content."""

    def step(state: Any) -> Any:
        return function(state)

    async def astep(state: Any) -> Any:
        return function(state)

    return astep if is_async else step


def counted(state: Counted) -> Counted:
    return {"n": state.get("n", 0) + 1}


def chain(size: int, is_async: bool) -> Any:
    from langgraph.graph import START, StateGraph

    graph: Any = StateGraph(Counted)
    names = [f"m{number}" for number in range(size)]
    for name in names:
        graph.add_node(name, node(counted, is_async))
    for source, target in zip([START, *names], names, strict=False):
        graph.add_edge(source, target)
    return graph


def loop(size: int, is_async: bool) -> Any:
    """A round is a node and a router, which is a node, too: a method may look things up, ask a model, or change the state."""
    from langgraph.graph import END, START, StateGraph

    graph: Any = StateGraph(Counted)
    graph.add_node("step", node(counted, is_async))
    graph.add_node("enough", node(lambda state: {}, is_async))
    graph.add_edge(START, "step")
    graph.add_edge("step", "enough")
    graph.add_conditional_edges("enough", lambda state: "step" if state["n"] < size else END, ["step", END])
    return graph


def fan(size: int, is_async: bool) -> Any:
    from langgraph.graph import START, StateGraph

    graph: Any = StateGraph(Gathered)
    names = [f"m{number}" for number in range(size)]
    for name in ("begin", *names, "end"):
        graph.add_node(name, node(lambda state: {"n": 1}, is_async))
    graph.add_edge(START, "begin")
    for name in names:
        graph.add_edge("begin", name)
    graph.add_edge(names, "end")
    return graph


SHAPES = {"chain": (chain, 1, 0), "loop": (loop, 2, 0), "fan": (fan, 1, 2)}
"""What builds each, and how many nodes run: so many for each of its size, and so many more."""


def flows(case: str, method_name: str) -> dict[str, float]:
    """Time unstored runs. The case is as "chain 100"."""
    return _timed(case, method_name, None, {})


def kept(case: str, method_name: str) -> dict[str, float]:
    return _timed(case, method_name, *saver_at("kept.db", "same"))


def _timed(case: str, method_name: str, saver: Any, options: dict[str, Any]) -> dict[str, float]:
    shape, size = case.split()[0], int(case.split()[1])
    build, each, more = SHAPES[shape]
    count = each * size + more
    graph = build(size, method_name == "akickoff").compile(checkpointer=saver)

    def work() -> None:
        config = {"recursion_limit": count + 10, "configurable": {"thread_id": str(uuid4())}}
        given = {"n": 0}
        if method_name == "akickoff":
            result = asyncio.run(graph.ainvoke(given, config, **options))
        else:
            result = graph.invoke(given, config, **options)
        assert result["n"] == size + more

    return timed(work, units=count, repeats=repeats(count))


def long(rounds: str, keep: str) -> dict[str, float]:
    """One loop of so many rounds; a short one before."""
    saver, options = saver_at("long.db", "same") if keep == "kept" else (None, {})
    cpu = 0.0
    for size in (100, int(rounds)):
        config = {"recursion_limit": 3 * size, "configurable": {"thread_id": str(uuid4())}}
        graph = loop(size, False).compile(checkpointer=saver)
        cpu = time.process_time()
        assert graph.invoke({"n": 0}, config, **options)["n"] == size
        cpu = time.process_time() - cpu
    return {"cpu": 1000 * cpu / (2 * int(rounds))}


def starts(method_name: str, form: str) -> dict[str, float]:
    """The start time of the node after the quick one while the slow one still runs; the second of two runs.

    Args:
        method_name: whether it is invoked, "kickoff", or on an event loop, "akickoff".
        form: "flat", or "nested", where the quick node and its successor form a subgraph.
    """
    from langgraph.graph import START, StateGraph

    begun: list[float] = []
    is_async = method_name == "akickoff"

    def sleeping(seconds: float) -> Any:
        async def asleep(state: Any) -> dict[str, Any]:
            await asyncio.sleep(seconds)
            return {}

        def sleep(state: Any) -> dict[str, Any]:
            time.sleep(seconds)
            return {}

        return asleep if is_async else sleep

    def behind(state: Any) -> dict[str, Any]:
        begun.append(time.perf_counter())
        return {}

    graph: Any = StateGraph(Gathered)
    quick: Any = StateGraph(Gathered) if form == "nested" else graph
    quick.add_node("quick", sleeping(QUICK))
    quick.add_node("behind", node(behind, is_async))
    quick.add_edge(START, "quick")
    quick.add_edge("quick", "behind")
    if form == "nested":
        graph.add_node("branch", quick.compile())
        graph.add_edge(START, "branch")
    graph.add_node("slow", sleeping(SLOW))
    graph.add_edge(START, "slow")
    app, kicked_off = graph.compile(), 0.0
    for _ in range(2):
        kicked_off = time.perf_counter()
        _ = asyncio.run(app.ainvoke({"n": 0})) if is_async else app.invoke({"n": 0})
    return {"wall": begun[-1] - kicked_off}


def first(what: str) -> dict[str, float]:
    """The processor time of this whole process, up to LangGraph's import, or to its first result."""
    import langgraph.graph

    assert langgraph.graph.StateGraph
    if what != "import":
        saver, options = saver_at("first.db", "same") if what == "kept" else (None, {})
        graph = chain(2, False).compile(checkpointer=saver)
        assert graph.invoke({"n": 0}, {"configurable": {"thread_id": "1"}}, **options)["n"] == 2
    return {"cpu": 1000 * time.process_time()}


if __name__ == "__main__":
    printed(globals()[sys.argv[1]](*sys.argv[2:]))
