"""A model whose requests are told to the audience of events; what was answered from the journal is not told again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.meter import ASKING, METER, heed
from crewgraph.core.plain import plain
from crewgraph.core.ports import Model
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMCallType
from crewgraph.llm.around import AroundModel
from crewgraph.llm.pieces import telling_pieces

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["ObservedModel"]


@dataclass(frozen=True)
class ObservedModel(AroundModel[Model]):
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
        heed(self.name)
        self._asking(messages, tools)
        asking = ASKING.set(True)
        try:
            reply = self.model.complete(messages, tools, stop, self._telling(config))
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            ASKING.reset(asking)
        return self._answered(messages, reply)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        heed(self.name)
        self._asking(messages, tools)
        asking = ASKING.set(True)
        try:
            reply = await self.model.acomplete(messages, tools, stop, self._telling(config))
        except BaseException as error:
            self._failed(error)
            raise
        finally:
            ASKING.reset(asking)
        return self._answered(messages, reply)

    def _telling(self, config: "RunnableConfig") -> "RunnableConfig":
        return telling_pieces(config, self.source, self.agent, self.task)

    def _asking(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> None:
        if crewai_event_bus.wants(LLMCallStartedEvent):
            event = LLMCallStartedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                messages=[dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] or None,
            )
            crewai_event_bus.emit(self.source, event)

    def _answered(self, messages: Sequence[Message], reply: Reply) -> Reply:
        reply = cast(Reply, plain(reply))  # half a character (an emoji cut in two) can be neither stored nor sent
        if (meter := METER.get()) is not None:
            meter.answered(str(getattr(self.agent, "role", "")), reply.get("model", self.name), reply["usage"])
        if crewai_event_bus.wants(LLMCallCompletedEvent):
            event = LLMCallCompletedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                messages=[dict(message) for message in messages],
                response=reply["tool_calls"] or reply["content"],
                call_type=LLMCallType.TOOL_CALL if reply["tool_calls"] else LLMCallType.LLM_CALL,
                usage=dict(reply["usage"]) if reply["usage"] else None,
            )
            crewai_event_bus.emit(self.source, event)
        return reply

    def _failed(self, error: BaseException) -> None:
        if crewai_event_bus.wants(LLMCallFailedEvent):
            event = LLMCallFailedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                error=f"{type(error).__name__}: {error}",
            )
            crewai_event_bus.emit(self.source, event)
