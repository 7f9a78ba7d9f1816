"""The execution of a run: runs its graph, adds the stream to its events, and records its status.

Servers that execute runs themselves and workers share this code. A run whose process died resumes where it stopped.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from hashlib import blake2b
from typing import Any, Protocol, cast
from uuid import UUID

from langchain_core.messages import BaseMessage, BaseMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.types import Command, Send

from crewgraph.contrib.serve.records import Records, RunRecord, RunStatus, ThreadRecord
from crewgraph.contrib.serve.wire import Event, error_of, plain_json, to_json
from crewgraph.core.cancellation import ExitRequested
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.pregel import CLAIM
from crewgraph.crew import Crew
from crewgraph.errors import CompileError, RunError
from crewgraph.flow.flow import Flow
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping, is_list, is_object

_logger = redacted_logger(__name__)

_RECORD_RETRY_DELAY = 2.0  # seconds
_RUN_ID = "run_id"
_ASKED = ("__interrupt__", "__resume__")  # the channels of LangGraph for questions and answers


Target = Crew | Flow[Any] | Pregel[Any] | StateGraph[Any]
"""What can be served."""


def served_graph(target: Target, saver: "BaseCheckpointSaver[Any]") -> Any:
    """Return the graph of a target on a checkpointer. Crews and flows take conversations (`messages`) if they can.

    Raises:
        CompileError: The crew uses a feature that cannot be compiled.
    """
    if isinstance(target, StateGraph):
        return target.compile(checkpointer=saver)
    if isinstance(target, Pregel):
        return target.copy({"checkpointer": saver})
    try:
        graph: Any = target.compile(checkpointer=saver, messages=True)
    except CompileError:  # it has no place for a conversation, or the next line raises the same
        return target.compile(checkpointer=saver)
    reads_messages = "messages" in getattr(getattr(graph, "input_form", None), "placeholders", ())
    return target.compile(checkpointer=saver) if reads_messages else graph


class EventSink(Protocol):
    """Receives the events of a run."""

    values: Any
    """The final values as plain data, for readers that wait for the end of the run."""

    @property
    def attempt(self) -> int:
        """Number of times the run was started or resumed, including this one."""
        ...

    async def add(self, event: Event) -> None:
        """Add an event; readers receive it soon."""
        ...

    async def flush(self) -> None:
        """Wait until readers can receive what was added."""
        ...

    async def end(self) -> None:
        """End the stream of each reader."""
        ...


class RunExecution:
    """Executes runs, and records their status and that of their threads.

    Args:
        saver: the checkpointer of the graphs.
        records: the records.
        is_temporary: returns whether an error is not the run's fault, so that the run is to be resumed later.
        retries_records: whether a status that cannot be stored is tried again until it is, instead of raising.
    """

    def __init__(
        self,
        saver: "BaseCheckpointSaver[Any]",
        records: Records,
        is_temporary: Callable[[BaseException], bool] = lambda error: False,
        *,
        retries_records: bool = False,
    ) -> None:
        self._saver, self._records, self._is_temporary = saver, records, is_temporary
        self._retries_records = retries_records

    async def carry_out(self, graph: Any, run: RunRecord, events: EventSink, claim: ThreadClaim) -> None:
        """Execute a supervised run to its end or its next question. What the graph raises is stored with the run.

        Args:
            graph: the compiled graph.
            run: the record, whose status is updated.
            events: receives the events of the run's stream, and the values.
            claim: the claim on the run's thread; it is released.

        Raises:
            Exception: a temporary error.
        """
        try:
            await self._stream(graph, run, events, claim)
            await events.flush()
            values: Any = events.values
            interrupted = isinstance(values, dict) and "__interrupt__" in values
            if not interrupted:
                state = await graph.aget_state({"configurable": {"thread_id": run.thread_id}})
                interrupted = bool(state.next)
        except ExitRequested as exit_request:
            await self.fail(run, events, exit_request.error)
            return
        except Exception as error:  # whatever the graph raises is stored with the run
            if self._is_temporary(error):
                raise
            await self.fail(run, events, error)
            return
        await self.settle(run, "interrupted" if interrupted else "success", "interrupted" if interrupted else "idle")

    async def _stream(self, graph: Any, run: RunRecord, events: EventSink, claim: ThreadClaim) -> None:
        """Execute a run, and add the events of its stream; one whose process died is resumed: its input is in the checkpoints."""
        try:
            requested_modes, config = list(run.kwargs["stream_mode"]), _run_config(run)
            configurable: PlainDict = config.get("configurable") or {}
            at = await _position_of(self._saver, run.thread_id)
            has_begun = run.began_at is not None and run.began_at != at
            value = None if has_begun else await _input(graph, run)
            command: PlainMapping = run.kwargs.get("command") or {}
            if has_begun and run.kwargs.get("checkpoint") and command.get("resume") is not None:
                raise RunError(
                    "the server stopped after this run had given its answer at an earlier checkpoint; check the thread, and "
                    "resume it"
                )
            if has_begun:  # the run is past the checkpoint that it started at
                configurable.pop("checkpoint_id", None)
            else:
                run.began_at = at
            if not has_begun or run.status != "running":
                await self.settle(run, "running", "busy")
            config["configurable"] = {**configurable, CLAIM: claim}
            await events.add(Event("metadata", to_json({_RUN_ID: run.run_id, "attempt": events.attempt})))
            modes = {"messages" if mode == "messages-tuple" else mode for mode in requested_modes} | {"values"}
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
                graph.astream_events(value, config, version="v2", **options)
                if "events" in requested_modes
                else graph.astream(value, config, **options)
            )
            reader = _Parts(requested_modes, subgraphs=has_subgraphs, plain="events" not in requested_modes)
            async with aclosing(parts):
                async for part in parts:
                    for event in reader.read(part):
                        await events.add(event)
            events.values = plain_json(reader.values)
        finally:
            claim.close()

    async def fail(self, run: RunRecord, events: EventSink, error: Exception) -> None:
        """Record that a run has failed, and send its readers the error."""
        _logger.warning("Run %s of `%s` failed.", run.run_id, run.graph_id, exc_info=error)
        run.error = error_of(error)
        events.values = {"__error__": run.error}
        await events.add(Event("error", to_json(run.error)))
        await events.flush()
        await self.settle(run, "error", "error")

    async def interrupt(self, run: RunRecord) -> None:
        """Record that a run was cancelled."""
        # The thread of a run that never started has the status of the run before it.
        await self.settle(run, "interrupted", "idle" if run.status == "running" else None)

    async def settle(self, run: RunRecord, status: RunStatus, thread_status: Any) -> None:
        """Record the status of a run and of its thread; None keeps the thread's."""
        run.status = status
        while True:
            try:
                await self._record(run, thread_status)
                return
            except Exception as error:  # raised again, or logged and tried again
                if not self._retries_records:
                    raise
                _logger.error(
                    "Run %s of `%s` is %s, which cannot be stored; trying again in %g seconds: %s",
                    run.run_id,
                    run.graph_id,
                    status,
                    _RECORD_RETRY_DELAY,
                    error,
                )
            await asyncio.sleep(_RECORD_RETRY_DELAY)

    async def _record(self, run: RunRecord, thread_status: Any) -> None:
        await self._records.runs.put(run)
        if run.is_stateless or thread_status is None:
            return
        thread = await self._records.threads.get(run.thread_id) or ThreadRecord(thread_id=run.thread_id)
        thread.status, thread.error = thread_status, run.error
        thread.metadata |= {"graph_id": run.graph_id, "assistant_id": run.assistant_id}
        with suppress(asyncio.CancelledError):
            await self._records.threads.put(thread)

    async def refuse(self, run: RunRecord, events: EventSink, error: Exception) -> None:
        """End a run that cannot be started with an error, and its stream."""
        await self.fail(run, events, error)
        await events.end()
        await self.forget(run)

    async def forget(self, run: RunRecord) -> None:
        """Delete a run that was requested without a thread, and its thread."""
        if run.is_stateless:
            await self._saver.adelete_thread(run.thread_id)
            await self._records.threads.delete(run.thread_id)
            await self._records.runs.delete(run.run_id)


class _Parts:
    """Converts the parts of a graph's stream into the requested events."""

    def __init__(self, requested_modes: list[str], *, subgraphs: bool, plain: bool) -> None:
        self.requested_modes, self.subgraphs, self.plain = requested_modes, subgraphs, plain
        self.values: Any = None
        """The last values of the root graph."""

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
        return [Event(f"{mode}{suffix}", to_json(chunk))] if mode in self.requested_modes else []

    def _of_message(self, message: BaseMessage, metadata: PlainMapping, suffix: str) -> list[Event]:
        shown = {name: value for name, value in metadata.items() if not name.startswith("__")}
        found: list[Event] = []
        if "messages-tuple" in self.requested_modes:
            found.append(Event(f"messages{suffix}", to_json([message, shown])))
        if "messages" in self.requested_modes:
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


def _run_config(run: RunRecord) -> RunnableConfig:
    requested: PlainMapping = run.kwargs.get("config") or {}
    chosen: PlainMapping = requested.get("configurable") or {}
    checkpoint: PlainMapping = run.kwargs.get("checkpoint") or {}
    place = {name: checkpoint[name] for name in ("checkpoint_id", "checkpoint_ns") if checkpoint.get(name)}
    config: Any = {
        "tags": list(requested.get("tags") or ()),
        "metadata": {
            **run.metadata,
            _RUN_ID: run.run_id,
            "assistant_id": run.assistant_id,
            "graph_id": run.graph_id,
        },
        "configurable": {**chosen, **place, "thread_id": run.thread_id},
        "run_id": UUID(run.run_id),
    }
    if requested.get("recursion_limit"):
        config["recursion_limit"] = requested["recursion_limit"]
    return config


async def _position_of(saver: "BaseCheckpointSaver[Any]", thread_id: str) -> str:
    """Return the position of a thread: its latest checkpoint and the writes, questions and answers recorded since.

    If the position has changed since a run started, the run has already delivered its input or answer. An answer must not be
    delivered twice: the run may have asked another question since.
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
    goto: Any = command.get("goto") or []
    targets = [
        Send(one["node"], one.get("input")) if is_object(one) else one for one in (goto if is_list(goto) else [goto])
    ]
    resume = command.get("resume")
    if resume is not None and not run.kwargs.get("checkpoint"):
        resume = await _addressed(graph, run.thread_id, resume)
    return Command(resume=resume, update=command.get("update"), goto=targets)


async def _addressed(graph: Any, thread_id: str, resume: object) -> object:
    """Key an answer by the id of the open question, if there is one and the answer does not name it.

    LangGraph stores an answer without an id with the checkpoint, and would also give it to the next question of the same node
    if the graph were resumed without input: an approval would count twice.
    """
    state = await graph.aget_state({"configurable": {"thread_id": thread_id}})
    ids: list[str] = [interrupt.id for interrupt in state.interrupts]
    is_addressed = is_object(resume) and not resume.keys() - set(ids)
    return resume if len(ids) != 1 or is_addressed else {ids[0]: resume}
