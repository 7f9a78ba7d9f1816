"""The I/O of a run as operations, so that one program serves `kickoff` and `akickoff`."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, contextmanager
from contextvars import Token, copy_context
from typing import TYPE_CHECKING, Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import (
    ensure_config,
    merge_configs,
    var_child_runnable_config,
)
from langgraph.config import get_stream_writer
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Interrupt

from crewgraph.compiler.surroundings import AROUND, RunNotes
from crewgraph.core.cancellation import Cancellation
from crewgraph.core.current import CURRENT, RunResources
from crewgraph.core.loops.threads import interrupt_in, is_interrupted
from crewgraph.core.operations import Do, Operation, Program, adrive, drive, require_async_methods
from crewgraph.core.pregel import callers_values, shared_runtime
from crewgraph.errors import HookAborted
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.stream_context import LISTENING
from crewgraph.runtime.runs.metadata import without_labels
from crewgraph.runtime.runs.retention import Retention
from crewgraph.scoped import give_back, scoped
from crewgraph.tracebacks import note_once, shorten_tracebacks

if TYPE_CHECKING:
    from crewgraph.runtime.streaming.watched import Audience


T = TypeVar("T")

_Graph = CompiledStateGraph[Any]


class _Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run; the text says how to continue it."""


def is_resumable(error: BaseException, saver: object) -> bool:
    """Whether a stored run that an error ended can be resumed, once the cause of the error is gone."""
    if isinstance(error, HookAborted) and error.has_happened:
        return False
    return not getattr(saver, "is_lost", False) and _saver_advice(error) is None


def resume_advice(resume: str | None) -> str:
    """Return what to say of a run that was interrupted: the call that continues it, or, for None, that it was not stored."""
    return "its progress was not stored" if resume is None else f"its progress is stored, and `{resume}` continues it"


def interruption(error: BaseException, run: str, advice: str) -> BaseException | None:
    """Return the exception to raise if Ctrl-C ended a run, else None.

    Args:
        error: the exception that ended the run.
        run: the run, for the message.
        advice: how to continue, as from `resume_advice`; empty if the caller says it.
    """
    text = f"{run} was interrupted; {advice}" if advice else f"{run} was interrupted"
    if isinstance(interrupt_in(error), KeyboardInterrupt):
        return _Interrupted(text)
    return asyncio.CancelledError(text) if isinstance(error, asyncio.CancelledError) and is_interrupted() else None


def explain(error: BaseException) -> None:
    """Let an error that ends a user's run say what to do, without internal frames; raise one message in place of a Ctrl-C."""
    if isinstance(error, _Interrupted):
        # Only for exactly this class does Python end the process by the signal, as shells expect.
        interrupt = KeyboardInterrupt(str(error))
        for note in getattr(error, "__notes__", ()):
            interrupt.add_note(note)
        raise interrupt from None
    if isinstance(error, asyncio.CancelledError) and is_interrupted():
        raise asyncio.CancelledError(*error.args) from None
    if (advice := _saver_advice(error)) is not None:
        note_once(error, advice)
    if _READ_ONLY in (getattr(error, "sqlstate", None), getattr(error.__cause__, "sqlstate", None)):
        note_once(error, "the database takes no writes, as a standby does: connect to its primary, or make it writable")
    shorten_tracebacks(error)


_READ_ONLY = "25006"
"""PostgreSQL's code of an error: a statement would write in a read-only transaction."""


def _saver_advice(error: BaseException) -> str | None:
    """Return what to do if an error says that a checkpointer of LangGraph cannot be used as it is, else None."""
    if type(error).__name__ == "UndefinedTable" and '"checkpoint' in str(error):  # not a table that a tool looks for
        return "the database has no tables for checkpoints: call `setup()` of the checkpointer once"
    if isinstance(error, asyncio.InvalidStateError) and "Synchronous calls to Async" in str(error):
        return "an asynchronous checkpointer runs on an event loop: use `await crew.akickoff()`, or a synchronous checkpointer"
    return None


def interruptibly(program: Program[T]) -> Program[T]:
    """Run a program, which Ctrl-C can interrupt; see `explain`."""
    try:
        return (yield from program)
    except GeneratorExit:
        raise
    except BaseException as error:
        explain(error)
        raise


def run_interruptibly(program: Program[T]) -> T:
    """Run a program, which Ctrl-C can interrupt; see `explain`."""
    try:
        return drive(program)
    except BaseException as error:
        explain(error)
        raise


async def arun_interruptibly(program: Program[T]) -> T:
    """Run a program on this event loop; see `run_interruptibly`."""
    try:
        return await adrive(program)
    except GeneratorExit:
        raise
    except BaseException as error:
        explain(error)
        raise


def configured(config: RunnableConfig | None, program: Program[T]) -> Program[T]:
    """Run a program that starts a run with the caller's config. Nested runs do not see it."""
    if config is None:
        return (yield from program)
    reply: Any = None
    step: Callable[[Any], Operation] = program.send
    while True:
        try:
            with scoped(AROUND, AROUND.get()._replace(config=config)):
                operation = step(reply)
        except StopIteration as stop:
            return stop.value
        try:
            reply, step = (yield operation), program.send
        except GeneratorExit:
            program.close()
            raise
        except BaseException as error:  # noqa: BLE001 - thrown into the program, which decides
            reply, step = error, program.throw


def with_run_config(own: RunnableConfig) -> RunnableConfig:
    """Return the config of a run's graph merged with the caller's, if any."""
    run_config = AROUND.get().config
    if run_config is None:
        return own
    config: RunnableConfig = {**own, "run_name": run_config.get("run_name") or own.get("run_name", "")}
    callbacks = run_config.get("callbacks")
    if callbacks is not None:
        around = ensure_config().get("callbacks")
        is_inherited = callbacks is around or around is None
        both: RunnableConfig = {} if is_inherited else merge_configs({"callbacks": around}, {"callbacks": callbacks})
        config["callbacks"] = callbacks if is_inherited else both.get("callbacks")
    config["tags"] = [*own.get("tags", ()), *(run_config.get("tags") or ())]
    config["metadata"] = {**(run_config.get("metadata") or {}), **own.get("metadata", {})}
    # A config completed by LangChain holds LangChain's default; a crew computes its own step limit.
    config["recursion_limit"] = max(own.get("recursion_limit", 0), run_config.get("recursion_limit") or 0)
    if (most := run_config.get("max_concurrency")) is not None:
        config["max_concurrency"] = most
    config["configurable"] = {**callers_values(run_config.get("configurable") or {}), **own.get("configurable", {})}
    return config


def wait_for_listeners() -> Program[None]:
    """Wait until the asynchronous listeners have handled all events."""

    def wait() -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            crewai_event_bus.flush()
        # Inside a running loop (a notebook's cell) the listeners run on that loop, after this call.

    if crewai_event_bus.has_pending:
        yield Do(wait, crewai_event_bus.aflush)


class Run(Operation):
    """Runs a graph; collects what its nodes wrote, by channel, and the questions it stopped at.

    Updates are collected as they arrive, because reading the whole state after each step would slow steps down with the
    number of tasks. A run inside a node that reruns (`again`) may be partly done; that part is in its first values.
    `channels` are the channels to collect, if not the graph's output.
    """

    def __init__(
        self,
        graph: _Graph,
        graph_input: object,
        config: RunnableConfig,
        *,
        durability: str | None,
        detached: bool,
        again: bool = False,
        notes: RunNotes | None = None,
        retention: Retention | None = None,
        channels: Sequence[str] | None = None,
        resources: RunResources | None = None,
    ) -> None:
        around = var_child_runnable_config.get()
        if detached and around is not None:
            config = {**config, "configurable": {**shared_runtime(around), **(config.get("configurable") or {})}}
        self.written: dict[str, object] = {}
        self.graph, self.graph_input, self.config, self.detached = graph, graph_input, config, detached
        self._resources = resources
        self.retention = retention
        self.options: dict[str, Any] = {
            "stream_mode": ["updates", "values"] if again else ["updates"],
            "output_keys": channels or graph.output_channels,  # the run's output in the trace, too
        }
        if durability is not None:
            self.options["durability"] = durability
        self.notes = notes
        self.questions: list[Interrupt] = []
        self._place: tuple[str, ...] | None = None
        self._cancellation = Cancellation()
        self.reported = CURRENT.get().reported
        """The notifications that must not be repeated; see `crewgraph.core.current`."""

    def run(self) -> "Run":
        copy_context().run(self._stream)
        return self

    async def arun(self) -> "Run":
        require_async_methods(self.graph.checkpointer)
        write_outer = _writer()
        options = self.options if write_outer is None else self._custom_options
        tokens = self._enter()
        try:
            async with aclosing(cast("Any", self.graph.astream(self.graph_input, self.config, **options))) as steps:
                async for streamed in steps:
                    if (trim := self._gather(streamed, write_outer)) is not None:
                        await trim.arun()
        finally:
            give_back(*tokens)
        return self

    def _stream(self) -> None:
        write_outer = _writer()
        options = self.options if write_outer is None else self._custom_options
        self._cancellation.begin()  # and nothing is given back: this context ends with the run
        self._enter()
        for streamed in self.graph.stream(self.graph_input, self.config, **options):
            if (trim := self._gather(streamed, write_outer)) is not None:
                trim.run()

    def parts(self, audience: "Audience") -> Generator[object]:
        """Run and yield the data of the custom stream as it is written."""
        write_outer = _writer()
        steps: Any = self.graph.stream(self.graph_input, self.config, **self._custom_options)
        try:
            while True:
                written: list[object] = []
                with self._watched(audience):
                    streamed = next(steps, None)
                    if streamed is None:
                        return
                    if (trim := self._gather(streamed, written.append)) is not None:
                        trim.run()
                yield from _routed_items(written, audience, write_outer)
        except GeneratorExit:
            audience.leave()  # before waiting for the nodes that are still running
            raise
        finally:
            with self._watched(audience):
                steps.close()

    async def aparts(self, audience: "Audience") -> AsyncGenerator[object]:
        """Async version of `parts`."""
        require_async_methods(self.graph.checkpointer)
        write_outer = _writer()
        steps: Any = self.graph.astream(self.graph_input, self.config, **self._custom_options)
        try:
            while True:
                written: list[object] = []
                with self._watched(audience):
                    streamed = await anext(steps, None)
                    if streamed is None:
                        return
                    if (trim := self._gather(streamed, written.append)) is not None:
                        await trim.arun()
                for item in _routed_items(written, audience, write_outer):
                    yield item
        except GeneratorExit:
            audience.leave()
            raise
        finally:
            with self._watched(audience):
                await steps.aclose()

    @contextmanager
    def _watched(self, audience: "Audience") -> Generator[None]:
        """Enclose a step of the run; the surrounding context is restored before the reader's code continues."""
        with audience.listening():
            tokens = self._enter()
            try:
                yield
            finally:
                give_back(*tokens)

    def _enter(self) -> tuple[Token[Any], ...]:
        """Give the code of the graph the run's notes, resources and config; return the tokens for `give_back`."""
        config: Any = var_child_runnable_config.get()
        if self.detached and config is not None:
            # A separate run inside a node of a user's graph must not use that node's checkpoint.
            config = {key: value for key, value in config.items() if key != "configurable"}
            config["metadata"] = without_labels(config.get("metadata") or {})
        # Without resources, each node closes its own.
        here = CURRENT.get()
        current = here._replace(reported=self.reported, resources=self._resources or here.resources)
        return (
            AROUND.set(AROUND.get()._replace(notes=self.notes)),
            var_child_runnable_config.set(config),
            CURRENT.set(current),
        )

    @property
    def _custom_options(self) -> dict[str, Any]:
        # Without `subgraphs`, LangGraph throws away what the steps of a task write.
        return {**self.options, "stream_mode": [*self.options["stream_mode"], "custom"], "subgraphs": True}

    def _is_own(self, place: tuple[str, ...]) -> bool:
        """Whether an update comes from this graph. Graphs inside it stream first, from deeper namespaces."""
        if self._place is None or len(place) < len(self._place):
            self._place = place
            self.written.clear()
            self.questions.clear()
        return place == self._place

    def _gather(self, streamed: Any, written: Callable[[object], None] | None) -> Operation | None:
        """Collect what was streamed; return the removal of older checkpoints that is due."""
        *inside, mode, update = streamed
        if mode == "custom":
            if written is not None:
                written(update)
            return None
        if inside and not self._is_own(inside[0]):
            return None
        if mode == "values":
            self.written.update({name: value for name, value in update.items() if not name.startswith("__")})
            return None
        for source, values in update.items():
            if source == "__interrupt__":
                self.questions.extend(values)
            elif values and source != "__metadata__":
                self.written.update(values)
        return None if self.retention is None else self.retention.stepped()


def _writer() -> Callable[[object], None] | None:
    """Return the custom stream writer of the enclosing run, if it has a reader."""
    if not LISTENING.get().sinks:
        return None
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # no enclosing run
        return None
    config = var_child_runnable_config.get()

    # LangGraph takes the config of the code that writes, which may be detached from the enclosing run.
    def write_outer(data: object) -> None:
        with scoped(var_child_runnable_config, config):
            write(data)

    return write_outer


def _routed_items(
    written: list[object], audience: "Audience", write_outer: Callable[[object], None] | None
) -> Generator[object]:
    """Yield the items for the reader; pass the rest to the enclosing run."""
    for item in written:
        if audience.accepts(item):
            yield item
        elif write_outer is not None:
            write_outer(item)
