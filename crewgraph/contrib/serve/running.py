"""Runs of the server: each executes its graph in a task of the event loop, and what it streams can be read from any point.

`execute_run` runs one record from its beginning, or from where a server before left it; `Runs` starts records in this process,
holds the runs of a thread apart, and keeps their events for readers.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, cast
from uuid import UUID
from weakref import WeakValueDictionary

from langchain_core.messages import BaseMessage, BaseMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, Send

from crewgraph.compiler.agent.human_review import unattended
from crewgraph.contrib.serve.records import Records, RunRecord, RunStatus, ThreadRecord
from crewgraph.contrib.serve.wire import Event, error_of, plain_json, to_json
from crewgraph.core.claims import CLAIM
from crewgraph.core.loops.bridge import in_thread
from crewgraph.errors import RunError, ThreadBusy
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.storage.claims.keepers import claim_keeper

__all__ = ["RunEvents", "Runs", "execute_run"]

_logger = redacted_logger(__name__)

_KEPT_RUNS = 200  # whose events can still be read after their end
_KEPT_EVENTS = 20_000  # of one run
_BUSY = 0.5  # seconds until a thread is claimed again that another process runs
_HEARTBEAT = 15.0  # seconds without an event after which a reader gets a sign of life
_MESSAGES = ("messages", "messages-tuple")
_RUN_ID = "run_id"
_ASKED = ("__interrupt__", "__resume__")  # the channels of LangGraph for questions and answers


async def execute_run(
    graph: Any, saver: "BaseCheckpointSaver[Any]", run: RunRecord
) -> "AsyncGenerator[Event | tuple[str, Any]]":
    """Run a record, and yield the events of its stream.

    Beside them come `("began_at", ...)`, to be kept in the record before the next is asked for, and `("values", ...)` at the
    end. A run that has begun before, in a process that died, continues: its input is in the checkpoints.

    Args:
        graph: the compiled graph.
        saver: its checkpointer.
        run: the record.

    Raises:
        ThreadBusy: another process runs the thread.
        Exception: what the graph raises.
    """
    wanted, config = list(run.kwargs["stream_mode"]), _config(run)
    claim = await in_thread(claim_keeper(saver).claim, run.thread_id)
    try:
        configurable: PlainDict = config.get("configurable") or {}
        at = await _place(saver, run.thread_id)
        has_begun = run.began_at is not None and run.began_at != at
        value = None if has_begun else await _input(graph, run)
        if has_begun and run.kwargs.get("checkpoint") and (run.kwargs.get("command") or {}).get("resume") is not None:
            raise RunError(
                "the server ended after this run had given its answer at an earlier checkpoint; look at the thread, and resume it"
            )
        if not has_begun:
            yield "began_at", at
        else:  # the checkpoint that it began at lies behind it
            configurable.pop("checkpoint_id", None)
        config["configurable"] = {**configurable, CLAIM: claim}
        yield Event("metadata", to_json({_RUN_ID: run.run_id, "attempt": 1}))
        modes = {"messages" if mode == "messages-tuple" else mode for mode in wanted} | {"values"}
        modes.discard("events")
        has_subgraphs = bool(run.kwargs.get("stream_subgraphs"))
        options: PlainDict = {
            "stream_mode": sorted(modes),
            "subgraphs": has_subgraphs,
            "interrupt_before": run.kwargs.get("interrupt_before"),
            "interrupt_after": run.kwargs.get("interrupt_after"),
            "context": run.kwargs.get("context") or None,
            "durability": run.kwargs.get("durability") or "sync",
            "output_keys": graph.output_channels,
        }
        parts = (
            _with_events(graph, value, config, options)
            if "events" in wanted
            else graph.astream(value, config, **options)
        )
        reader = _Parts(wanted, subgraphs=has_subgraphs, plain="events" not in wanted)
        async for part in parts:
            for event in reader.read(part):
                yield event
        yield "values", reader.values
    finally:
        claim.close()


async def _with_events(graph: Any, value: Any, config: RunnableConfig, options: PlainDict) -> AsyncIterator[Any]:
    async for event in graph.astream_events(value, config, version="v2", **options):
        yield event


class _Parts:
    """Reads the parts of a graph's stream, and makes the events that were asked for."""

    def __init__(self, wanted: list[str], *, subgraphs: bool, plain: bool) -> None:
        self.wanted, self.subgraphs, self.plain = wanted, subgraphs, plain
        self.values: Any = None
        """The last values of the graph itself."""

        self._messages: dict[str, BaseMessage] = {}

    def read(self, part: Any) -> list[Event]:
        """Return the events of a part."""
        if self.plain:
            return self._of_chunk(part)
        found: list[Event] = []
        name, data = part["event"], part["data"]
        if name == "on_chain_stream" and not part.get("parent_ids") and isinstance(data.get("chunk"), tuple):
            found = self._of_chunk(data["chunk"])
        return [*found, Event("events", to_json(part))]

    def _of_chunk(self, part: Sequence[Any]) -> list[Event]:
        *steps, mode, chunk = part
        namespace: tuple[str, ...] = tuple(steps[0]) if steps else ()
        if mode == "values" and not namespace:
            self.values = chunk
        suffix = "".join(f"|{step}" for step in namespace)
        if mode == "messages":
            message, metadata = chunk
            return self._of_message(message, metadata, suffix)
        return [Event(f"{mode}{suffix}", to_json(chunk))] if mode in self.wanted else []

    def _of_message(self, message: BaseMessage, metadata: PlainMapping, suffix: str) -> list[Event]:
        shown = {name: value for name, value in metadata.items() if not name.startswith("__")}
        found: list[Event] = []
        if "messages-tuple" in self.wanted:
            found.append(Event(f"messages{suffix}", to_json([message, shown])))
        if "messages" in self.wanted:
            name = str(message.id)
            if name not in self._messages:
                found.append(Event(f"messages/metadata{suffix}", to_json({name: {"metadata": shown}})))
            before = self._messages.get(name)
            is_part = isinstance(message, BaseMessageChunk)
            if is_part and isinstance(before, BaseMessageChunk):
                message = cast("BaseMessage", before + message)
            self._messages[name] = message
            found.append(Event(f"messages/{'partial' if is_part else 'complete'}{suffix}", to_json([message])))
        return found


def _config(run: RunRecord) -> RunnableConfig:
    given: PlainMapping = run.kwargs.get("config") or {}
    chosen: PlainMapping = given.get("configurable") or {}
    checkpoint: PlainMapping = run.kwargs.get("checkpoint") or {}
    place = {name: checkpoint[name] for name in ("checkpoint_id", "checkpoint_ns") if checkpoint.get(name)}
    config: Any = {
        "tags": list(given.get("tags") or ()),
        "metadata": {
            **run.metadata,
            _RUN_ID: run.run_id,
            "assistant_id": run.assistant_id,
            "graph_id": run.graph_id,
        },
        "configurable": {**chosen, **place, "thread_id": run.thread_id},
        "run_id": UUID(run.run_id),
    }
    if given.get("recursion_limit"):
        config["recursion_limit"] = given["recursion_limit"]
    return config


async def _place(saver: "BaseCheckpointSaver[Any]", thread_id: str) -> str:
    """Return where a thread is: its latest checkpoint, and what was recorded, asked and answered since.

    A run that was begun and finds its thread elsewhere has given its input, or its answer, already. An answer must not be given
    twice: the run may have asked another question since.
    """
    latest = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    if latest is None:
        return ""
    writes = [
        (task, channel, to_json(value) if channel in _ASKED else "")
        for task, channel, value in latest.pending_writes or ()
    ]
    digest = blake2b(to_json(sorted(writes)).encode(), digest_size=16).hexdigest()
    return f"{latest.checkpoint['id']}:{digest}"


async def _input(graph: Any, run: RunRecord) -> Any:
    """Return the input of the graph."""
    command: PlainMapping | None = run.kwargs.get("command")
    if command is None:
        return run.kwargs.get("input")
    goto: Any = command.get("goto") or ()
    targets = [_target(one) for one in (goto if isinstance(goto, (list, tuple)) else [goto])]  # pyright: ignore[reportUnknownVariableType]
    resume = command.get("resume")
    if resume is not None and not run.kwargs.get("checkpoint"):
        resume = await _addressed(graph, run.thread_id, resume)
    return Command(resume=resume, update=command.get("update"), goto=targets)


async def _addressed(graph: Any, thread_id: str, resume: object) -> object:
    """Return an answer under the id of the question that is open, if there is one and the answer does not name it.

    LangGraph keeps an answer without an id with the checkpoint, and would give it to the next question of the same node, too,
    if the graph went on without input: an approval would count twice.
    """
    state = await graph.aget_state({"configurable": {"thread_id": thread_id}})
    ids: list[str] = [interrupt.id for interrupt in state.interrupts]
    is_addressed = isinstance(resume, dict) and not cast("PlainMapping", resume).keys() - set(ids)
    return cast("object", resume) if len(ids) != 1 or is_addressed else {ids[0]: cast("object", resume)}


def _target(target: Any) -> Any:
    return Send(target["node"], target.get("input")) if isinstance(target, dict) else target  # pyright: ignore[reportUnknownArgumentType]


class RunEvents:
    """The events of a run, for any number of readers."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._changed = asyncio.Condition()
        self.is_over = False
        self.values: Any = None

    async def add(self, event: Event) -> None:
        """Add an event; the readers get it."""
        async with self._changed:
            if len(self._events) < _KEPT_EVENTS:
                self._events.append(event)
            self._changed.notify_all()

    @property
    def has_begun(self) -> bool:
        """Whether there was an event."""
        return bool(self._events)

    async def end(self) -> None:
        """Let the readers end."""
        async with self._changed:
            self.is_over = True
            self._changed.notify_all()

    async def wait(self) -> None:
        """Wait for the end of the run."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.is_over)

    async def read(self, after: int = 0) -> AsyncIterator[tuple[int, Event] | None]:
        """Yield the events after a number, with their numbers, until the run ends; None when nothing happens for a while."""
        position = after
        while True:
            while position < len(self._events):
                position += 1
                yield position, self._events[position - 1]
            if self.is_over:
                return
            if not await self._has_changed(position):
                yield None

    async def _has_changed(self, position: int) -> bool:
        """Wait a while for an event after a position, or the end; return whether one came."""
        try:
            async with asyncio.timeout(_HEARTBEAT), self._changed:
                await self._changed.wait_for(lambda: self.is_over or position < len(self._events))
        except TimeoutError:
            return False
        return True


class Runs:
    """The runs under way in this process."""

    def __init__(
        self, graphs: Mapping[str, Any], saver: "BaseCheckpointSaver[Any]", records: Records, concurrency: int
    ) -> None:
        self._graphs, self._saver, self._records = graphs, saver, records
        self._slots = asyncio.Semaphore(concurrency)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._events: OrderedDict[str, RunEvents] = OrderedDict()
        # A lock per thread, there as long as a run of the thread holds it or waits for it.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._cancelled: set[str] = set()
        self._closing: asyncio.Task[None] | None = None

    def start(self, run: RunRecord, delay: float = 0) -> RunEvents:
        """Begin a run, after those of its thread that were begun before."""
        events = self._events[run.run_id] = RunEvents()
        while len(self._events) > _KEPT_RUNS and next(iter(self._events.values())).is_over:
            self._events.popitem(last=False)
        self._tasks[run.run_id] = asyncio.create_task(self._play(run, events, delay), name=f"run {run.run_id}")
        return events

    @property
    def is_closing(self) -> bool:
        """Whether no further runs are begun."""
        return self._closing is not None

    def events(self, run_id: str) -> RunEvents | None:
        """Return the events of a run; None if it has been too long since its end."""
        return self._events.get(run_id)

    def open_of(self, thread_id: str, runs: Mapping[str, str]) -> list[str]:
        """Return those of some runs, by id with their threads, that are under way or wait in a thread."""
        return [run_id for run_id, thread in runs.items() if thread == thread_id and run_id in self._tasks]

    @property
    def under_way(self) -> list[str]:
        """The ids of the runs that have not ended, in the order of their start."""
        return list(self._tasks)

    async def cancel(self, run_id: str, wait: bool = True) -> bool:
        """Stop a run after what is under way in it; return whether it was there to be stopped."""
        task = self._tasks.get(run_id)
        if task is None:
            return False
        self._cancelled.add(run_id)
        task.cancel()
        if wait:
            await asyncio.wait([task])
        return True

    async def close(self, patience: float) -> None:
        """Stop all runs after what is under way in them; they stay open, for the next server.

        May be called by several at once: each returns when the runs have stopped.

        Args:
            patience: The seconds that this may take; what takes longer is left behind.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._stop_all(patience))
        await asyncio.shield(self._closing)

    async def _stop_all(self, patience: float) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=patience)
        for events in self._events.values():
            await events.end()

    async def _play(self, run: RunRecord, events: RunEvents, delay: float) -> None:
        turn = self._turns.get(run.thread_id)
        if turn is None:
            turn = self._turns[run.thread_id] = asyncio.Lock()
        try:
            if delay:
                await asyncio.sleep(delay)
            async with turn:
                while not await self._carry_out(run, events):
                    await asyncio.sleep(_BUSY)
        except asyncio.CancelledError:
            if self.is_closing and run.run_id not in self._cancelled:
                return
            # The thread of a run that only waited is that of the run before it.
            await self._settle(run, "interrupted", "idle" if run.status == "running" else None)
        finally:
            self._tasks.pop(run.run_id, None)
            self._cancelled.discard(run.run_id)
            await events.end()
            if run.is_stateless and not self.is_closing:
                await self._saver.adelete_thread(run.thread_id)
                await self._records.threads.delete(run.thread_id)

    async def _carry_out(self, run: RunRecord, events: RunEvents) -> bool:
        """Carry out a run; return False if nothing was done, because another process runs the thread."""
        try:
            async with self._slots:
                with unattended():
                    async for item in execute_run(self._graphs[run.graph_id], self._saver, run):
                        if run.status != "running":
                            await self._settle(run, "running", "busy")
                        if isinstance(item, Event):
                            await events.add(item)
                        elif item[0] == "began_at":
                            run.began_at = item[1]
                            await self._records.runs.put(run)
                        else:
                            events.values = plain_json(item[1])
        except Exception as error:
            if isinstance(error, ThreadBusy) and not events.has_begun:
                return False
            _logger.warning("Run %s of `%s` failed.", run.run_id, run.graph_id, exc_info=error)
            run.error = error_of(error)
            events.values = {"__error__": run.error}
            await events.add(Event("error", to_json(run.error)))
            await self._settle(run, "error", "error")
            return True
        values: Any = events.values
        interrupted = isinstance(values, dict) and "__interrupt__" in values or await self._is_stopped(run)
        await self._settle(run, "interrupted" if interrupted else "success", "interrupted" if interrupted else "idle")
        return True

    async def _is_stopped(self, run: RunRecord) -> bool:
        state = await self._graphs[run.graph_id].aget_state({"configurable": {"thread_id": run.thread_id}})
        return bool(state.next)

    async def _settle(self, run: RunRecord, status: RunStatus, thread_status: Any) -> None:
        """Keep the status of a run, and that of its thread; None leaves the thread's."""
        run.status = status
        await self._records.runs.put(run)
        if run.is_stateless or thread_status is None:
            return
        thread = await self._records.threads.get(run.thread_id) or ThreadRecord(thread_id=run.thread_id)
        thread.status, thread.error = thread_status, run.error
        thread.metadata |= {"graph_id": run.graph_id, "assistant_id": run.assistant_id}
        with suppress(asyncio.CancelledError):
            await self._records.threads.put(thread)
