"""The ways to run a crew or a flow (sync and async, with tasks or steps as nodes), behind the same calls."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from itertools import pairwise
from typing import Any

from langgraph.graph import END, START, StateGraph

from crewgraph import Crew, CrewOutput, StreamItem

__all__ = ["Mode", "graph_of"]


class Mode:
    """A mode of running: the same calls on this thread or on an event loop, with tasks as nodes or as graphs."""

    def __init__(self, name: str) -> None:
        self.name, _, granularity = name.partition("-")
        self.granularity = granularity or "task"

    @property
    def asynchronous(self) -> bool:
        return self.name == "async"

    def invoke(self, graph: Any, given: Any, config: Any = None, **options: Any) -> Any:
        if self.asynchronous:
            return asyncio.run(graph.ainvoke(given, config, **options))
        return graph.invoke(given, config, **options)

    def stream(self, graph: Any, given: Any, config: Any = None, **options: Any) -> list[Any]:
        async def gathered() -> list[Any]:
            return [one async for one in graph.astream(given, config, **options)]

        return asyncio.run(gathered()) if self.asynchronous else list(graph.stream(given, config, **options))

    def state(self, graph: Any, config: Any) -> Any:
        return asyncio.run(graph.aget_state(config)) if self.asynchronous else graph.get_state(config)

    def kickoff(self, crew: Crew, inputs: dict[str, Any] | None = None, **options: Any) -> CrewOutput:
        if self.asynchronous:
            return asyncio.run(crew.akickoff(inputs, **self._of_crew(options)))
        return crew.kickoff(inputs, **self._of_crew(options))

    def stream_items(self, crew: Crew, inputs: dict[str, Any] | None = None, **options: Any) -> Iterator[StreamItem]:
        """Yield the items of a crew's stream; closing the iterator closes the stream."""
        if not self.asynchronous:
            return crew.stream(inputs, **self._of_crew(options))
        return self.turns(crew.astream(inputs, **self._of_crew(options)))

    def turns(self, items: AsyncGenerator[StreamItem]) -> Iterator[StreamItem]:
        """Yield the items of an async stream; closing the iterator closes the stream."""
        with asyncio.Runner() as runner:
            try:
                while (item := runner.run(_next(items))) is not None:
                    yield item
            finally:
                runner.run(items.aclose())

    def resume(self, crew: Crew, thread_id: str, **options: Any) -> CrewOutput:
        if self.asynchronous:
            return asyncio.run(crew.aresume(thread_id, **options))
        return crew.resume(thread_id, **options)

    def compile(self, crew: Crew, **options: Any) -> Any:
        return crew.compile(**self._of_crew(options))

    def _of_crew(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"granularity": self.granularity, **options}

    def run(self, sync: Callable[..., Any], asynchronous: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return asyncio.run(asynchronous(*args, **options)) if self.asynchronous else sync(*args, **options)


async def _next(items: AsyncGenerator[StreamItem]) -> StreamItem | None:
    return await anext(items, None)


def graph_of(state: type[Any], nodes: dict[str, Any], **compiled: Any) -> Any:
    """A compiled graph of somebody's, with these nodes one behind another."""
    graph: Any = StateGraph(state)
    for name, node in nodes.items():
        graph.add_node(name, node)
    for before, after in pairwise([START, *nodes, END]):
        graph.add_edge(before, after)
    return graph.compile(**compiled)
