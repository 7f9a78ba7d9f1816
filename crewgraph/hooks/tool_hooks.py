"""Hooks before and after a call of a tool."""

from collections.abc import Callable
from typing import Any

from crewgraph.hooks.points import Asking, HookAborted, InterceptionPoint, LegacyHookBlocked
from crewgraph.hooks.registry import clear, dispatch, get_hooks, register_hook, unregister
from crewgraph.schema import PlainDict

__all__ = [
    "ToolCallHookContext",
    "after_tool_call_reducer",
    "before_tool_call_reducer",
    "clear_after_tool_call_hooks",
    "clear_all_tool_call_hooks",
    "clear_before_tool_call_hooks",
    "get_after_tool_call_hooks",
    "get_before_tool_call_hooks",
    "register_after_tool_call_hook",
    "register_before_tool_call_hook",
    "run_after_tool_call_hooks",
    "run_before_tool_call_hooks",
    "unregister_after_tool_call_hook",
    "unregister_before_tool_call_hook",
]


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
    """False stops the call.

    Raises:
        LegacyHookBlocked: it is False.
    """
    if result is False:
        raise LegacyHookBlocked("a `before_tool_call` hook returned False")
    return False


def after_tool_call_reducer(context: ToolCallHookContext, result: object) -> bool:
    """A text is the result from now on."""
    if not isinstance(result, str):
        return False
    context.tool_result = result
    return True


def run_before_tool_call_hooks(context: ToolCallHookContext) -> bool:
    """Call the hooks before a tool; whether one blocks it."""
    try:
        dispatch(_PRE, context, reducer=before_tool_call_reducer)
    except HookAborted:
        return True
    return False


def run_after_tool_call_hooks(context: ToolCallHookContext) -> str | None:
    """Call the hooks after a tool; the text that the model is shown.

    Raises:
        HookAborted: a hook raised it.
    """
    dispatch(_POST, context, reducer=after_tool_call_reducer)
    return context.tool_result


def register_before_tool_call_hook(hook: _BeforeHook) -> None:
    """Call a hook before each call of a tool; one that returns False blocks it."""
    register_hook(_PRE, hook)


def register_after_tool_call_hook(hook: _AfterHook) -> None:
    """Call a hook after each call of a tool; a text that it returns replaces the result."""
    register_hook(_POST, hook)


def get_before_tool_call_hooks() -> list[_BeforeHook]:
    """The hooks before tools."""
    return get_hooks(_PRE)


def get_after_tool_call_hooks() -> list[_AfterHook]:
    """The hooks after tools."""
    return get_hooks(_POST)


def unregister_before_tool_call_hook(hook: _BeforeHook) -> bool:
    """Take a hook away; whether it was there."""
    return unregister(_PRE, hook)


def unregister_after_tool_call_hook(hook: _AfterHook) -> bool:
    """Take a hook away; whether it was there."""
    return unregister(_POST, hook)


def clear_before_tool_call_hooks() -> int:
    """Take all hooks before tools away; how many there were."""
    return clear(_PRE)


def clear_after_tool_call_hooks() -> int:
    """Take all hooks after tools away; how many there were."""
    return clear(_POST)


def clear_all_tool_call_hooks() -> tuple[int, int]:
    """Take both kinds away; how many there were of each."""
    return clear_before_tool_call_hooks(), clear_after_tool_call_hooks()
