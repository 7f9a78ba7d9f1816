"""A tool whose use is told to the audience of events; what was answered from the journal is not told again.

What a tool's failure means for whoever uses it.

What users' hooks make of a tool's use: other arguments, a refusal, another result.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from crewgraph.compiler.agent.cached_tool import CachedTool
from crewgraph.compiler.agent.toolbox import ToolOutcome
from crewgraph.core.effects import Effect, ToolCall
from crewgraph.core.messages import ToolSpec
from crewgraph.core.plain import plain
from crewgraph.core.replay import is_replayed
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.task.task import Task
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.tool import ToolUsageErrorEvent, ToolUsageFinishedEvent, ToolUsageStartedEvent
from crewgraph.hooks.points import HookAborted, InterceptionPoint, tool_key
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at
from crewgraph.hooks.tool_hooks import ToolCallHookContext, after_tool_call_reducer, before_tool_call_reducer
from crewgraph.text import extract_json
from crewgraph.tools.adapt import AdaptedTool
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.base import BaseTool
from crewgraph.tools.failure import (
    ToolExecutionFailedError,
    ToolFailure,
    ToolFailurePolicy,
    ToolFailureReason,
    ToolFailureRecord,
    emit_failure,
    record_of,
    resolve_tool_failure_policy,
)
from crewgraph.tools.results import observation
from crewgraph.tools.use import GuardedTool
from crewgraph.tools.use import Outcome as Done

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

__all__ = ["EventTool", "Failing", "HookedToolUse", "ToolHooks"]


@dataclass(frozen=True)
class Failing:
    """A tool that failed in the hands of an agent.

    Args:
        tool: the tool as its author wrote it; None where the agent has none of that name.
        name: what the model called it.
    """

    tool: Any
    name: str
    agent: BaseAgent
    task: Task | None
    crew: Crew | None

    @property
    def policy(self) -> ToolFailurePolicy:
        """What that means."""
        return resolve_tool_failure_policy(self.tool, self.agent, self.task, self.crew)

    def record(self, args: dict[str, Any] | str, failure: dict[str, Any]) -> ToolFailureRecord | None:
        """The failure with its call; None where it is ignored."""
        if self.policy is ToolFailurePolicy.IGNORE:
            return None
        return record_of(ToolFailure.model_validate(failure), tool_key(self.name), args, self.agent, self.task)

    def tell(self, args: dict[str, Any] | str, failure: dict[str, Any]) -> None:
        """Tell the audience of events, unless it is ignored."""
        record = self.record(args, failure)
        if record is not None:
            emit_failure(record, self.policy, self.tool, self.agent, self.task)

    def end(self, args: dict[str, Any] | str, failure: dict[str, Any]) -> None:
        """End the task, where that is what it means.

        Raises:
            ToolExecutionFailedError: it is.
        """
        record = self.record(args, failure) if self.policy is ToolFailurePolicy.RAISE else None
        if record is not None:
            self.agent.record_tool_failures([*self.agent.last_tool_failures, record])
            raise ToolExecutionFailedError(record)


_PRE, _POST = InterceptionPoint.PRE_TOOL_CALL, InterceptionPoint.POST_TOOL_CALL


class HookedToolUse(TypedDict):
    """What the hooks before a use came to, as plain data."""

    args: dict[str, Any]
    """What the tool is to be called with."""

    blocked: NotRequired[str]
    """What the model is told where a hook has blocked it."""

    refused: NotRequired[str]
    """What the model is told where the arguments do not fit."""


@dataclass(frozen=True)
class ToolHooks:
    """The hooks around the uses of a tool."""

    tool: AdaptedTool
    agent: BaseAgent
    task: Task | None
    crew: Crew | None

    def __bool__(self) -> bool:
        return bool(hooks_at(_PRE, self.crew) or hooks_at(_POST, self.crew))

    def before(self, args: dict[str, Any]) -> HookedToolUse:
        """Call the hooks before a use."""
        context = self._context(args)
        try:
            dispatch(_PRE, context, reducer=before_tool_call_reducer)
        except HookAborted as aborted:
            return self._blocked(args, aborted)
        return self._ready(args, context)

    async def abefore(self, args: dict[str, Any]) -> HookedToolUse:
        """Call the hooks before a use."""
        context = self._context(args)
        try:
            await adispatch(_PRE, context, reducer=before_tool_call_reducer)
        except HookAborted as aborted:
            return self._blocked(args, aborted)
        return self._ready(args, context)

    def after(self, args: dict[str, Any], outcome: ToolOutcome, raw: Any) -> ToolOutcome:
        """Call the hooks after a use; what came of it in the end."""
        context = self._context(args, outcome["text"], raw)
        try:
            dispatch(_POST, context, reducer=after_tool_call_reducer)
        except HookAborted as aborted:
            return self._withheld(outcome, aborted)
        return self._told(outcome, context)

    async def aafter(self, args: dict[str, Any], outcome: ToolOutcome, raw: Any) -> ToolOutcome:
        """Call the hooks after a use; what came of it in the end."""
        context = self._context(args, outcome["text"], raw)
        try:
            await adispatch(_POST, context, reducer=after_tool_call_reducer)
        except HookAborted as aborted:
            return self._withheld(outcome, aborted)
        return self._told(outcome, context)

    def _context(self, args: dict[str, Any], result: str | None = None, raw: Any = None) -> ToolCallHookContext:
        source = self.tool.source
        given = source.to_structured_tool() if isinstance(source, BaseTool) else source
        return ToolCallHookContext(
            tool_key(self.tool.name), deepcopy(args), given, self.agent, self.task, self.crew, result, raw
        )

    def _ready(self, args: dict[str, Any], context: ToolCallHookContext) -> HookedToolUse:
        changed = plain(context.tool_input)
        return HookedToolUse(args=cast("dict[str, Any]", changed) if isinstance(changed, dict) else args)

    def _blocked(self, args: dict[str, Any], aborted: HookAborted) -> HookedToolUse:
        return HookedToolUse(
            args=args, blocked=f"`{self.tool.name}` was not called: a hook has blocked it ({aborted.reason})."
        )

    def _told(self, outcome: ToolOutcome, context: ToolCallHookContext) -> ToolOutcome:
        text = context.tool_result
        return outcome if text is None or text == outcome["text"] else {**outcome, "text": str(text)}

    def _withheld(self, outcome: ToolOutcome, aborted: HookAborted) -> ToolOutcome:
        text = f"`{self.tool.name}` was called, and a hook withholds what it gave ({aborted.reason})."
        return ToolOutcome(text=text, failed=True, final=False)


@dataclass(frozen=True)
class EventTool:
    """A tool in the hands of an agent at work, on a task or on messages."""

    tool: GuardedTool | CachedTool
    agent: BaseAgent
    task: Task | None
    crew: Crew | None = field(default=None, kw_only=True)

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

    def known(self, args: dict[str, Any]) -> ToolOutcome | None:
        """What it gave before; told as a use."""
        return self._told_again(args, self.tool.known(args)) if isinstance(self.tool, CachedTool) else None

    async def aknown(self, args: dict[str, Any]) -> ToolOutcome | None:
        """What it gave before; told as a use."""
        return self._told_again(args, await self.tool.aknown(args)) if isinstance(self.tool, CachedTool) else None

    def _told_again(self, args: dict[str, Any], known: Done | None) -> ToolOutcome | None:
        if known is None or self.hooks:  # which have their say in the use itself
            return None
        return self.finished(args, self.starting(args), known)

    def prepare(self, written: dict[str, Any] | str) -> dict[str, Any] | Refusal:
        """The arguments that a model wrote, or what is wrong with them; hooks may still mend what is wrong."""
        args = self.tool.prepare(written)
        if isinstance(args, Refusal) and self.hooks:
            read = extract_json(written) if isinstance(written, str) else written
            return cast("dict[str, Any]", read) if isinstance(read, dict) else args
        return args

    def effect(self, args: dict[str, Any]) -> Effect:
        """Its use with these arguments, as a body asks for it."""
        return ToolCall(tool=self, args=args)

    def run(self, args: dict[str, Any], config: "RunnableConfig") -> ToolOutcome:
        started, hooks = self.starting(args), self.hooks
        if not hooks:
            return self.ended(args, self.finished(args, started, self.tool.run(args, config)))
        ready = self.checked(hooks.before(args))
        args = ready["args"]
        done = self.stopped(ready) or self.tool.run(args, config)
        outcome = hooks.after(args, self.outcome_of(done), done["result"])
        return self.ended(args, self.finished(args, started, done, outcome))

    async def arun(self, args: dict[str, Any], config: "RunnableConfig") -> ToolOutcome:
        started, hooks = self.starting(args), self.hooks
        if not hooks:
            return self.ended(args, self.finished(args, started, await self.tool.arun(args, config)))
        ready = self.checked(await hooks.abefore(args))
        args = ready["args"]
        done = self.stopped(ready) or await self.tool.arun(args, config)
        outcome = await hooks.aafter(args, self.outcome_of(done), done["result"])
        return self.ended(args, self.finished(args, started, done, outcome))

    @property
    def hooks(self) -> ToolHooks:
        """What users want called around its uses."""
        return ToolHooks(self.tool.tool, self.agent, self.task, self.crew)

    def checked(self, ready: HookedToolUse) -> HookedToolUse:
        """The arguments that hooks left, as they fit the tool."""
        if "blocked" in ready:
            return ready
        fitting = self.tool.prepare(ready["args"])
        return {**ready, "refused": fitting.text} if isinstance(fitting, Refusal) else {**ready, "args": fitting}

    def stopped(self, ready: HookedToolUse) -> Done | None:
        """What stands for the result of a use that there is not to be; None where it is to be."""
        if "blocked" in ready:
            return Done(ok=False, result=ready["blocked"], blocked=True)
        if "refused" not in ready:
            return None
        failure = ToolFailure(message=ready["refused"], reason=ToolFailureReason.INVALID_INPUT)
        return Done(ok=False, result=ready["refused"], failure=failure.model_dump(mode="json"))

    def starting(self, args: dict[str, Any]) -> datetime:
        """Tell that it is used; when that began."""
        if crewai_event_bus.wants(ToolUsageStartedEvent) and not is_replayed():
            crewai_event_bus.emit(self.agent, ToolUsageStartedEvent(**self._about(args)))
        return datetime.now(UTC)

    def outcome_of(self, done: Done) -> ToolOutcome:
        """What came of a use, as the loop takes it."""
        text, shown = self.tool.tool.shown(done["result"]) if done["ok"] else (observation(done["result"]), [])
        outcome = ToolOutcome(text=text, failed=not done["ok"], final=done["ok"] and self.tool.tool.result_as_answer)
        if done.get("blocked"):
            outcome["blocked"] = True
        if "failure" in done:
            outcome["failure"] = done["failure"]
        return {**outcome, "shown": shown} if shown else outcome

    def finished(
        self, args: dict[str, Any], started: datetime, done: Done, outcome: ToolOutcome | None = None
    ) -> ToolOutcome:
        """Tell what came of it, in the end of what hooks made of it, and put it as the loop takes it."""
        outcome = outcome or self.outcome_of(done)
        if is_replayed():
            return outcome
        if outcome["failed"] and not outcome.get("blocked") and not _is_reported(outcome):
            if crewai_event_bus.wants(ToolUsageErrorEvent):
                crewai_event_bus.emit(self.agent, ToolUsageErrorEvent(**self._about(args), error=outcome["text"]))
        elif crewai_event_bus.wants(ToolUsageFinishedEvent):
            event = ToolUsageFinishedEvent(
                **self._about(args),
                started_at=started,
                finished_at=datetime.now(UTC),
                from_cache=done.get("from_cache", False),
                output=outcome["text"],
                failure=ToolFailure.model_validate(outcome.get("failure")) if _is_reported(outcome) else None,
            )
            crewai_event_bus.emit(self.agent, event)
        if "failure" in outcome:
            self.failing.tell(args, outcome["failure"])
        return outcome

    def ended(self, args: dict[str, Any], outcome: ToolOutcome) -> ToolOutcome:
        """What came of it, unless it is a failure that ends the task.

        Raises:
            ToolExecutionFailedError: it is; so it is not recorded, and a run that is resumed tries it again.
        """
        if "failure" in outcome:
            self.failing.end(args, outcome["failure"])
        return outcome

    @property
    def failing(self) -> Failing:
        """What its failures mean."""
        return Failing(self.tool.tool.source, self.name, self.agent, self.task, self.crew)

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


def _is_reported(outcome: ToolOutcome) -> bool:
    """Whether the tool has done its work, and says itself that it came to nothing."""
    return outcome.get("failure", {}).get("reason") == ToolFailureReason.TOOL_REPORTED.value
