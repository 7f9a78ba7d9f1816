"""A request to a model as frames, while it is answered."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from typing import Any
from uuid import uuid4

from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.frames import Ended, StreamFrame, StreamSession, frame_of
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMCallType
from crewgraph.events.stream_context import SINKS
from crewgraph.llm.base import accepted_arguments
from crewgraph.llm.current_call import ONGOING, OngoingCall
from crewgraph.llm.events import StreamingChunkHandler

__all__ = ["call_frames", "stream_frames"]


def stream_frames(work: Callable[[], Any]) -> Iterator[StreamFrame | Ended]:
    """What a function tells while it works in a thread of its own, and what it gave.

    Raises:
        BaseException: what it raised.
    """
    told: queue.SimpleQueue[StreamFrame | Ended | BaseException] = queue.SimpleQueue()

    def hear(source: Any, event: BaseEvent) -> None:
        told.put(frame_of(event))

    def working() -> None:
        SINKS.set((*SINKS.get(), hear))
        try:
            told.put(Ended(work()))
        except BaseException as error:  # noqa: BLE001 - raised by whoever takes the frames
            told.put(error)

    threading.Thread(target=copy_context().run, args=(working,), name="crewgraph-frames", daemon=True).start()
    while True:
        piece = told.get()
        if isinstance(piece, BaseException):
            raise piece
        yield piece
        if isinstance(piece, Ended):
            return


def call_frames(llm: Any, messages: Any, offered: dict[str, Any]) -> StreamSession[Any]:
    """A request to a model as frames; see `BaseLLM.stream_events`."""
    agent, task, call_id = offered.get("from_agent"), offered.get("from_task"), str(uuid4())
    about: dict[str, Any] = {"from_agent": agent, "from_task": task, "model": llm.model, "call_id": call_id}

    def asked() -> Any:
        pieces = StreamingChunkHandler(llm, agent, task, call_id)
        told: Any = messages if isinstance(messages, str) else [dict(one) for one in messages]
        crewai_event_bus.emit(llm, LLMCallStartedEvent(**about, messages=told, tools=offered.get("tools")))
        token = ONGOING.set(OngoingCall(on_text=partial(pieces.emit, called=None)))
        try:
            given = {**offered, "callbacks": [*(offered.get("callbacks") or ()), pieces]}
            answer = llm.call(messages, **accepted_arguments(llm, "call", given))
        except BaseException as error:
            crewai_event_bus.emit(llm, LLMCallFailedEvent(**about, error=f"{type(error).__name__}: {error}"))
            raise
        finally:
            ONGOING.reset(token)
        kind = LLMCallType.LLM_CALL if isinstance(answer, str) else LLMCallType.TOOL_CALL
        crewai_event_bus.emit(llm, LLMCallCompletedEvent(**about, messages=told, response=answer, call_type=kind))
        return answer

    return StreamSession(sync_iterator=stream_frames(asked))
