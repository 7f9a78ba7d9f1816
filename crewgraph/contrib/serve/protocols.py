"""Two more protocols over the same runs: the stream of a thread, with its commands, and MCP.

`client.threads.stream` of langgraph-sdk speaks the first: commands start runs and answer questions, and one stream of events
shows all runs of a thread, nested graphs included.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.contrib.serve.records import Records, RunRecord
from crewgraph.contrib.serve.running import HEARTBEAT
from crewgraph.contrib.serve.wire import Event, to_json
from crewgraph.schema import PlainDict, PlainMapping, is_object

STREAM_MODES = ("values", "updates", "messages-tuple", "tools", "custom", "tasks", "checkpoints")
"""The stream modes of a run that a command starts."""

_NEXT_RUN_INTERVAL = 0.2  # seconds; for the next run of a thread
_SEQUENCE = 1_000  # events in a millisecond, at most
_ROLES = {"human": "human", "system": "system", "tool": "tool"}
_PHASES = {"success": "completed", "error": "failed", "timeout": "failed", "interrupted": "interrupted"}


class EventFilter(BaseModel):
    """Which events of a thread to stream."""

    model_config = ConfigDict(extra="forbid")

    channels: list[str] = Field(min_length=1)
    namespaces: list[list[str]] | None = None
    depth: int | None = Field(None, ge=0)
    since: int = 0

    def admits(self, method: str, namespace: Sequence[str], data: Any) -> bool:
        """Return whether an event is to be sent."""
        channel = "input" if method == "input.requested" else method
        named = f"custom:{data.get('name')}" if method == "custom" else ""
        if channel not in self.channels and named not in self.channels:
            return False
        return not self.namespaces or any(self._is_below(namespace, prefix) for prefix in self.namespaces)

    def _is_below(self, namespace: Sequence[str], prefix: Sequence[str]) -> bool:
        deeper = len(namespace) - len(prefix)
        return 0 <= deeper <= (deeper if self.depth is None else self.depth) and all(
            part in (step, step.partition(":")[0]) for part, step in zip(prefix, namespace, strict=False)
        )


class Command(BaseModel):
    """A command to a thread."""

    id: int
    method: str
    params: PlainDict = Field(default_factory=dict)


def resume_of(params: PlainMapping) -> PlainDict:
    """Return the answers of an `input.respond` by the ids of their questions.

    Raises:
        KeyError: One lacks its `interrupt_id`.
    """
    answers: list[PlainMapping] = params.get("responses") or [params]
    return {answer["interrupt_id"]: answer.get("response") for answer in answers}


async def thread_events(
    records: Records,
    thread_id: str,
    wanted: EventFilter,
    events_of: Callable[[RunRecord], Awaitable[Any]],
    is_closing: Callable[[], bool],
) -> AsyncIterator[str]:
    """Yield the events of all runs of a thread, and of those to come, as server-sent events.

    Args:
        records: The records of the server.
        thread_id: The thread.
        wanted: Which events to yield.
        events_of: Returns the events of a run; None if they have expired.
        is_closing: Whether the server stops, and the stream with it.
    """
    read: set[str] = set()
    quiet_since = time.monotonic()
    while not is_closing():
        found = [run for run in await records.runs.find(thread_id=thread_id) if run.run_id not in read]
        started = [run for run in reversed(found) if run.status != "pending"]
        for run in started[:1]:
            read.add(run.run_id)
            events = await events_of(run)
            if events is None:
                continue
            began = int((events.began or run.created_at.timestamp()) * 1_000) * _SEQUENCE
            async for text in _of_run(records, run, events, began, wanted):
                yield text
            quiet_since = time.monotonic()
        if not started:
            await asyncio.sleep(_NEXT_RUN_INTERVAL)
            if time.monotonic() - quiet_since > HEARTBEAT:
                quiet_since = time.monotonic()
                yield ": heartbeat\n\n"


async def _of_run(records: Records, run: RunRecord, events: Any, began: int, wanted: EventFilter) -> AsyncIterator[str]:
    reader, number = _RunReader(run.graph_id), began

    def texts(found: Iterator[_Sent]) -> Iterator[str]:
        nonlocal number
        for one in found:
            number += 1
            if number > wanted.since and wanted.admits(one.method, one.namespace, one.data):
                params: PlainDict = {"namespace": list(one.namespace), "timestamp": time.time_ns() // 1_000_000}
                event = {"type": "event", "event_id": f"{run.run_id}:{number}", "seq": number, "method": one.method}
                params |= {"data": one.data, **one.more}
                yield f"id: {number}\nevent: {one.method}\ndata: {to_json({**event, 'params': params})}\n\n"

    for text in texts(reader.lifecycle((), "running")):
        yield text
    async for item in events.read():
        if item is None:
            yield ": heartbeat\n\n"
            continue
        for text in texts(reader.read(item[1])):
            yield text
    ended = await records.runs.get(run.run_id) or run
    for text in texts(reader.end(_PHASES.get(ended.status), ended.error)):
        yield text


class _Sent(NamedTuple):
    method: str
    namespace: tuple[str, ...]
    data: Any
    more: PlainDict


class _RunReader:
    """Turns the events of a run into those of its thread's stream."""

    def __init__(self, graph_name: str) -> None:
        self._graph_name = graph_name
        self._open: dict[tuple[str, ...], None] = {}  # the nested graphs that run
        self._asked: set[str] = set()
        self._messages: dict[tuple[Any, ...], PlainDict] = {}  # those under way, by their graph and node
        self._streamed: set[str] = set()

    def read(self, event: Event) -> Iterator[_Sent]:
        """Yield the events for one of the run."""
        mode, *steps = event.name.split("|")
        namespace, data = tuple(steps), json.loads(event.data)
        if mode in ("metadata", "error"):
            return
        for depth in range(1, len(namespace) + 1):
            if namespace[:depth] not in self._open:
                self._open[namespace[:depth]] = None
                yield from self.lifecycle(namespace[:depth], "started")
        if mode == "messages":
            yield from self._of_message(namespace, *data)
            return
        yield from self._finished(namespace)
        if mode in ("values", "updates") and is_object(data):
            yield from self._of_state(mode, namespace, data)
            return
        if mode == "checkpoints":
            places = [one["configurable"]["checkpoint_id"] for one in (data["config"], data["parent_config"]) if one]
            about = {"step": data["metadata"]["step"], "source": data["metadata"]["source"]}
            data = {**dict(zip(("id", "parent_id"), places, strict=False)), **about}
        yield _Sent(mode, namespace, {"payload": data} if mode == "custom" else data, {})
        if mode == "tasks" and "result" in data:
            yield from self._close(tuple(one for one in self._open if one[-1].endswith(f":{data['id']}")))

    def _of_state(self, mode: str, namespace: tuple[str, ...], data: PlainDict) -> Iterator[_Sent]:
        yield from self._questions(namespace, data.pop("__interrupt__", ()))
        if mode == "values":
            yield _Sent(mode, namespace, data, {})
            return
        for node, values in data.items():
            yield _Sent(mode, namespace, values if is_object(values) else {"value": values}, {"node": node})

    def end(self, phase: str | None, error: PlainMapping | None) -> Iterator[_Sent]:
        """Yield the events at the end of the run; its phase is None if the server stopped before."""
        yield from self._finished(())
        if phase is not None:
            yield from self._close(tuple(self._open))
            yield from self.lifecycle((), phase, **({} if error is None else {"error": error["message"]}))

    def lifecycle(self, namespace: tuple[str, ...], phase: str, **more: Any) -> Iterator[_Sent]:
        """Yield the event that a graph has begun or ended."""
        name = namespace[-1].partition(":")[0] if namespace else self._graph_name
        yield _Sent("lifecycle", namespace, {"event": phase, "graph_name": name, **more}, {})

    def _close(self, graphs: tuple[tuple[str, ...], ...]) -> Iterator[_Sent]:
        for namespace in reversed(graphs):
            del self._open[namespace]
            yield from self.lifecycle(namespace, "completed")

    def _questions(self, namespace: tuple[str, ...], questions: Sequence[PlainMapping]) -> Iterator[_Sent]:
        for asked in questions:
            if asked["id"] not in self._asked:
                self._asked.add(asked["id"])
                value = {"interrupt_id": asked["id"], "payload": asked["value"], "value": asked["value"]}
                yield _Sent("input.requested", namespace, value, {})

    def _of_message(self, namespace: tuple[str, ...], message: PlainDict, about: PlainMapping) -> Iterator[_Sent]:
        place, name = (namespace, about.get("langgraph_node")), str(message.get("id"))
        is_part = message["type"].endswith("Chunk")
        current = self._messages.get(place)
        if current is not None and (current["id"] != name or not is_part):
            yield from self._finish(place)
        if name in self._streamed and (current is None or current["id"] != name or not is_part):
            return  # a whole message that was streamed in parts
        if name not in self._streamed:
            self._streamed.add(name)
            start: PlainDict = {"event": "message-start", "role": _ROLES.get(message["type"], "ai"), "id": name}
            start["metadata"] = {"langgraph_node": place[1]}
            called = {"tool_call_id": message["tool_call_id"]} if "tool_call_id" in message else {}
            yield _Sent("messages", namespace, {**start, **called}, {})
            self._messages[place] = {"id": name, "text": None, "calls": {}, "usage": None}
        yield from self._added(namespace, self._messages[place], message)
        if not is_part or message.get("chunk_position") == "last":
            yield from self._finish(place)

    def _added(self, namespace: tuple[str, ...], current: PlainDict, message: PlainDict) -> Iterator[_Sent]:
        """Add a message, or a part of one, to that under way."""
        if text := _text_of(message.get("content")):
            if current["text"] is None:
                current["text"] = ""
                yield _block(namespace, "start", 0, content={"type": "text", "text": ""})
            current["text"] += text
            yield _block(namespace, "delta", 0, delta={"type": "text-delta", "text": text})
        parts = message.get("tool_call_chunks")
        for index, part in enumerate(message.get("tool_calls") or () if parts is None else parts):
            call = current["calls"].setdefault(part.get("index", index), {"id": None, "name": "", "args": ""})
            call["id"] = call["id"] or part.get("id")
            call["name"] += part.get("name") or ""
            call["args"] = part["args"] if is_object(part["args"]) else call["args"] + (part["args"] or "")
        current["usage"] = message.get("usage_metadata") or current["usage"]

    def _finished(self, namespace: tuple[str, ...]) -> Iterator[_Sent]:
        """Yield the ends of the messages in a graph and those below it, as the graph has moved on."""
        for place in [one for one in self._messages if one[0][: len(namespace)] == namespace]:
            yield from self._finish(place)

    def _finish(self, place: tuple[Any, ...]) -> Iterator[_Sent]:
        namespace, message = place[0], self._messages.pop(place)
        if message["text"] is not None:
            yield _block(namespace, "finish", 0, content={"type": "text", "text": message["text"]})
        for index, call in enumerate(message["calls"].values(), start=message["text"] is not None):
            content = {"type": "tool_call", "id": call["id"], "name": call["name"], "args": _called_with(call["args"])}
            yield _block(namespace, "start", index, content=content)
            yield _block(namespace, "finish", index, content=content)
        usage = {"usage": message["usage"]} if message["usage"] else {}
        yield _Sent("messages", namespace, {"event": "message-finish", **usage}, {})


def _block(namespace: tuple[str, ...], what: str, index: int, **more: Any) -> _Sent:
    return _Sent("messages", namespace, {"event": f"content-block-{what}", "index": index, **more}, {})


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(one if isinstance(one, str) else one.get("text") or "" for one in content or ())


def _called_with(given: Any) -> Any:
    """Return the arguments of a call, of which chunks hold JSON."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given or "{}")
    except ValueError:  # a reply that was cut off
        return {}


def mcp_server(tools: Mapping[str, tuple[str, PlainDict]], call: Callable[[str, PlainDict], Awaitable[Any]]) -> Any:
    """Return an MCP server whose tools run crews, flows and graphs.

    Args:
        tools: Their descriptions and the JSON schemas of their arguments, by name.
        call: Runs one, and returns the final values.
    """
    from mcp import types
    from mcp.server.lowlevel import Server

    made: Server[Any, Any] = Server("crewgraph")

    async def listed() -> list[types.Tool]:
        return [
            types.Tool(name=name, description=description, inputSchema=schema)
            for name, (description, schema) in tools.items()
        ]

    async def called(name: str, arguments: PlainDict) -> types.CallToolResult:
        values = await call(name, arguments)
        fault = _fault_in(values)
        given = values.get("output", values) if fault is None and is_object(values) else values
        text = fault or (given if isinstance(given, str) else to_json(given))
        content = types.TextContent(type="text", text=text)
        structured = None if fault else {"output": given}
        return types.CallToolResult(content=[content], structuredContent=structured, isError=fault is not None)

    made.list_tools()(listed)
    made.call_tool()(called)
    return made


def _fault_in(values: Any) -> str | None:
    if not is_object(values):
        return None
    if "__error__" in values:
        return values["__error__"]["message"]
    if "__interrupt__" in values:
        return (
            "the run has a question for a person, which MCP cannot pass on; run it on a thread, over the server's API"
        )
    return None
