"""What users' hooks make of a tool's use: other arguments, a refusal, another result."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

from crewgraph.compiler.toolbox import Outcome
from crewgraph.core.plain import plain
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.task import Task
from crewgraph.hooks.points import HookAborted, InterceptionPoint, tool_key
from crewgraph.hooks.registry import adispatch, dispatch, hooks_at
from crewgraph.hooks.tool_hooks import ToolCallHookContext, after_tool_call_reducer, before_tool_call_reducer
from crewgraph.tools.adapt import AdaptedTool
from crewgraph.tools.base import BaseTool

__all__ = ["Hooked", "ToolHooks"]

_PRE, _POST = InterceptionPoint.PRE_TOOL_CALL, InterceptionPoint.POST_TOOL_CALL


class Hooked(TypedDict):
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

    def before(self, args: dict[str, Any]) -> Hooked:
        """Call the hooks before a use."""
        context = self._context(args)
        try:
            dispatch(_PRE, context, reducer=before_tool_call_reducer)
        except HookAborted as aborted:
            return self._blocked(args, aborted)
        return self._ready(args, context)

    async def abefore(self, args: dict[str, Any]) -> Hooked:
        """Call the hooks before a use."""
        context = self._context(args)
        try:
            await adispatch(_PRE, context, reducer=before_tool_call_reducer)
        except HookAborted as aborted:
            return self._blocked(args, aborted)
        return self._ready(args, context)

    def after(self, args: dict[str, Any], outcome: Outcome, raw: Any) -> Outcome:
        """Call the hooks after a use; what came of it in the end."""
        context = self._context(args, outcome["text"], raw)
        try:
            dispatch(_POST, context, reducer=after_tool_call_reducer)
        except HookAborted as aborted:
            return self._withheld(outcome, aborted)
        return self._told(outcome, context)

    async def aafter(self, args: dict[str, Any], outcome: Outcome, raw: Any) -> Outcome:
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

    def _ready(self, args: dict[str, Any], context: ToolCallHookContext) -> Hooked:
        changed = plain(context.tool_input)
        return Hooked(args=cast("dict[str, Any]", changed) if isinstance(changed, dict) else args)

    def _blocked(self, args: dict[str, Any], aborted: HookAborted) -> Hooked:
        return Hooked(
            args=args, blocked=f"`{self.tool.name}` was not called: a hook has blocked it ({aborted.reason})."
        )

    def _told(self, outcome: Outcome, context: ToolCallHookContext) -> Outcome:
        text = context.tool_result
        return outcome if text is None or text == outcome["text"] else {**outcome, "text": str(text)}

    def _withheld(self, outcome: Outcome, aborted: HookAborted) -> Outcome:
        text = f"`{self.tool.name}` was called, and a hook withholds what it gave ({aborted.reason})."
        return Outcome(text=text, failed=True, final=False)
