"""A model whose requests are told to the audience of events; what was answered from the journal is not told again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from crewgraph.core.limits import ASKING, METER, check_limits
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.plain import plain
from crewgraph.core.protocols import Model
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMCallType
from crewgraph.llm.around import AroundModel
from crewgraph.llm.ongoing import ASKER
from crewgraph.llm.pieces import telling_pieces
from crewgraph.llm.tally import TALLIES

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
        check_limits(self.name)
        call_id = self._asking(messages, tools)
        asking, asker = ASKING.set(True), ASKER.set((self.agent, self.task))
        try:
            reply = self.model.complete(messages, tools, stop, self._telling(config, call_id))
        except BaseException as error:
            self._failed(error, call_id)
            raise
        finally:
            ASKING.reset(asking)
            ASKER.reset(asker)
        return self._answered(messages, reply, call_id)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        check_limits(self.name)
        call_id = self._asking(messages, tools)
        asking, asker = ASKING.set(True), ASKER.set((self.agent, self.task))
        try:
            reply = await self.model.acomplete(messages, tools, stop, self._telling(config, call_id))
        except BaseException as error:
            self._failed(error, call_id)
            raise
        finally:
            ASKING.reset(asking)
            ASKER.reset(asker)
        return self._answered(messages, reply, call_id)

    def _telling(self, config: "RunnableConfig", call_id: str) -> "RunnableConfig":
        return telling_pieces(config, self.source, self.agent, self.task, call_id)

    def _asking(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> str:
        call_id = str(uuid4())
        if crewai_event_bus.wants(LLMCallStartedEvent):
            event = LLMCallStartedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                messages=[dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] or None,
                call_id=call_id,
                **_settings(self.model.identity),
            )
            crewai_event_bus.emit(self.source, event)
        return call_id

    def _answered(self, messages: Sequence[Message], reply: Reply, call_id: str) -> Reply:
        reply = cast(Reply, plain(reply))  # half a character (an emoji cut in two) can be neither stored nor sent
        if (meter := METER.get()) is not None:
            meter.answered(str(getattr(self.agent, "role", "")), reply.get("model", self.name), reply["usage"])
        for tally in TALLIES.get():
            tally.count(reply["usage"])
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

    def _failed(self, error: BaseException, call_id: str) -> None:
        if crewai_event_bus.wants(LLMCallFailedEvent):
            event = LLMCallFailedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                error=f"{type(error).__name__}: {error}",
                call_id=call_id,
            )
            crewai_event_bus.emit(self.source, event)


def _settings(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a model that its events tell."""
    told = {name: identity[name] for name in _TOLD if isinstance(identity.get(name), (int, float))}
    stop: Any = identity.get("stop")
    return {**told, "stop_sequences": [*stop]} if isinstance(stop, list) and stop else told


_TOLD = ("temperature", "top_p", "max_tokens", "seed", "frequency_penalty", "presence_penalty", "n")
