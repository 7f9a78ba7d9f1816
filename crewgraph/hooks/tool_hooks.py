"""Hooks before and after a call of a tool."""

from collections.abc import Callable
from typing import Any

from crewgraph.hooks.points import Asking, InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import clear, get_hooks, register_hook, unregister
from crewgraph.schema import PlainDict

_PRE, _POST = InterceptionPoint.PRE_TOOL_CALL, InterceptionPoint.POST_TOOL_CALL


class ToolCallHookContext(Asking):
    """A call of a tool.

    Args:
        tool_name: the tool, as models call it.
        tool_input: its arguments; changes in place apply to the call.
        tool: the tool.
        agent: the agent that calls it.
        task: the agent's task.
        crew: the agent's crew.
        tool_result: the text for the model; None before the call.
        raw_tool_result: the tool's result as plain data.
    """

    def __init__(
        self,
        tool_name: str,
        tool_input: PlainDict,
        tool: Any,
        agent: Any = None,
        task: Any = None,
        crew: Any = None,
        tool_result: str | None = None,
        raw_tool_result: Any = None,
    ) -> None:
        self.tool_name = tool_name
        self.tool_input = tool_input
        self.tool = tool
        self.agent = agent
        self.task = task
        self.crew = crew
        self.tool_result = tool_result
        self.raw_tool_result = raw_tool_result


_BeforeHook = Callable[[ToolCallHookContext], bool | None]
_AfterHook = Callable[[ToolCallHookContext], str | None]


def before_tool_call_reducer(context: ToolCallHookContext, result: object) -> bool:
    """Apply the result of a hook before the call: False blocks the call.

    Raises:
        LegacyHookBlocked: it is False.
    """
    if result is False:
        raise LegacyHookBlocked("a `before_tool_call` hook returned False")
    return False


def after_tool_call_reducer(context: ToolCallHookContext, result: object) -> bool:
    """Apply the result of a hook after the call: a text replaces the result."""
    if not isinstance(result, str):
        return False
    context.tool_result = result
    return True


def register_before_tool_call_hook(hook: _BeforeHook) -> None:
    """Register a hook that is called before each tool call; returning False blocks the call."""
    register_hook(_PRE, hook)


def register_after_tool_call_hook(hook: _AfterHook) -> None:
    """Register a hook that is called after each tool call; a returned text replaces the result."""
    register_hook(_POST, hook)


def get_before_tool_call_hooks() -> list[_BeforeHook]:
    """Return the hooks before tool calls."""
    return get_hooks(_PRE)


def get_after_tool_call_hooks() -> list[_AfterHook]:
    """Return the hooks after tool calls."""
    return get_hooks(_POST)


def unregister_before_tool_call_hook(hook: _BeforeHook) -> bool:
    """Unregister a hook; return False if it was not registered."""
    return unregister(_PRE, hook)


def unregister_after_tool_call_hook(hook: _AfterHook) -> bool:
    """Unregister a hook; return False if it was not registered."""
    return unregister(_POST, hook)


def clear_before_tool_call_hooks() -> int:
    """Unregister all hooks before tool calls; return their number."""
    return clear(_PRE)


def clear_after_tool_call_hooks() -> int:
    """Unregister all hooks after tool calls; return their number."""
    return clear(_POST)


def clear_all_tool_call_hooks() -> tuple[int, int]:
    """Unregister the hooks of both kinds; return their numbers."""
    return clear_before_tool_call_hooks(), clear_after_tool_call_hooks()
