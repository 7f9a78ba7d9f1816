"""Events that CrewAI's listeners may name, and that nothing here emits."""

from crewgraph.events.base import BaseEvent
from crewgraph.events.llm import LLMEventBase

__all__ = ["LLMThinkingChunkEvent", "MCPConfigFetchFailedEvent"]


class LLMThinkingChunkEvent(LLMEventBase):
    """A piece of what a model thinks."""

    type: str = "llm_thinking_chunk"

    chunk: str
    """The piece."""

    response_id: str | None = None
    """The answer that it belongs to."""


class MCPConfigFetchFailedEvent(BaseEvent):
    """The settings of a server could not be had from the hosted platform."""

    type: str = "mcp_config_fetch_failed"

    slug: str
    """The server's name there."""

    error: str
    """What went wrong."""

    error_type: str | None = None
    """The class of the failure."""
