"""Events as frames of a stream: plain data, sorted by what they are about."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from crewgraph.events.base import BaseEvent
from crewgraph.events.flow import FlowEvent
from crewgraph.events.llm import LLMEventBase
from crewgraph.events.tool import ToolExecutionErrorEvent, ToolUsageEvent

__all__ = ["StreamChannel", "StreamFrame", "frame_of"]

StreamChannel = Literal["llm", "flow", "tools", "messages", "lifecycle", "custom"]
"""What a frame is about."""

_ELSEWHERE = {"event_id", "type", "timestamp", "emission_sequence", "parent_event_id", "previous_event_id"}
_PIECES = frozenset({"llm_stream_chunk", "llm_thinking_chunk"})
_MESSAGES = frozenset({"conversation_message_added"})


class StreamFrame(BaseModel):
    """An event of a run, as data."""

    id: str
    """The event."""

    seq: int | None = None
    """The how manieth event of its run it is."""

    type: str
    """The kind of event."""

    channel: StreamChannel
    """What it is about."""

    namespace: list[str] = Field(default_factory=list[str])
    """The same more closely: the channel, then the flow and its method, the request, the tool, or agent and task."""

    timestamp: datetime
    """When it happened, in UTC."""

    parent_id: str | None = None
    """The event in whose scope it happened."""

    previous_id: str | None = None
    """The event before it."""

    data: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The other fields of the event."""

    @property
    def event(self) -> dict[str, Any]:
        """The same as `data`."""
        return self.data

    @property
    def content(self) -> str:
        """The piece of an answer, where it is one; else empty."""
        return str(self.data.get("chunk") or "") if self.type in _PIECES else ""


def frame_of(event: BaseEvent) -> StreamFrame:
    """An event as a frame."""
    channel, names = _channel(event)
    return StreamFrame(
        id=event.event_id,
        seq=event.emission_sequence,
        type=event.type,
        channel=channel,
        namespace=[channel, *(str(name) for name in names if name)],
        timestamp=event.timestamp,
        parent_id=event.parent_event_id,
        previous_id=event.previous_event_id,
        data=event.to_json(exclude=_ELSEWHERE),
    )


def _channel(event: BaseEvent) -> tuple[StreamChannel, tuple[Any, ...]]:
    if isinstance(event, LLMEventBase):
        return "llm", (event.call_id,)
    if isinstance(event, ToolUsageEvent | ToolExecutionErrorEvent):
        return "tools", (event.tool_name,)
    if isinstance(event, FlowEvent):
        named = (event.flow_name, getattr(event, "method_name", None), getattr(event, "session_id", None))
        return ("messages" if event.type in _MESSAGES else "flow"), named
    return "custom", (event.agent_role, event.task_name)
