"""Stream frames from a model call while it runs."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any
from uuid import uuid4

from crewgraph.core.loops.bridge import call
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.frames import Ended, StreamFrame, StreamSession, frame_of
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMCallType
from crewgraph.events.stream_context import LISTENING
from crewgraph.llm.base import accepted_arguments
from crewgraph.llm.current_call import CALL, OngoingCall
from crewgraph.llm.events import StreamingChunkHandler
from crewgraph.overrides import override_of
from crewgraph.schema import PlainDict
from crewgraph.scoped import scoped


def stream_frames(work: Callable[[], object]) -> Iterator[StreamFrame | Ended]:
    """Run a function in its own thread and yield a frame per event it emits, then `Ended` with its result.

    Raises:
        BaseException: Whatever the function raises.
    """
    items: queue.SimpleQueue[StreamFrame | Ended | BaseException] = queue.SimpleQueue()

    def forward(source: object, event: BaseEvent) -> None:
        items.put(frame_of(event))

    def run() -> None:
        try:
            here = LISTENING.get()
            with scoped(LISTENING, here._replace(sinks=(*here.sinks, forward))):
                items.put(Ended(work()))
        except BaseException as error:  # noqa: BLE001 - re-raised by the consumer of the frames
            items.put(error)

    threading.Thread(target=copy_context().run, args=(run,), name="crewgraph-frames", daemon=True).start()
    while True:
        item = items.get()
        if isinstance(item, BaseException):
            raise item
        yield item
        if isinstance(item, Ended):
            return


def call_frames(llm: Any, messages: Any, arguments: PlainDict) -> StreamSession[object]:
    """Stream one model call as frames; see `BaseLLM.stream_events`."""
    if hasattr(llm, "adapter") and override_of(llm, "call") is None:  # an `LLM`, which reports its requests itself
        accepted = accepted_arguments(llm, "call", arguments)
        return StreamSession(sync_iterator=stream_frames(lambda: call(llm.call, messages, **accepted)))
    agent, task, call_id = arguments.get("from_agent"), arguments.get("from_task"), str(uuid4())
    fields: dict[str, Any] = {"from_agent": agent, "from_task": task, "model": llm.model, "call_id": call_id}

    def run() -> object:
        handler = StreamingChunkHandler(llm, agent, task, call_id)
        request_messages: object = messages if isinstance(messages, str) else [dict(message) for message in messages]
        crewai_event_bus.emit(
            llm, LLMCallStartedEvent(**fields, messages=request_messages, tools=arguments.get("tools"))
        )
        try:
            call_arguments = {**arguments, "callbacks": [*(arguments.get("callbacks") or ()), handler]}
            with scoped(CALL, CALL.get()._replace(ongoing=OngoingCall(on_text=handler.text))):
                answer = call(llm.call, messages, **accepted_arguments(llm, "call", call_arguments))
            handler.finish()
        except BaseException as error:  # reported whatever it is, also a cancellation
            crewai_event_bus.emit(llm, LLMCallFailedEvent(**fields, error=f"{type(error).__name__}: {error}"))
            raise
        kind = LLMCallType.LLM_CALL if isinstance(answer, str) else LLMCallType.TOOL_CALL
        crewai_event_bus.emit(
            llm, LLMCallCompletedEvent(**fields, messages=request_messages, response=answer, call_type=kind)
        )
        return answer

    return StreamSession(sync_iterator=stream_frames(run))
