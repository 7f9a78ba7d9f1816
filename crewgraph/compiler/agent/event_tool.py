"""Tools that emit events, run hooks and apply the policy for failures.

Results that are replayed from the journal emit no events. Hooks may change the arguments, block the call, or change the
result. They see the arguments as the tool gets them: validated, with defaults.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NotRequired, Self, TypedDict, cast

from langchain_core.runnables import RunnableConfig

from crewgraph.compiler.agent.cached_tool import use_cached
from crewgraph.compiler.agent.toolbox import CheckedArguments, ToolOutcome, command_outcome
from crewgraph.core.current import is_replayed, is_traced
from crewgraph.core.effects import Effect, ToolCallEffect
from crewgraph.core.limits import run_meter
from crewgraph.core.messages import ToolSpec
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.plain import plain, unstorable
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import HookAborted, ToolFailed
from crewgraph.events import late
from crewgraph.events.bus import crewai_event_bus
from crewgraph.hooks.points import InterceptionPoint
from crewgraph.hooks.registry import dispatching, hooks_at
from crewgraph.hooks.tool_hooks import ToolCallHookContext, after_tool_call_reducer, before_tool_call_reducer
from crewgraph.schema import PlainDict
from crewgraph.text import extract_json
from crewgraph.tools.adapt import NO_COMMANDS, AdaptedTool, identified, is_command, with_call
from crewgraph.tools.arguments import Refusal
from crewgraph.tools.base import BaseTool
from crewgraph.tools.failure import (
    ToolExecutionFailedError,
    ToolFailure,
    ToolFailurePolicy,
    ToolFailureReason,
    ToolFailureRecord,
    record_of,
    resolve_tool_failure_policy,
)
from crewgraph.tools.results import observation
from crewgraph.tools.use import Outcome as Done
from crewgraph.tools.use import prepare, use


@dataclass(frozen=True)
class FailingTool:
    """A tool that failed for an agent.

    Args:
        tool: the tool as its author wrote it; None where the agent has none of that name.
        name: the name the model used.
    """

    tool: Any
    name: str
    agent: BaseAgentDefinition
    task: TaskDefinition | None
    crew: CrewDefinition | None

    @property
    def policy(self) -> ToolFailurePolicy:
        """How the failure is handled."""
        return resolve_tool_failure_policy(self.tool, self.agent, self.task, self.crew)

    def record(self, args: PlainDict | str, failure: dict[str, object]) -> ToolFailureRecord | None:
        """Return a record of the failure and its call; None if the failure is ignored."""
        if self.policy is ToolFailurePolicy.IGNORE:
            return None
        return record_of(ToolFailure.model_validate(failure), self.name, args, self.agent, self.task)

    def report(self, args: PlainDict | str, failure: dict[str, object]) -> None:
        """Emit the event of the failure, unless it is ignored."""
        record, event = self.record(args, failure), late.ToolFailureDetectedEvent
        if record is not None and crewai_event_bus.wants(event):
            detected = event(
                tool_name=record.tool_name,
                tool_args={} if record.tool_args is None else record.tool_args,
                tool_class=None if self.tool is None else type(self.tool).__name__,
                agent=self.agent,
                agent_key=self.agent.key,
                from_agent=self.agent,
                from_task=self.task,
                failure=record.failure,
                policy=self.policy,
            )
            crewai_event_bus.emit(self.agent, detected)

    def raise_if_fatal(self, args: PlainDict | str, failure: dict[str, object]) -> None:
        """End the task if the policy is to raise.

        Raises:
            ToolExecutionFailedError: the policy is to raise.
        """
        record = self.record(args, failure) if self.policy is ToolFailurePolicy.RAISE else None
        if record is not None:
            self.agent.record_tool_failures([*self.agent.last_tool_failures, record])
            raise ToolExecutionFailedError(record)


_PRE, _POST = InterceptionPoint.PRE_TOOL_CALL, InterceptionPoint.POST_TOOL_CALL


class HookedToolUse(TypedDict):
    """What the hooks before a call decided, as plain data."""

    args: PlainDict
    """The arguments as the tool is to get them."""

    blocked: NotRequired[str]
    """The text for the model if a hook blocked the call."""


@dataclass(frozen=True)
class EventTool:
    """A tool used by an agent, for a task or for messages; emits events for its calls."""

    tool: AdaptedTool
    agent: BaseAgentDefinition
    task: TaskDefinition | None
    crew: CrewDefinition | None = field(default=None, kw_only=True)
    cache: Any = field(default=None, kw_only=True)
    """Reads and adds its results; None without a cache."""

    checked: CheckedArguments | None = field(default=None, kw_only=True)
    """The arguments of the call, if the hooks before it have run already: before a person was asked."""

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
    def require_approval(self) -> bool | Callable[..., object]:
        """Whether calls need a person's approval, or a function that decides by the arguments."""
        return self.tool.require_approval

    def prepare(self, raw_args: dict[str, object] | str) -> dict[str, object] | Refusal:
        """Return the validated arguments, or what is wrong with them; hooks may still correct invalid ones."""
        args = prepare(self.tool, raw_args)
        if isinstance(args, Refusal) and self.is_hooked:
            parsed = extract_json(raw_args) if isinstance(raw_args, str) else raw_args
            fields = cast("PlainDict", parsed) if isinstance(parsed, dict) else None
            return args if fields is None or unstorable(fields) else fields
        return args

    def resolved(self, args: PlainDict) -> PlainDict:
        """Return arguments as the tool gets them: validated, with defaults, by its own names; invalid ones unchanged."""
        prepared = prepare(self.tool, args)
        return args if isinstance(prepared, Refusal) else self.tool.resolved(prepared)

    def check(self, args: PlainDict) -> Program[CheckedArguments]:
        """Run the hooks before a call; return the arguments that the tool is to get."""
        resolved = self.resolved(args)
        use = (yield from self.run_before_hooks(resolved)) if self.is_hooked else HookedToolUse(args=resolved)
        return self._fixed(self.revalidate(args, use))

    def checked_as(self, checked: CheckedArguments) -> Self:
        """Return the tool for a call whose arguments have been checked: the hooks before it do not run again."""
        return replace(self, checked=checked)

    def _fixed(self, checked: CheckedArguments) -> CheckedArguments:
        """Return the same, with defaults written out where they are made anew for each call."""
        if "blocked" in checked or "refused" in checked:
            return checked
        for given in (checked["given"], {**self.tool.as_written(checked["args"]), **checked["given"]}):
            if self.resolved(given) == checked["args"]:
                return {**checked, "given": given}
        text = f"`{self.name}` was not used: its arguments are others each time they are validated, so nobody can approve them."
        return {**checked, "refused": text}

    def effect(self, args: PlainDict) -> Effect:
        """Return the effect of calling the tool with these arguments."""
        approved = None if self.checked is None else self.checked["args"]
        return ToolCallEffect(tool=self, args=args, approved=approved)

    def run(self, args: PlainDict, config: RunnableConfig) -> ToolOutcome:
        return drive(self._use(args, config))

    async def arun(self, args: PlainDict, config: RunnableConfig) -> ToolOutcome:
        return await adrive(self._use(args, config))

    def _result(self, args: PlainDict, config: RunnableConfig) -> Program[Done]:
        return use(self.tool, args, config) if self.cache is None else use_cached(self.tool, self.cache, args, config)

    def _use(self, args: PlainDict, config: RunnableConfig) -> Program[ToolOutcome]:
        config = identified(config) if is_traced(config) else config
        if not self.is_hooked and self.checked is None:
            started = self.report_start(args)
            result = yield from self._result(args, config)
            return self.raise_if_fatal(args, self.report_end(args, started, result))
        checked = self.checked or self.revalidate(args, (yield from self.run_before_hooks(self.resolved(args))))
        args = checked["given"]
        started, traced = self.report_start(args), TracedResult(self, checked["args"])
        with self.reporting_denial(args):
            if (blocked := self.blocked_result(checked)) is None:
                if is_traced(config):
                    config = with_call(config, shown=traced.shown)
                result = yield from self._result(args, config)
            else:
                result = blocked
            outcome = traced.outcome
            if outcome is None:
                outcome = yield from self.run_after_hooks(checked["args"], self.outcome_of(result), result["result"])
        return self.raise_if_fatal(args, self.report_end(args, started, result, outcome))

    @property
    def is_hooked(self) -> bool:
        """Whether the user has hooks around its calls."""
        return bool(hooks_at(_PRE, self.crew) or hooks_at(_POST, self.crew))

    def run_before_hooks(self, args: PlainDict) -> Program[HookedToolUse]:
        """Run the hooks before a call."""
        context = self._context(args)
        try:
            yield from dispatching(_PRE, context, before_tool_call_reducer)
        except HookAborted as aborted:
            text = f"`{self.name}` was not called: a hook has blocked it ({aborted.reason})."
            return {**_hooked_use(args, context), "blocked": text}
        return _hooked_use(args, context)

    def run_after_hooks(self, args: PlainDict, outcome: ToolOutcome, raw: object) -> Program[ToolOutcome]:
        """Run the hooks after a call; return the outcome as they leave it.

        Raises:
            HookAborted: a hook denied the result; it is recorded, so that a resumed run does not call the tool again.
        """
        context = self._context(args, outcome["text"], raw)
        try:
            yield from dispatching(_POST, context, after_tool_call_reducer)
        except HookAborted as aborted:
            aborted.has_happened = True
            raise
        text = context.tool_result
        if text is None or text == outcome["text"]:
            return outcome
        changed: ToolOutcome = {**outcome, "text": str(text)}
        if "failure" in outcome:
            changed["failure"] = {**outcome["failure"], "message": str(text)}
        return changed

    def _context(self, args: PlainDict, result: str | None = None, raw: object = None) -> ToolCallHookContext:
        source = self.tool.source
        tool = source.to_structured_tool() if isinstance(source, BaseTool) else source
        return ToolCallHookContext(self.name, deepcopy(args), tool, self.agent, self.task, self.crew, result, raw)

    def revalidate(self, args: PlainDict, use: HookedToolUse) -> CheckedArguments:
        """Validate the arguments of a call as the hooks left them."""
        if use["args"] != self.resolved(args):
            args = self.tool.giving(use["args"], args)
        if "blocked" in use:
            return {**use, "given": args}
        prepared = prepare(self.tool, args)
        if isinstance(prepared, Refusal):
            return {**use, "given": args, "refused": prepared.text}
        return {"args": self.tool.resolved(prepared), "given": prepared}

    def blocked_result(self, use: CheckedArguments) -> Done | None:
        """Return the result of a call that was blocked or refused; None if the call is to be made."""
        if "blocked" in use:
            return Done(ok=False, result=use["blocked"], blocked=True)
        if "refused" not in use:
            return None
        failure = ToolFailure(message=use["refused"], reason=ToolFailureReason.EXCEPTION)
        return Done(ok=False, result=use["refused"], failure=failure.model_dump(mode="json"))

    def report_start(self, args: PlainDict) -> datetime:
        """Emit the event of the call's start; return the time.

        Raises:
            ToolFailed: it is to steer a graph around the crew, and there is none.
        """
        if self.tool.steers and (run := run_meter()).node is None and not run.keys:
            raise ToolFailed(
                f"the tool `{self.name}` returns a LangGraph `Command` by its annotation, and there is no graph around the "
                f"run that it could steer: it was not called. {NO_COMMANDS}"
            )
        if crewai_event_bus.wants(late.ToolUsageStartedEvent) and not is_replayed():
            crewai_event_bus.emit(self.agent, late.ToolUsageStartedEvent(**self._event_fields(args)))
        return datetime.now(UTC)

    def outcome_of(self, result: Done) -> ToolOutcome:
        """Convert a result to an outcome for the loop."""
        if is_command(result["result"]):
            return command_outcome(self.tool.title, result["result"])
        text, shown = self.tool.shown(result["result"]) if result["ok"] else (observation(result["result"]), [])
        outcome = ToolOutcome(
            text=text,
            failed=not result["ok"],
            final=(result["ok"] or result.get("blocked", False)) and self.tool.result_as_answer,
        )
        if result.get("blocked"):
            outcome["blocked"] = True
        if "disobeyed" in result:
            outcome["disobeyed"] = result["disobeyed"]
        if result.get("from_cache"):
            outcome["from_cache"] = True
        if "failure" in result:
            outcome["failure"] = result["failure"]
        return {**outcome, "shown": shown} if shown else outcome

    def report_end(
        self, args: PlainDict, started: datetime, result: Done, outcome: ToolOutcome | None = None
    ) -> ToolOutcome:
        """Emit the event of the call's end, with the outcome as hooks left it; return that outcome."""
        outcome = outcome or self.outcome_of(result)
        if is_replayed():
            return outcome
        if outcome["failed"] and not outcome.get("blocked") and _is_error(outcome):
            if crewai_event_bus.wants(late.ToolUsageErrorEvent):
                is_changed = outcome["text"] != self.outcome_of(result)["text"]  # hooks redact texts, not exceptions
                error = outcome["text"] if is_changed else result.get("error", outcome["text"])
                crewai_event_bus.emit(self.agent, late.ToolUsageErrorEvent(**self._event_fields(args), error=error))
        elif crewai_event_bus.wants(late.ToolUsageFinishedEvent):
            event = late.ToolUsageFinishedEvent(
                **self._event_fields(args),
                started_at=started,
                finished_at=datetime.now(UTC),
                from_cache=result.get("from_cache", False),
                output=outcome["text"],
                failure=ToolFailure.model_validate(outcome["failure"]) if "failure" in outcome else None,
            )
            crewai_event_bus.emit(self.agent, event)
        if "failure" in outcome:
            self.failing_tool.report(args, outcome["failure"])
        return outcome

    @contextmanager
    def reporting_denial(self, args: PlainDict) -> Generator[None]:
        """Emit the event of a call whose result a hook in the block denies."""
        try:
            yield
        except HookAborted as aborted:
            if crewai_event_bus.wants(late.ToolUsageErrorEvent) and not is_replayed():
                crewai_event_bus.emit(self.agent, late.ToolUsageErrorEvent(**self._event_fields(args), error=aborted))
            raise

    def raise_if_fatal(self, args: PlainDict, outcome: ToolOutcome) -> ToolOutcome:
        """Return the outcome, unless it is a failure that ends the task.

        Raises:
            ToolExecutionFailedError: it is; nothing is recorded then, so that a resumed run calls the tool again.
        """
        if "failure" in outcome:
            self.failing_tool.raise_if_fatal(args, outcome["failure"])
        return outcome

    @property
    def failing_tool(self) -> FailingTool:
        """The handling of its failures."""
        return FailingTool(self.tool.source, self.name, self.agent, self.task, self.crew)

    def _event_fields(self, args: PlainDict) -> dict[str, Any]:
        return {
            "tool_name": self.name,
            "tool_args": args,
            "tool_class": type(self.tool.source).__name__,
            "agent": self.agent,
            "agent_key": self.agent.key,
            "from_agent": self.agent,
            "from_task": self.task,
        }


@dataclass
class TracedResult:
    """The result of a call in the trace: hooks after the call run before the trace shows it."""

    tool: EventTool
    args: PlainDict
    outcome: ToolOutcome | None = None
    """The outcome as the hooks left it; None if the call is not traced, or failed."""

    def shown(self, raw: object) -> Program[object]:
        """Run the hooks after the call; return what the trace shows."""
        before = self.tool.outcome_of(Done(ok=True, result=raw))
        self.outcome = yield from self.tool.run_after_hooks(self.args, before, raw)
        return raw if self.outcome is before else self.outcome["text"]


def _hooked_use(args: PlainDict, context: ToolCallHookContext) -> HookedToolUse:
    changed = plain(context.tool_input)
    return HookedToolUse(args=cast("PlainDict", changed) if isinstance(changed, dict) else args)


_ERRORS = {None, ToolFailureReason.EXCEPTION.value, ToolFailureReason.MCP_ERROR.value}


def _is_error(outcome: ToolOutcome) -> bool:
    """Return whether a failed call ends with an event of an error; otherwise, as in CrewAI, it is finished."""
    return outcome.get("failure", {}).get("reason") in _ERRORS
