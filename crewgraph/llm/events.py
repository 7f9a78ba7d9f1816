"""A model whose requests are told to the audience of events; what was answered from the journal is not told again.

The pieces of a model's answer, told to the audience as they come.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, CallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from crewgraph.core.limits import ASKING, METER, check_limits
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.plain import plain
from crewgraph.core.protocols import Model
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import (
    FunctionCall,
    LLMCallCompletedEvent,
    LLMCallFailedEvent,
    LLMCallStartedEvent,
    LLMCallType,
    LLMStreamChunkEvent,
    ToolCall,
)
from crewgraph.events.stream_context import SINKS
from crewgraph.llm.conversation import text_of
from crewgraph.llm.current_call import CALLER
from crewgraph.llm.usage import LEDGERS
from crewgraph.llm.wrapper import ModelWrapper

if TYPE_CHECKING:
    from uuid import UUID

__all__ = ["EventModel", "StreamingChunkHandler", "with_chunk_events"]


def with_chunk_events(config: RunnableConfig, source: Any, agent: Any, task: Any, call_id: str = "") -> RunnableConfig:
    """A config whose requests tell the audience of each piece of their answers, where anybody listens.

    Args:
        config: the request's.
        source: who tells.
        agent: the agent that asks, if one does.
        task: what it works on, if it does.
        call_id: the request, for those that listen.
    """
    if not crewai_event_bus.wants(LLMStreamChunkEvent):
        return config
    pieces = (StreamingChunkHandler if SINKS.get() else ChunkHandler)(source, agent, task, call_id)
    callbacks: Any = ensure_config(config).get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(pieces, inherit=True)
    else:
        manager = CallbackManager.configure(inheritable_callbacks=[*(callbacks or ()), pieces])
    own: RunnableConfig = {**config, "callbacks": manager}
    return own


class ChunkHandler(BaseCallbackHandler):
    """Hears a request whose model streams by itself."""

    run_inline = True  # on the thread or loop of the request, so that pieces keep their order

    def __init__(self, source: Any, agent: Any, task: Any, call_id: str) -> None:
        self._source, self._agent, self._task, self._call_id = source, agent, task, call_id
        self._calls: dict[tuple[UUID, Any], ToolCall] = {}

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: "UUID", **kwargs: Any) -> None:
        if text := text_of(token):
            self.emit(text, None)
        for piece in getattr(getattr(chunk, "message", None), "tool_call_chunks", ()):
            self.emit(piece.get("args") or "", self._merge_tool_call(run_id, piece))

    def _merge_tool_call(self, run_id: "UUID", piece: dict[str, Any]) -> ToolCall:
        """The tool call so far; providers give its name and id with its first piece only."""
        place = piece.get("index")
        known = self._calls.setdefault(
            (run_id, place), ToolCall(function=FunctionCall(arguments=""), index=place or 0, type="function")
        )
        function = known.function
        called = ToolCall(
            id=known.id or piece.get("id"),
            function=FunctionCall(
                arguments=function.arguments + (piece.get("args") or ""), name=function.name or piece.get("name")
            ),
            index=known.index,
            type="function",
        )
        self._calls[run_id, place] = called
        return called

    def emit(self, text: str, called: ToolCall | None) -> None:
        """A piece of a text, or of a tool call."""
        event = LLMStreamChunkEvent(
            from_agent=self._agent,
            from_task=self._task,
            chunk=text,
            tool_call=called,
            call_id=self._call_id,
            call_type=LLMCallType.LLM_CALL if called is None else LLMCallType.TOOL_CALL,
        )
        crewai_event_bus.emit(self._source, event)


class StreamingChunkHandler(ChunkHandler):
    """The same, and LangChain's models stream because of it: they do so for handlers that have these two methods."""

    def tap_output_iter(self, run_id: "UUID", output: Iterator[Any]) -> Iterator[Any]:
        return output

    def tap_output_aiter(self, run_id: "UUID", output: Any) -> Any:
        return output


@dataclass(frozen=True)
class EventModel(ModelWrapper[Model]):
    """A model whose requests are told of."""

    model: Model
    source: Any
    """Who tells."""

    agent: Any = None
    """The agent that asks, if one does."""

    task: Any = None
    """What it works on, if it does."""

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        check_limits(self.name)
        call_id = self._emit_started(messages, tools)
        asking, asker = ASKING.set(True), CALLER.set((self.agent, self.task))
        try:
            reply = self.model.complete(messages, tools, stop, self._config_with_chunks(config, call_id))
        except BaseException as error:
            self._emit_failed(error, call_id)
            raise
        finally:
            ASKING.reset(asking)
            CALLER.reset(asker)
        return self._emit_completed(messages, reply, call_id)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        check_limits(self.name)
        call_id = self._emit_started(messages, tools)
        asking, asker = ASKING.set(True), CALLER.set((self.agent, self.task))
        try:
            reply = await self.model.acomplete(messages, tools, stop, self._config_with_chunks(config, call_id))
        except BaseException as error:
            self._emit_failed(error, call_id)
            raise
        finally:
            ASKING.reset(asking)
            CALLER.reset(asker)
        return self._emit_completed(messages, reply, call_id)

    def _config_with_chunks(self, config: "RunnableConfig", call_id: str) -> "RunnableConfig":
        return with_chunk_events(config, self.source, self.agent, self.task, call_id)

    def _emit_started(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        call_id = str(uuid4())
        if crewai_event_bus.wants(LLMCallStartedEvent):
            event = LLMCallStartedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                messages=[dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] or None,
                call_id=call_id,
                **_event_settings(self.model.identity),
            )
            crewai_event_bus.emit(self.source, event)
        return call_id

    def _emit_completed(self, messages: Sequence[Message], reply: Reply, call_id: str) -> Reply:
        reply = cast(Reply, plain(reply))  # half a character (an emoji cut in two) can be neither stored nor sent
        if (meter := METER.get()) is not None:
            meter.answered(str(getattr(self.agent, "role", "")), reply.get("model", self.name), reply["usage"])
        for ledger in LEDGERS.get():
            ledger.answered(self, reply)
        if crewai_event_bus.wants(LLMCallCompletedEvent):
            event = LLMCallCompletedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                messages=[dict(message) for message in messages],
                response=reply["tool_calls"] or reply["content"],
                call_type=LLMCallType.TOOL_CALL if reply["tool_calls"] else LLMCallType.LLM_CALL,
                usage=dict(reply["usage"]) if reply["usage"] else None,
                call_id=call_id,
            )
            crewai_event_bus.emit(self.source, event)
        return reply

    def _emit_failed(self, error: BaseException, call_id: str) -> None:
        if crewai_event_bus.wants(LLMCallFailedEvent):
            event = LLMCallFailedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                error=f"{type(error).__name__}: {error}",
                call_id=call_id,
            )
            crewai_event_bus.emit(self.source, event)


def _event_settings(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a model that its events tell."""
    told = {name: identity[name] for name in _EVENT_SETTINGS if isinstance(identity.get(name), (int, float))}
    stop: Any = identity.get("stop")
    return {**told, "stop_sequences": [*stop]} if isinstance(stop, list) and stop else told


_EVENT_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "frequency_penalty", "presence_penalty", "n")
