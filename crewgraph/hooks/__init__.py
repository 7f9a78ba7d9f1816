"""Hooks: user functions that are called around model requests, tool calls, tasks, methods and whole runs."""

from crewgraph.errors import HookAborted
from crewgraph.hooks.decorators import after_llm_call, after_tool_call, before_llm_call, before_tool_call, on
from crewgraph.hooks.llm_hooks import (
    LLMCallHookContext,
    clear_after_llm_call_hooks,
    clear_all_llm_call_hooks,
    clear_before_llm_call_hooks,
    get_after_llm_call_hooks,
    get_before_llm_call_hooks,
    register_after_llm_call_hook,
    register_before_llm_call_hook,
    unregister_after_llm_call_hook,
    unregister_before_llm_call_hook,
)
from crewgraph.hooks.points import EXECUTION_BOUNDARY_POINTS, InterceptionPoint
from crewgraph.hooks.registry import clear as clear_hooks
from crewgraph.hooks.registry import clear_all as clear_all_hooks
from crewgraph.hooks.registry import dispatch, get_hooks, register_hook, scoped_hooks
from crewgraph.hooks.registry import unregister as unregister_hook
from crewgraph.hooks.tool_hooks import (
    ToolCallHookContext,
    clear_after_tool_call_hooks,
    clear_all_tool_call_hooks,
    clear_before_tool_call_hooks,
    get_after_tool_call_hooks,
    get_before_tool_call_hooks,
    register_after_tool_call_hook,
    register_before_tool_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)

__all__ = [
    "EXECUTION_BOUNDARY_POINTS",
    "HookAborted",
    "InterceptionPoint",
    "LLMCallHookContext",
    "ToolCallHookContext",
    "after_llm_call",
    "after_tool_call",
    "before_llm_call",
    "before_tool_call",
    "clear_after_llm_call_hooks",
    "clear_after_tool_call_hooks",
    "clear_all_global_hooks",
    "clear_all_hooks",
    "clear_all_llm_call_hooks",
    "clear_all_tool_call_hooks",
    "clear_before_llm_call_hooks",
    "clear_before_tool_call_hooks",
    "clear_hooks",
    "dispatch",
    "get_after_llm_call_hooks",
    "get_after_tool_call_hooks",
    "get_before_llm_call_hooks",
    "get_before_tool_call_hooks",
    "get_hooks",
    "on",
    "register_after_llm_call_hook",
    "register_after_tool_call_hook",
    "register_before_llm_call_hook",
    "register_before_tool_call_hook",
    "register_hook",
    "scoped_hooks",
    "unregister_after_llm_call_hook",
    "unregister_after_tool_call_hook",
    "unregister_before_llm_call_hook",
    "unregister_before_tool_call_hook",
    "unregister_hook",
]


def clear_all_global_hooks() -> dict[str, tuple[int, int]]:
    """Unregister all hooks around models and tools; return their numbers by kind, and the total."""
    models, tools = clear_all_llm_call_hooks(), clear_all_tool_call_hooks()
    return {
        "llm_hooks": models,
        "tool_hooks": tools,
        "total": (models[0] + tools[0], models[1] + tools[1]),
    }
