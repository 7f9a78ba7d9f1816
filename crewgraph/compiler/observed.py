"""A model and a tool whose use is told to the audience of events; what was answered from the journal is not told again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from crewgraph.compiler.cached import CachedTool
from crewgraph.compiler.pieces import telling_pieces
from crewgraph.compiler.toolbox import Outcome
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.plain import plain
from crewgraph.core.ports import Model
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.task import Task
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.llm import LLMCallCompletedEvent, LLMCallFailedEvent, LLMCallStartedEvent, LLMCallType
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.image import AddImageTool, shown_by
from crewgraph.tools.use import GuardedTool, observation
from crewgraph.tools.use import Outcome as Done

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["ObservedModel", "ObservedTool"]

_SHOWN = "Here is the image."


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
            reply = self.model.complete(messages, tools, stop, telling_pieces(config, self.agent, self.task))
        except BaseException as error:
            self._failed(error)
            raise
        return self._answered(messages, reply)

    async def acomplete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], stop: Sequence[str], config: "RunnableConfig"
    ) -> Reply:
        self._asking(messages, tools)
        try:
            telling = telling_pieces(config, self.agent, self.task)
            reply = await self.model.acomplete(messages, tools, stop, telling)
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
        reply = cast(Reply, plain(reply))  # half a character (an emoji cut in two) can be neither stored nor sent
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
                from_agent=self.agent,
                from_task=self.task,
                model=self.name,
                error=f"{type(error).__name__}: {error}",
            )
            crewai_event_bus.emit(self.agent, event)


@dataclass(frozen=True)
class ObservedTool:
    """A tool in the hands of an agent at work on a task."""

    tool: GuardedTool | CachedTool
    agent: BaseAgent
    task: Task

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def spec(self) -> ToolSpec:
        return self.tool.spec

    @property
    def once(self) -> bool:
        return self.tool.once

    def prepare(self, written: dict[str, Any] | str) -> dict[str, Any] | Refusal:
        """The arguments that a model wrote, or what is wrong with them."""
        return self.tool.prepare(written)

    def run(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        started = self._starting(args)
        return self._finished(args, started, self.tool.run(args, config))

    async def arun(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        started = self._starting(args)
        return self._finished(args, started, await self.tool.arun(args, config))

    def _starting(self, args: dict[str, Any]) -> datetime:
        if crewai_event_bus.wants(ToolUsageStartedEvent):
            crewai_event_bus.emit(self.agent, ToolUsageStartedEvent(**self._about(args)))
        return datetime.now(UTC)

    def _finished(self, args: dict[str, Any], started: datetime, done: Done) -> Outcome:
        source = self.tool.tool.source
        shown = shown_by(done["result"]) if done["ok"] and isinstance(source, AddImageTool) else []
        text = _SHOWN if shown else observation(done["result"])
        if not done["ok"]:
            if crewai_event_bus.wants(ToolUsageErrorEvent):
                crewai_event_bus.emit(self.agent, ToolUsageErrorEvent(**self._about(args), error=text))
        elif crewai_event_bus.wants(ToolUsageFinishedEvent):
            event = ToolUsageFinishedEvent(
                **self._about(args),
                started_at=started,
                finished_at=datetime.now(UTC),
                from_cache=done.get("from_cache", False),
                output=text,
            )
            crewai_event_bus.emit(self.agent, event)
        outcome = Outcome(text=text, failed=not done["ok"], final=done["ok"] and self.tool.tool.result_as_answer)
        return {**outcome, "shown": shown} if shown else outcome

    def _about(self, args: dict[str, Any]) -> dict[str, Any]:
        return {
            "tool_name": self.tool.tool.title,
            "tool_args": args,
            "tool_class": type(self.tool.tool.source).__name__,
            "agent": self.agent,
            "agent_key": self.agent.key,
            "from_agent": self.agent,
            "from_task": self.task,
        }
