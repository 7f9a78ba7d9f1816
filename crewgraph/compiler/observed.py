"""A tool whose use is told to the audience of events; what was answered from the journal is not told again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crewgraph.compiler.cached import CachedTool
from crewgraph.compiler.toolbox import Outcome
from crewgraph.core.effects import Effect, ToolCall
from crewgraph.core.messages import ToolSpec
from crewgraph.core.told import is_told_again
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.task import Task
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.observation import observation
from crewgraph.tools.use import GuardedTool
from crewgraph.tools.use import Outcome as Done

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["ObservedTool"]


@dataclass(frozen=True)
class ObservedTool:
    """A tool in the hands of an agent at work, on a task or on messages."""

    tool: GuardedTool | CachedTool
    agent: BaseAgent
    task: Task | None

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def spec(self) -> ToolSpec:
        return self.tool.spec

    @property
    def once(self) -> bool:
        return self.tool.once

    @property
    def require_approval(self) -> bool | Callable[..., Any]:
        """Whether a person has to allow its calls, or a function that says so of a call's arguments."""
        return self.tool.tool.require_approval

    @property
    def remembers(self) -> bool:
        """Whether what it gave is kept, and given again."""
        return isinstance(self.tool, CachedTool)

    def known(self, args: dict[str, Any]) -> Outcome | None:
        """What it gave before; told as a use."""
        return self._told_again(args, self.tool.known(args)) if isinstance(self.tool, CachedTool) else None

    async def aknown(self, args: dict[str, Any]) -> Outcome | None:
        """What it gave before; told as a use."""
        return self._told_again(args, await self.tool.aknown(args)) if isinstance(self.tool, CachedTool) else None

    def _told_again(self, args: dict[str, Any], known: Done | None) -> Outcome | None:
        return None if known is None else self.finished(args, self.starting(args), known)

    def prepare(self, written: dict[str, Any] | str) -> dict[str, Any] | Refusal:
        """The arguments that a model wrote, or what is wrong with them."""
        return self.tool.prepare(written)

    def effect(self, args: dict[str, Any]) -> Effect:
        """Its use with these arguments, as a body asks for it."""
        return ToolCall(tool=self, args=args)

    def run(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        started = self.starting(args)
        return self.finished(args, started, self.tool.run(args, config))

    async def arun(self, args: dict[str, Any], config: "RunnableConfig") -> Outcome:
        started = self.starting(args)
        return self.finished(args, started, await self.tool.arun(args, config))

    def starting(self, args: dict[str, Any]) -> datetime:
        """Tell that it is used; when that began."""
        if _wanted(ToolUsageStartedEvent):
            crewai_event_bus.emit(self.agent, ToolUsageStartedEvent(**self._about(args)))
        return datetime.now(UTC)

    def finished(self, args: dict[str, Any], started: datetime, done: Done) -> Outcome:
        """Tell what came of it, and put it as the loop takes it."""
        text, shown = self.tool.tool.shown(done["result"]) if done["ok"] else (observation(done["result"]), [])
        if not done["ok"]:
            if _wanted(ToolUsageErrorEvent):
                crewai_event_bus.emit(self.agent, ToolUsageErrorEvent(**self._about(args), error=text))
        elif _wanted(ToolUsageFinishedEvent):
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


def _wanted(event: type[BaseEvent]) -> bool:
    return crewai_event_bus.wants(event) and not is_told_again()
