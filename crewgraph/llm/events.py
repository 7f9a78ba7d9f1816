"""Emits events for model requests: `ReportedRequest` for whole requests, the chunk handlers for streamed answers.

Replies that are replayed from the journal emit no events.
"""

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, CallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.core.current import CURRENT
from crewgraph.core.limits import check_limits
from crewgraph.core.messages import Content, Message, Reply, ToolRequest, ToolSpec, Usage
from crewgraph.core.plain import plain, unstorable
from crewgraph.core.protocols import Model
from crewgraph.events import late
from crewgraph.events.base import new_id
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.stream_context import LISTENING
from crewgraph.llm.conversation import openai_messages, openai_tool, openai_tool_calls, text_of
from crewgraph.llm.current_call import CALL, RequestEnd
from crewgraph.llm.errors import UnfinishedReply
from crewgraph.llm.reasoning import ReasoningSplitter, message_reasoning
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.scoped import give_back


@contextmanager
def function_events(
    source: object, name: str, args: PlainDict, agent: object, task: object
) -> Generator[Callable[[object], None]]:
    """Emit the events of a function that the model has called, outside of an agent's loop.

    Args:
        source: The source of the events.
        name: The name of the function.
        args: Its arguments.
        agent: The calling agent, if any.
        task: The task it works on, if any.

    Yields:
        A function that takes the result.
    """
    fields: PlainDict = {"tool_name": name, "tool_args": args, "from_agent": agent, "from_task": task}
    started = datetime.now(UTC)
    results: list[object] = []
    if crewai_event_bus.wants(late.ToolUsageStartedEvent):
        crewai_event_bus.emit(source, late.ToolUsageStartedEvent(**fields))
    try:
        yield results.append
    except GeneratorExit:
        raise
    except BaseException as error:  # reported whatever it is, also a cancellation
        if crewai_event_bus.wants(late.ToolUsageErrorEvent):
            crewai_event_bus.emit(source, late.ToolUsageErrorEvent(**fields, error=error))
        raise
    if crewai_event_bus.wants(late.ToolUsageFinishedEvent):
        ended = datetime.now(UTC)
        event = late.ToolUsageFinishedEvent(**fields, started_at=started, finished_at=ended, output=results[0])
        crewai_event_bus.emit(source, event)


class _ChunkHandler(BaseCallbackHandler):
    """Emits chunk events for models that stream on their own; it does not cause streaming."""

    run_inline = True  # on the thread or loop of the request, so that chunks stay in order

    def __init__(self, source: object, agent: object, task: object, call_id: str) -> None:
        self._source, self._agent, self._task, self.call_id = source, agent, task, call_id
        self._calls: dict[tuple[UUID, object], Any] = {}
        self._splitters: dict[UUID | None, ReasoningSplitter] = {}
        self.has_shown_reasoning = False

    def on_llm_new_token(self, token: Any, *, chunk: object = None, run_id: UUID, **kwargs: object) -> None:
        message: Any = getattr(chunk, "message", None)
        if message is not None and (reasoning := message_reasoning(message.content, message.additional_kwargs)):
            self._emit_reasoning(reasoning)
        if text := text_of(token):
            self.text(text, run_id)
        for tool_call_chunk in getattr(message, "tool_call_chunks", ()):
            fields = {"tool_call": self._merge_tool_call(run_id, tool_call_chunk), "call_type": "tool_call"}
            self._emit(late.LLMStreamChunkEvent, tool_call_chunk.get("args") or "", **fields)

    def on_llm_end(self, response: object, *, run_id: UUID, **kwargs: object) -> None:
        self.finish(run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self.finish(run_id)

    def text(self, text: str, run_id: UUID | None = None) -> None:
        """Take a chunk of text, which may hold reasoning as well."""
        if run_id not in self._splitters:
            self._splitters[run_id] = ReasoningSplitter()
        self._emit_pieces(self._splitters[run_id].feed(text))

    def finish(self, run_id: UUID | None = None) -> None:
        """Emit what was held back of a text that has ended."""
        if (splitter := self._splitters.pop(run_id, None)) is not None:
            self._emit_pieces(splitter.end())

    def _emit_pieces(self, pieces: Iterator[tuple[bool, str]]) -> None:
        for is_reasoning, piece in pieces:
            if is_reasoning:
                self._emit_reasoning(piece)
            else:
                self._emit(late.LLMStreamChunkEvent, piece, call_type="llm_call")

    def _merge_tool_call(self, run_id: UUID, tool_call_chunk: PlainDict) -> Any:
        """Return the tool call so far; providers send its name and id with the first chunk only."""
        index = tool_call_chunk.get("index")
        known = self._calls.setdefault(
            (run_id, index), late.ToolCall(function=late.FunctionCall(arguments=""), index=index or 0, type="function")
        )
        function = known.function
        merged = late.ToolCall(
            id=known.id or tool_call_chunk.get("id"),
            function=late.FunctionCall(
                arguments=function.arguments + (tool_call_chunk.get("args") or ""),
                name=function.name or tool_call_chunk.get("name"),
            ),
            index=known.index,
            type="function",
        )
        self._calls[run_id, index] = merged
        return merged

    def _emit_reasoning(self, text: str) -> None:
        self.has_shown_reasoning = True
        self._emit(late.LLMThinkingChunkEvent, text)

    def _emit(self, kind: Any, text: str, **fields: Any) -> None:
        if crewai_event_bus.wants(kind):
            event = kind(from_agent=self._agent, from_task=self._task, chunk=text, call_id=self.call_id, **fields)
            crewai_event_bus.emit(self._source, event)


class StreamingChunkHandler(_ChunkHandler):
    """A chunk handler that makes LangChain models stream: they do so for handlers with these two methods."""

    def tap_output_iter(self, run_id: UUID, output: Iterator[object]) -> Iterator[object]:
        return output

    def tap_output_aiter(self, run_id: UUID, output: object) -> object:
        return output


@dataclass(eq=False)
class Requester:
    """Who makes requests, as their events say."""

    source: Any
    """The source of the events."""

    agent: Any = None
    """The calling agent, if any."""

    task: Any = None
    """The task it works on, if any."""

    def delayed(self, model: str, seconds: float, max_rpm: int | None = None) -> None:
        """Emit the event of a delay, for `max_rpm` or requested by the provider."""
        if crewai_event_bus.wants(late.LLMCallDelayedEvent):
            event = late.LLMCallDelayedEvent(
                from_agent=self.agent, from_task=self.task, model=model, seconds=seconds, max_rpm=max_rpm
            )
            crewai_event_bus.emit(self.source if self.agent is None else self.agent, event)

    def count(self, model: str, usage: Usage | None) -> None:
        """Count the usage of a request in what the run may use, and in the flows around it."""
        if (meter := CURRENT.get().meter) is not None:
            meter.answered(str(getattr(self.agent, "role", "")), model, usage)
        for ledger in CALL.get().ledgers:
            ledger.count(model, usage)


class ReportedRequest:
    """A request to a model that is reported: a context manager around it, and what its answer becomes."""

    def __init__(
        self,
        requester: Requester,
        model: Model,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        config: RunnableConfig,
    ) -> None:
        self._requester, self._name, self._messages = requester, model.name, messages
        check_limits(self._name)
        self._ends = CALL.get().ends
        call_id = ""
        if crewai_event_bus.wants(late.LLMCallStartedEvent):
            self._emit(
                late.LLMCallStartedEvent,
                call_id := new_id(),
                messages=openai_messages(messages),
                tools=[openai_tool(tool) for tool in tools] or None,
                stream=bool(getattr(requester.source, "stream", None)),
                **_event_settings(model.identity),
            )
        self.config: RunnableConfig = config
        self._call_id = call_id
        self._chunks: _ChunkHandler | None = None
        if crewai_event_bus.wants(late.LLMStreamChunkEvent) or crewai_event_bus.wants(late.LLMThinkingChunkEvent):
            self._call_id = call_id or new_id()
            self._listen()

    def _listen(self) -> None:
        """Emit an event per chunk of the answer."""
        requester, kind = self._requester, StreamingChunkHandler if LISTENING.get().sinks else _ChunkHandler
        self._chunks = kind(requester.source, requester.agent, requester.task, self._call_id)
        callbacks: object = ensure_config(self.config).get("callbacks")
        if isinstance(callbacks, BaseCallbackManager):
            manager = callbacks.copy()
            manager.add_handler(self._chunks, inherit=True)
        else:
            manager = CallbackManager.configure(inheritable_callbacks=[*(callbacks or ()), self._chunks])
        listened_to: RunnableConfig = {**self.config, "callbacks": manager}
        self.config = listened_to

    def __enter__(self) -> Self:
        self._token = CALL.set(CALL.get()._replace(caller=(self._requester.agent, self._requester.task), ends=None))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        give_back(self._token)
        if error is None or isinstance(error, GeneratorExit):  # the run is lost
            return
        if isinstance(error, UnfinishedReply):  # it is paid all the same
            self._requester.count(self._name, error.usage)
        self._failed(error)

    def _emit(self, kind: Any, call_id: str, **fields: Any) -> None:
        who = self._requester
        event = kind(from_agent=who.agent, from_task=who.task, model=self._name, call_id=call_id or new_id(), **fields)
        crewai_event_bus.emit(who.source, event)

    def _failed(self, error: BaseException) -> None:
        if crewai_event_bus.wants(late.LLMCallFailedEvent):
            self._emit(late.LLMCallFailedEvent, self._call_id, error=f"{type(error).__name__}: {error}")

    def completed(self, reply: Reply) -> Reply:
        """Return the reply as plain data, and report it, now or once the hooks after it have run."""
        metadata, reasoning = reply.pop("metadata", None), reply.pop("reasoning", "")
        content = reply["content"]
        is_plain = type(content) is str and content.isascii() and not (reply["extra"] or reply["tool_calls"])
        if not is_plain or "hooked" in reply:
            # Lone surrogates (half of an emoji) can be neither stored nor sent.
            calls: list[ToolRequest] = [{**call, "args": _storable(call["args"])} for call in reply["tool_calls"]]
            reply = cast(Reply, plain({**reply, "tool_calls": calls}))
        if self._chunks is not None and not self._chunks.has_shown_reasoning:
            reasoning = reasoning or message_reasoning(reply["content"], reply["extra"])
            if reasoning and crewai_event_bus.wants(late.LLMThinkingChunkEvent):
                self._emit(late.LLMThinkingChunkEvent, self._call_id, chunk=reasoning)
        self._requester.count(reply.get("model", self._name), reply["usage"])
        if crewai_event_bus.wants(late.LLMCallCompletedEvent):

            def completed(content: Content) -> None:
                self._emit(
                    late.LLMCallCompletedEvent,
                    self._call_id,
                    messages=openai_messages(self._messages),
                    response=openai_tool_calls(reply["tool_calls"]) or content,
                    call_type="tool_call" if reply["tool_calls"] else "llm_call",
                    usage=dict(reply["usage"]) if reply["usage"] else None,
                    finish_reason=_first_text(metadata, _FINISH_REASONS),
                    response_id=_first_text(metadata, _RESPONSE_IDS),
                )

            ends, self._ends = self._ends, None  # it would refer to itself
            if ends is None:
                completed(reply["content"])
            else:
                ends.append(RequestEnd(completed, self._failed))
        return reply


def _storable(args: PlainDict | str) -> PlainDict | str:
    """Return arguments that can be stored and sent back: others as text, which is refused with the reason when it is read."""
    if isinstance(args, str) or unstorable(args) is None:
        return args
    try:
        return json.dumps(args, default=str)
    except (RecursionError, TypeError, ValueError) as error:
        return f"{{unreadable: {type(error).__name__}"


def _event_settings(identity: Mapping[str, object]) -> dict[str, Any]:
    """Return the model parameters that events include."""
    settings = {name: identity[name] for name in _EVENT_SETTINGS if isinstance(identity.get(name), (int, float))}
    stop: object = identity.get("stop")
    return {**settings, "stop_sequences": [*stop]} if isinstance(stop, list) and stop else settings


_FINISH_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_RESPONSE_IDS = ("id", "response_id", "message_id")


def _first_text(metadata: PlainMapping | None, names: Sequence[str]) -> str | None:
    """Return the first text that a provider's metadata has under one of the names that providers use."""
    found = (metadata.get(name) for name in names) if metadata else ()
    return next((value for value in found if isinstance(value, str) and value), None)


_EVENT_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "frequency_penalty", "presence_penalty", "n")
