"""The queues between a streaming run and its consumer, for programs that stream their own data."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, NamedTuple, TypedDict, TypeVar
from uuid import uuid4

from crewgraph.definitions.chunks import (
    CrewStreamingOutput,
    FlowStreamingOutput,
    StreamChunk,
    StreamChunkType,
    ToolCallChunk,
)
from crewgraph.events import BaseEvent, LLMStreamChunkEvent
from crewgraph.events.frames import AsyncStreamSession, Ended, StreamFrame, StreamSession, frame_of
from crewgraph.events.stream_context import SINKS
from crewgraph.scoped import scoped

__all__ = [
    "FrameStreamingState",
    "StreamingState",
    "TaskInfo",
    "create_async_chunk_generator",
    "create_async_frame_generator",
    "create_chunk_generator",
    "create_frame_generator",
    "create_frame_streaming_state",
    "create_streaming_state",
    "register_cleanup",
    "signal_end",
    "signal_error",
]

T = TypeVar("T")
_Sink = Callable[[Any, BaseEvent], None]
_Output = CrewStreamingOutput | FlowStreamingOutput


class TaskInfo(TypedDict):
    """The task that chunks belong to."""

    index: int
    name: str
    id: str
    agent_role: str
    agent_id: str


class StreamingState(NamedTuple):
    """A stream of chunks: its task and its queue."""

    current_task_info: TaskInfo
    result_holder: list[Any]
    sync_queue: "queue.Queue[StreamChunk | None | Exception]"
    async_queue: "asyncio.Queue[StreamChunk | None | Exception] | None"
    loop: asyncio.AbstractEventLoop | None
    handler: _Sink
    stream_id: str | None = None


class FrameStreamingState(NamedTuple):
    """A stream of frames: its queue."""

    result_holder: list[Any]
    sync_queue: "queue.Queue[StreamFrame | None | Exception]"
    async_queue: "asyncio.Queue[StreamFrame | None | Exception] | None"
    loop: asyncio.AbstractEventLoop | None
    sink: _Sink


def create_streaming_state(
    current_task_info: TaskInfo, result_holder: list[Any], use_async: bool = False
) -> StreamingState:
    """Create the queue that receives answer chunks until its generator ends.

    Args:
        current_task_info: the task of the chunks; read for each chunk.
        result_holder: receives the result of the streamed function.
        use_async: whether they are consumed on the running event loop.
    """
    queues: tuple[Any, Any, Any] = _queues(use_async)
    handler = partial(_chunk_put, queues, current_task_info)
    return StreamingState(current_task_info, result_holder, *queues, handler, str(uuid4()))


def create_frame_streaming_state(result_holder: list[Any], use_async: bool = False) -> FrameStreamingState:
    """Create the queue that receives frames until its generator ends; the streamed result goes into the holder."""
    queues: tuple[Any, Any, Any] = _queues(use_async)
    return FrameStreamingState(result_holder, *queues, partial(_frame_put, queues))


def signal_end(state: StreamingState, is_async: bool = False) -> None:
    """Signal the end of the stream; `is_async` must match the `use_async` of the stream."""
    _put(_of(state, is_async), None)


def signal_error(state: StreamingState, error: Exception, is_async: bool = False) -> None:
    """Signal an error, which the consumer of the stream receives as an exception."""
    _put(_of(state, is_async), error)


def create_chunk_generator(
    state: StreamingState, run_func: Callable[[], Any], output_holder: list[_Output]
) -> Iterator[StreamChunk]:
    """Yield answer chunks while a function runs in a thread; the function ends them with `signal_end`.

    Args:
        state: the stream.
        run_func: the function, which puts its result into the state's `result_holder`.
        output_holder: its first entry, if any, is the output that receives the result.

    Raises:
        Exception: The error passed to `signal_error`.
    """
    begun = threading.Thread(target=copy_context().run, args=(_run_with_sink, state.handler, run_func), daemon=True)
    begun.start()
    yield from _drain(state.sync_queue)
    begun.join()
    _ended(state.result_holder, output_holder)


async def create_async_chunk_generator(
    state: StreamingState, run_coro: Callable[[], Awaitable[Any]], output_holder: list[_Output]
) -> AsyncIterator[StreamChunk]:
    """Yield answer chunks while a coroutine function runs; see `create_chunk_generator`."""
    if state.async_queue is None:
        raise RuntimeError("the state was not made with `use_async=True`")
    running = _task(state.handler, run_coro)
    try:
        async for piece in _ataken(state.async_queue):
            yield piece
        await running
    finally:
        await _given_up(running)
    _ended(state.result_holder, output_holder)


def create_frame_generator(
    state: FrameStreamingState, run_func: Callable[[], Any], output_holder: list[StreamSession[Any]]
) -> Iterator[StreamFrame]:
    """Yield a frame for each event while a function runs in a thread.

    Args:
        state: the stream, whose `result_holder` receives the function's result.
        run_func: the function.
        output_holder: its first entry, if any, is the session that receives the result.

    Raises:
        Exception: The function's own exception.
    """

    def run() -> None:
        try:
            state.result_holder.append(run_func())
        except Exception as error:  # noqa: BLE001 - raised to the consumer of the frames
            state.sync_queue.put(error)
        else:
            state.sync_queue.put(None)

    threading.Thread(target=copy_context().run, args=(_run_with_sink, state.sink, run), daemon=True).start()
    yield from _drain(state.sync_queue)
    _ended(state.result_holder, output_holder)


async def create_async_frame_generator(
    state: FrameStreamingState, run_coro: Callable[[], Awaitable[Any]], output_holder: list[AsyncStreamSession[Any]]
) -> AsyncIterator[StreamFrame]:
    """Yield frames while a coroutine function runs; see `create_frame_generator`."""
    frames = state.async_queue
    if frames is None:
        raise RuntimeError("the state was not made with `use_async=True`")
    queues = (state.sync_queue, frames, state.loop)

    async def run() -> None:
        try:
            state.result_holder.append(await run_coro())
        except Exception as error:  # noqa: BLE001 - raised to the consumer of the frames
            _put(queues, error)
        else:
            _put(queues, None)

    running = _task(state.sink, run)
    try:
        async for piece in _ataken(frames):
            yield piece
    finally:
        await _given_up(running)
    _ended(state.result_holder, output_holder)


def register_cleanup(streaming_output: _Output, state: StreamingState) -> None:
    """Discard unconsumed chunks when an output is closed."""
    close, aclose = streaming_output.close, streaming_output.aclose

    def closed() -> None:
        close()
        _emptied(state)

    async def aclosed() -> None:
        await aclose()
        _emptied(state)

    vars(streaming_output).update(close=closed, aclose=aclosed)


def _queues(use_async: bool) -> tuple[Any, Any, Any]:
    pieces: queue.Queue[Any] = queue.Queue()
    if not use_async:
        return pieces, None, None
    apieces: asyncio.Queue[Any] = asyncio.Queue()
    return pieces, apieces, asyncio.get_running_loop()


def _of(state: StreamingState, is_async: bool) -> tuple[Any, Any, Any]:
    return (state.sync_queue, state.async_queue, state.loop) if is_async else (state.sync_queue, None, None)


def _put(queues: tuple[Any, Any, Any], piece: Any) -> None:
    pieces, apieces, loop = queues
    if apieces is None:
        pieces.put(piece)
    else:
        loop.call_soon_threadsafe(apieces.put_nowait, piece)


def _chunk_put(queues: tuple[Any, Any, Any], info: TaskInfo, source: Any, event: BaseEvent) -> None:
    if isinstance(event, LLMStreamChunkEvent):
        _put(queues, _chunk(event, info))


def _frame_put(queues: tuple[Any, Any, Any], source: Any, event: BaseEvent) -> None:
    _put(queues, frame_of(event))


def _chunk(event: LLMStreamChunkEvent, info: TaskInfo) -> StreamChunk:
    about: dict[str, Any] = {f"task_{name}": info[name] for name in ("index", "name", "id")}
    about |= {"agent_role": event.agent_role or info["agent_role"], "agent_id": event.agent_id or info["agent_id"]}
    if event.tool_call is None:
        return StreamChunk(content=event.chunk, **about)
    function, called = event.tool_call.function, event.tool_call
    tool = ToolCallChunk(tool_id=called.id, tool_name=function.name, arguments=function.arguments, index=called.index)
    return StreamChunk(content=event.chunk, chunk_type=StreamChunkType.TOOL_CALL, tool_call=tool, **about)


def _run_with_sink(sink: _Sink, work: Callable[[], T]) -> T:
    with scoped(SINKS, (*SINKS.get(), sink)):
        return work()


def _task(sink: _Sink, work: Callable[[], Awaitable[Any]]) -> "asyncio.Task[Any]":
    async def run() -> Any:
        with scoped(SINKS, (*SINKS.get(), sink)):
            return await work()

    return asyncio.get_running_loop().create_task(run())


async def _given_up(running: "asyncio.Task[Any]") -> None:
    if not running.done():
        running.cancel()
    with suppress(asyncio.CancelledError):
        await running


def _drain(pieces: "queue.Queue[T | None | Exception]") -> Iterator[T]:
    while (piece := pieces.get()) is not None:
        if isinstance(piece, Exception):
            raise piece
        yield piece


async def _ataken(pieces: "asyncio.Queue[T | None | Exception]") -> AsyncIterator[T]:
    while (piece := await pieces.get()) is not None:
        if isinstance(piece, Exception):
            raise piece
        yield piece


def _ended(result: list[Any], holder: list[Any]) -> None:
    if holder and result:
        vars(holder[0])["_ended"] = Ended(result[0])


def _emptied(state: StreamingState) -> None:
    with suppress(queue.Empty):
        while True:
            state.sync_queue.get_nowait()
