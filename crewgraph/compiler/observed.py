"""A model and a tool whose use is told to the audience of events; what was answered from the journal is not told again."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from crewgraph.compiler.toolbox import Outcome
from crewgraph.core.bridge import in_thread, wait_for
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.ports import Model, Tool
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.task import Task
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMCallType
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["ObservedModel", "ObservedTool"]


@dataclass(frozen=True)
class ObservedModel:
    """A model at work for an agent on a task."""

    model: Model
    agent: BaseAgent
    task: Task

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.model.identity

    @property
    def native_tools(self) -> bool:
        return self.model.native_tools

    def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        self._asking(messages, tools)
        try:
            reply = self.model.complete(messages, tools, stop, config)
        except BaseException as error:
            self._failed(error)
            raise
        return self._answered(messages, reply)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        self._asking(messages, tools)
        try:
            reply = await self.model.acomplete(messages, tools, stop, config)
        except BaseException as error:
            self._failed(error)
            raise
        return self._answered(messages, reply)

    def _asking(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> None:
        if crewai_event_bus.wants(LLMCallStartedEvent):
            event = LLMCallStartedEvent(
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                messages=[dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] or None,
            )
            crewai_event_bus.emit(self.agent, event)

    def _answered(self, messages: Sequence[Message], reply: Reply) -> Reply:
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
            crewai_event_bus.emit(self.agent, event)
        return reply

    def _failed(self, error: BaseException) -> None:
        if crewai_event_bus.wants(LLMCallFailedEvent):
            event = LLMCallFailedEvent(
                from_agent=self.agent, from_task=self.task, error=f"{type(error).__name__}: {error}"
            )
            crewai_event_bus.emit(self.agent, event)
