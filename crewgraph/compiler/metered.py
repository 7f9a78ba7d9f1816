"""The graph of a crew, each of whose runs has a meter: also where somebody else invokes it, or it is a node of another graph."""

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from crewgraph.compiler.budget import RunMeter
from crewgraph.core.limits import METER, Stopped, metering
from crewgraph.core.pregel import place_of
from crewgraph.definitions.crew import Crew

__all__ = ["MeteredGraph", "metered"]


def metered(graph: "CompiledStateGraph[Any, Any, Any, Any]", crew: Crew) -> "MeteredGraph":
    """A crew's compiled graph, whose runs keep to the crew's budgets."""
    return MeteredGraph(crew=crew, **vars(graph))


class MeteredGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """The compiled graph of a crew.

    Args:
        crew: the crew.
        kept: what makes a `CompiledStateGraph`.
    """

    def __init__(self, *, crew: Crew, **kept: Any) -> None:
        own = {name: kept.pop(name) for name in list(kept) if name.startswith("_")}
        super().__init__(**kept)
        vars(self).update(own)
        self.crew = crew  # what stands in `vars` is what LangGraph's `copy` gives to this again

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run, and tell; see LangGraph.

        Raises:
            BudgetExceeded: the run has used up a budget of the crew.
        """
        meter, steps = self._meter(input, config), cast("Any", super().stream(input, config, **kwargs))
        try:
            while True:
                with _measured(meter):
                    part = next(steps, _END)
                if part is _END:
                    return
                yield part
        finally:
            with metering(meter):
                steps.close()

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Run on this event loop, and tell; see LangGraph.

        Raises:
            BudgetExceeded: the run has used up a budget of the crew.
        """
        meter, steps = self._meter(input, config), cast("Any", super().astream(input, config, **kwargs))
        try:
            while True:
                with _measured(meter):
                    part = await anext(steps, _END)
                if part is _END:
                    return
                yield part
        finally:
            with metering(meter):
                await steps.aclose()

    def _meter(self, given: Any, config: RunnableConfig | None) -> RunMeter:
        around, own = var_child_runnable_config.get() or {}, config or {}
        place = place_of({"configurable": {**around.get("configurable", {}), **own.get("configurable", {})}})
        kept = place.saver is not None if self.checkpointer in (None, True) else self.checkpointer is not False
        return RunMeter(
            self.crew,
            METER.get(),
            resumed=given is None or isinstance(given, Command) or place.again,
            thread=place.thread or None if kept and not place.task else None,
            kept=kept,
        )


_END: Any = object()


@contextmanager
def _measured(meter: RunMeter) -> Generator[None]:
    """A step of the run; a stop for its own budgets is told as the error it is."""
    try:
        with metering(meter):
            yield
    except Stopped as stop:
        if stop.meter is not meter:
            raise
        raise stop.why() from None
