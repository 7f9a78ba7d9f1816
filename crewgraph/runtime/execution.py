"""The I/O of a run as operations, so that one program serves `kickoff` and `akickoff`."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.graph.state import CompiledStateGraph

from crewgraph.compiler.task.events import NOTES, RunNotes
from crewgraph.core.loops.bridge import acall, call
from crewgraph.core.operations import Operation
from crewgraph.core.resources import RunResources
from crewgraph.errors import RunError
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.stream_context import SINKS
from crewgraph.runtime.runs.metadata import without_labels
from crewgraph.runtime.runs.retention import Retention, Trim
from crewgraph.runtime.streaming.audience import Audience

__all__ = ["CallBack", "ReadState", "Run", "WaitForListeners", "refuse_without_async_face"]


_Graph = CompiledStateGraph[Any]


class CallBack(Operation):
    """Calls a user's function, sync or async."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self.function, self.args = function, args

    def run(self) -> Any:
        return call(self.function, *self.args)

    async def arun(self) -> object:
        return await acall(self.function, *self.args)


class ReadState(Operation):
    """Reads the state of a thread."""

    def __init__(self, graph: _Graph, config: RunnableConfig) -> None:
        self.graph, self.config = graph, config

    def run(self) -> object:
        return self.graph.get_state(self.config)

    async def arun(self) -> object:
        refuse_without_async_face(self.graph.checkpointer)
        return await self.graph.aget_state(self.config)


class WaitForListeners(Operation):
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
    """Runs a graph; collects what its nodes wrote, by channel, and the questions it stopped at.

    The updates are gathered as they come, for reading the whole state after each step would make steps slower the more
    tasks there are. A run inside a node that runs again (`again`) may have done a part before: that part comes with the
    values it begins with. `channels` are those that are gathered where they are not the graph's output.
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
        retention: Retention | None = None,
        channels: Sequence[str] | None = None,
        opened: RunResources | None = None,
    ) -> None:
        self.graph, self.given, self.config, self.detached = graph, given, config, detached
        self._opened = opened
        self.retention = retention
        self.options: dict[str, Any] = {
            "stream_mode": ["updates", "values"] if again else ["updates"],
            "output_keys": channels or graph.output_channels,  # the run's output in the trace, too
        }
        if durability is not None:
            self.options["durability"] = durability
        self.notes = notes
        self.written: dict[str, object] = {}
        self.questions: list[Any] = []
        self._place: tuple[str, ...] | None = None

    def run(self) -> "Run":
        copy_context().run(self._played)
        return self

    async def arun(self) -> "Run":
        refuse_without_async_face(self.graph.checkpointer)
        up = _writer()
        before, notes = var_child_runnable_config.get(), NOTES.set(self.notes)
        self._apart()
        try:
            with self._sharing():
                async for streamed in self.graph.astream(
                    self.given, self.config, **self._options(custom=up is not None)
                ):
                    self._gather(streamed, up)
                    if (trim := self._due()) is not None:
                        await trim.arun()
        finally:
            var_child_runnable_config.set(before)
            NOTES.reset(notes)
        return self

    def _played(self) -> None:
        up = _writer()
        NOTES.set(self.notes)
        self._apart()
        with self._sharing():
            for streamed in self.graph.stream(self.given, self.config, **self._options(custom=up is not None)):
                self._gather(streamed, up)
                if (trim := self._due()) is not None:
                    trim.run()

    def parts(self, audience: Audience) -> Generator[object]:
        """Run, and give what is written to the custom stream, as it is written."""
        up = _writer()
        steps: Any = self.graph.stream(self.given, self.config, **self._options(custom=True))
        try:
            while True:
                written: list[object] = []
                with self._watched(audience):
                    streamed = next(steps, None)
                    if streamed is None:
                        return
                    self._gather(streamed, written.append)
                    if (trim := self._due()) is not None:
                        trim.run()
                yield from _sorted(written, audience, up)
        except GeneratorExit:
            audience.leave()  # before the nodes that still work are waited for
            raise
        finally:
            with self._watched(audience):
                steps.close()

    async def aparts(self, audience: Audience) -> AsyncGenerator[object]:
        """Async face of `parts`."""
        refuse_without_async_face(self.graph.checkpointer)
        up = _writer()
        steps: Any = self.graph.astream(self.given, self.config, **self._options(custom=True))
        try:
            while True:
                written: list[object] = []
                with self._watched(audience):
                    streamed = await anext(steps, None)
                    if streamed is None:
                        return
                    self._gather(streamed, written.append)
                    if (trim := self._due()) is not None:
                        await trim.arun()
                for item in _sorted(written, audience, up):
                    yield item
        except GeneratorExit:
            audience.leave()
            raise
        finally:
            with self._watched(audience):
                await steps.aclose()

    @contextmanager
    def _watched(self, audience: Audience) -> Generator[None]:
        """Enclose a step of the run; the surrounding context is restored before the reader's code continues."""
        before, notes = var_child_runnable_config.get(), NOTES.get()
        with audience.listening(), self._sharing():
            NOTES.set(self.notes)
            self._apart()
            try:
                yield
            finally:
                var_child_runnable_config.set(before)
                NOTES.set(notes)  # not by a token: a generator may go on in another context

    def _sharing(self) -> AbstractContextManager[None]:
        """Share the run's resources, if it has any; otherwise each node closes its own."""
        return nullcontext() if self._opened is None else self._opened.used()

    def _options(self, *, custom: bool) -> dict[str, Any]:
        if not custom:
            return self.options
        # Without `subgraphs`, LangGraph throws away what the steps of a task write.
        return {**self.options, "stream_mode": [*self.options["stream_mode"], "custom"], "subgraphs": True}

    def _apart(self) -> None:
        # A run of its own inside a node of somebody's graph must not take that node's checkpoint for its own.
        config = var_child_runnable_config.get()
        if self.detached and config is not None:
            kept: Any = {key: value for key, value in config.items() if key != "configurable"}
            kept["metadata"] = without_labels(config.get("metadata") or {})
            var_child_runnable_config.set(kept)

    def _due(self) -> Trim | None:
        return None if self.retention is None else self.retention.due()

    def _own(self, place: tuple[str, ...]) -> bool:
        """Whether an update comes from this graph. Graphs inside it stream first, from deeper namespaces."""
        if self._place is None or len(place) < len(self._place):
            self._place = place
            self.written.clear()
            self.questions.clear()
        return place == self._place

    def _gather(self, streamed: Any, written: Callable[[Any], None] | None) -> None:
        *inside, mode, update = streamed
        if mode == "custom":
            if written is not None:
                written(update)
            return
        if inside and not self._own(inside[0]):
            return
        if mode == "values":
            self.written.update({name: value for name, value in update.items() if not name.startswith("__")})
            return
        if self.retention is not None:
            self.retention.stepped()
        for source, values in update.items():
            if source == "__interrupt__":
                self.questions.extend(values)
            elif values and source != "__metadata__":
                self.written.update(values)


def _writer() -> Callable[[object], None] | None:
    """Return the custom stream writer of the enclosing run, if anybody reads it."""
    if not SINKS.get():
        return None
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # there is none
        return None
    around = var_child_runnable_config.get()

    def up(
        data: object,
    ) -> None:  # LangGraph looks at the config of the code that writes, which may have been set apart
        before = var_child_runnable_config.get()
        var_child_runnable_config.set(around)
        try:
            write(data)
        finally:
            var_child_runnable_config.set(before)

    return up


def _sorted(written: list[object], audience: Audience, up: Callable[[object], None] | None) -> Generator[object]:
    """Yield the items for the reader; pass the rest to the enclosing run."""
    for item in written:
        if audience.accepts(item):
            yield item
        elif up is not None:
            up(item)


def refuse_without_async_face(saver: Any) -> None:
    """Some checkpointers are for sync runs alone, and say so with an error that has no text."""
    one: object = saver
    if getattr(type(one), "aget_tuple", None) is BaseCheckpointSaver.aget_tuple:
        raise RunError(
            f"`{type(one).__name__}` is for sync runs only; give its sibling for event loops (as `AsyncPostgresSaver`) or a "
            "`SqliteCheckpointer`, or run the crew with `kickoff` and `resume`."
        )
