"""The I/O of a run as operations, so that one program serves `kickoff` and `akickoff`."""

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from crewgraph.compiler.notes import NOTES, RunNotes
from crewgraph.core.bridge import acall, call
from crewgraph.core.operations import Operation
from crewgraph.errors import RunError
from crewgraph.events.bus import crewai_event_bus

__all__ = ["CallBack", "Heard", "ReadState", "Run"]

_Graph = CompiledStateGraph[Any, Any, Any, Any]


class CallBack(Operation):
    """A call of a user's function, sync or async."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.function, self.args = function, args

    def run(self) -> Any:
        return call(self.function, *self.args)

    async def arun(self) -> Any:
        return await acall(self.function, *self.args)


class ReadState(Operation):
    """The state that a thread is in."""

    def __init__(self, graph: _Graph, config: RunnableConfig) -> None:
        self.graph, self.config = graph, config

    def run(self) -> Any:
        return self.graph.get_state(self.config)

    async def arun(self) -> Any:
        _refuse_without_async_face(self.graph)
        return await self.graph.aget_state(self.config)


class Heard(Operation):
    """Waits until the asynchronous listeners have heard everything."""

    def run(self) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            crewai_event_bus.flush()
        # Inside a running loop (a notebook's cell) the listeners run on that loop, after this call.

    async def arun(self) -> None:
        await crewai_event_bus.aflush()


class Run(Operation):
    """A run of a graph: what its nodes wrote, by channel, and the questions it stopped at.

    The updates are gathered as they come, for reading the whole state after each step would make steps slower the more
    tasks there are. A run inside a node that runs again (`again`) may have done a part before: that part comes with the
    values it begins with.
    """

    def __init__(
        self,
        graph: _Graph,
        given: Any,
        config: RunnableConfig,
        *,
        durability: str | None,
        detached: bool,
        again: bool = False,
        notes: RunNotes | None = None,
    ) -> None:
        self.graph, self.given, self.config, self.detached = graph, given, config, detached
        self.options: dict[str, Any] = {"stream_mode": ["updates", "values"] if again else ["updates"]}
        if durability is not None:
            self.options["durability"] = durability
        self.notes = notes
        self.written: dict[str, Any] = {}
        self.questions: list[Any] = []

    def run(self) -> "Run":
        def play() -> None:
            NOTES.set(self.notes)
            self._apart()
            for streamed in self.graph.stream(self.given, self.config, **self.options):
                self._gather(streamed)

        copy_context().run(play)
        return self

    async def arun(self) -> "Run":
        _refuse_without_async_face(self.graph)
        before, notes = var_child_runnable_config.get(), NOTES.set(self.notes)
        self._apart()
        try:
            async for streamed in self.graph.astream(self.given, self.config, **self.options):
                self._gather(streamed)
        finally:
            var_child_runnable_config.set(before)
            NOTES.reset(notes)
        return self

    def _apart(self) -> None:
        # A run of its own inside a node of somebody's graph must not take that node's checkpoint for its own.
        config = var_child_runnable_config.get()
        if self.detached and config is not None:
            kept: Any = {key: value for key, value in config.items() if key != "configurable"}
            var_child_runnable_config.set(kept)

    def _gather(self, streamed: Any) -> None:
        mode, update = streamed
        if mode == "values":
            self.written.update({name: value for name, value in update.items() if not name.startswith("__")})
            return
        for source, values in update.items():
            if source == "__interrupt__":
                self.questions.extend(values)
            elif values and source != "__metadata__":
                self.written.update(values)


def _refuse_without_async_face(graph: Any) -> None:
    """Some checkpointers are for sync runs alone, and say so with an error that has no text."""
    saver: object = graph.checkpointer
    if getattr(type(saver), "aget_tuple", None) is BaseCheckpointSaver.aget_tuple:
        raise RunError(
            f"`{type(saver).__name__}` is for sync runs only; give its sibling for event loops (as `AsyncPostgresSaver`) or a "
            "`SqliteCheckpointer`, or run the crew with `kickoff` and `resume`."
        )
