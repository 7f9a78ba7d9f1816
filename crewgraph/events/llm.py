"""Events of requests to models, and of conversations that exceed a context window."""

from enum import Enum
from typing import Any

from pydantic import BaseModel, SkipValidation

from crewgraph.events.base import WorkEvent
from crewgraph.schema import PlainDict


class LLMCallType(Enum):
    """The kind of a model's answer."""

    TOOL_CALL = "tool_call"
    LLM_CALL = "llm_call"


class FunctionCall(BaseModel, defer_build=True):
    """The function of a tool call that a model requests."""

    arguments: str
    """The arguments as JSON text; a part of it while the answer streams."""

    name: str | None = None
    """The function's name; None in chunks with further arguments only."""


class ToolCall(BaseModel, defer_build=True):
    """A tool call within a streamed answer."""

    id: str | None = None
    """The provider's id of the call."""

    function: FunctionCall
    """The function to call."""

    type: str | None = None
    """The kind of tool; providers send "function"."""

    index: int
    """The index of the call in the answer, from 0."""


class LLMEventBase(WorkEvent):
    """An event of a model request."""

    model: str | None = None
    """The model's name."""

    call_id: str = ""
    """The request, the same from its start to its end; empty for events that do not belong to one."""


class LLMCallDelayedEvent(LLMEventBase):
    """A model request waits: `max_rpm` allows no more requests now, or the provider asked to retry later (`Retry-After`)."""

    type: str = "llm_call_delayed"

    seconds: float
    """The expected wait of the request, in seconds; shorter if others leave the queue."""

    max_rpm: int | None = None
    """The limit of requests per minute; None if the provider asked for the wait."""


class LLMFallbackEvent(LLMEventBase):
    """A model failed and its fallback is used instead."""

    type: str = "llm_fallback"

    model: str | None = None
    """The model that failed."""

    fallback: str
    """The model that is asked instead."""

    error: str
    """The error."""


class LLMCallStartedEvent(LLMEventBase):
    """A model is called; messages and tools are in OpenAI's format.

    Messages are neither validated nor copied: conversations are long, and every request emits an event.
    """

    type: str = "llm_call_started"

    messages: SkipValidation[str | list[PlainDict] | None] = None
    """The conversation so far."""

    tools: SkipValidation[list[PlainDict] | None] = None
    """The tools that the model may request."""

    callbacks: SkipValidation[list[Any] | None] = None
    """The callbacks of the request."""

    available_functions: SkipValidation[PlainDict | None] = None
    """The functions behind the tools, by name."""

    temperature: float | None = None
    """The model's setting of this name, as are those below; None if unset."""

    top_p: float | None = None
    """See `temperature`."""

    max_tokens: int | float | None = None
    """The maximum number of tokens of the answer."""

    stream: bool | None = None
    """Whether the answer is streamed."""

    seed: int | None = None
    """See `temperature`."""

    stop_sequences: list[str] | None = None
    """The stop sequences."""

    frequency_penalty: float | None = None
    """See `temperature`."""

    presence_penalty: float | None = None
    """See `temperature`."""

    n: int | None = None
    """The number of answers requested."""


class LLMCallCompletedEvent(LLMEventBase):
    """A model has answered."""

    type: str = "llm_call_completed"

    messages: SkipValidation[str | list[PlainDict] | None] = None
    """The conversation that was answered."""

    response: Any
    """The answer: text, or tool calls in OpenAI's format."""

    call_type: LLMCallType
    """Whether the answer is text or requests tools."""

    usage: PlainDict | None = None
    """The tokens of the request (`prompt_tokens`, `completion_tokens` ...); None if unknown."""

    finish_reason: str | None = None
    """Why the answer ended there, where the provider says so."""

    response_id: str | None = None
    """The provider's id of the answer."""


class LLMCallFailedEvent(LLMEventBase):
    """A model could not answer."""

    type: str = "llm_call_failed"

    error: str
    """The error."""


class LLMStreamChunkEvent(LLMEventBase):
    """A chunk of an answer has arrived."""

    type: str = "llm_stream_chunk"

    chunk: str
    """The chunk of text."""

    tool_call: ToolCall | None = None
    """The chunk of a tool call."""

    call_type: LLMCallType | None = None
    """The kind of answer that the chunk belongs to: a text or a tool call."""

    response_id: str | None = None
    """The provider's id of the answer."""


class LLMThinkingChunkEvent(LLMEventBase):
    """A chunk of a model's reasoning has arrived; all of it at once if the answer is not streamed."""

    type: str = "llm_thinking_chunk"

    chunk: str
    """The chunk of text."""

    response_id: str | None = None
    """The provider's id of the answer."""


class ContextWindowSummarizationEvent(WorkEvent):
    """An event of a conversation that exceeds its model's context window."""

    model: str | None = None
    """The model."""


class ContextWindowSummarizationCompletedEvent(ContextWindowSummarizationEvent):
    """A conversation was summarised."""

    type: str = "context_window_summarization_completed"


class ContextWindowSummarizationFailedEvent(ContextWindowSummarizationEvent):
    """A conversation could not be summarised."""

    type: str = "context_window_summarization_failed"

    error: str
    """The error."""


class ContextWindowSummarizationStartedEvent(ContextWindowSummarizationEvent):
    """A conversation is about to be summarised."""

    type: str = "context_window_summarization_started"
