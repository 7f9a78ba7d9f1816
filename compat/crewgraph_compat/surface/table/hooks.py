"""Hooks around models, tools, steps and runs, and interceptors of HTTP."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_HOOKS = "crewgraph.hooks"
_POINTS = {
    **rows("crewgraph.hooks.points", "EXECUTION_BOUNDARY_POINTS", "InterceptionPoint"),
    **rows("crewgraph.errors", "HookAborted"),
}
_DECORATORS = rows(
    "crewgraph.hooks.decorators", "after_llm_call", "after_tool_call", "before_llm_call", "before_tool_call"
)
_ON = rows("crewgraph.hooks.decorators", "on")
_DISPATCH = rows("crewgraph.hooks.registry", "dispatch")
_MODEL = rows(
    "crewgraph.hooks.llm_hooks",
    "LLMCallHookContext",
    "clear_after_llm_call_hooks",
    "clear_all_llm_call_hooks",
    "clear_before_llm_call_hooks",
    "get_after_llm_call_hooks",
    "get_before_llm_call_hooks",
    "register_after_llm_call_hook",
    "register_before_llm_call_hook",
    "unregister_after_llm_call_hook",
    "unregister_before_llm_call_hook",
)
_TOOL = rows(
    "crewgraph.hooks.tool_hooks",
    "ToolCallHookContext",
    "clear_after_tool_call_hooks",
    "clear_all_tool_call_hooks",
    "clear_before_tool_call_hooks",
    "get_after_tool_call_hooks",
    "get_before_tool_call_hooks",
    "register_after_tool_call_hook",
    "register_before_tool_call_hook",
    "unregister_after_tool_call_hook",
    "unregister_before_tool_call_hook",
)
_OF_MODELS = rows("crewgraph.hooks.decorators", "AfterLLMCallHookType", "BeforeLLMCallHookType")
_OF_TOOLS = rows("crewgraph.hooks.decorators", "AfterToolCallHookType", "BeforeToolCallHookType")
_GLOBAL_LIST = rows("crewgraph.hooks.registry", "get_global_hook_list")
_INTERCEPTOR = rows("crewgraph.llm.connection", "BaseInterceptor")

MODULES: dict[str, dict[str, str]] = {
    "crewai.hooks": {
        **_POINTS,
        **_DECORATORS,
        **_ON,
        **_DISPATCH,
        **_MODEL,
        **_TOOL,
        **rows(
            "crewgraph.hooks.registry",
            "get_hooks",
            "register_hook",
            clear_all_hooks="clear_all",
            clear_hooks="clear",
            unregister_hook="unregister",
        ),
        **rows(_HOOKS, "clear_all_global_hooks"),
    },
    "crewai.hooks.contexts": rows(
        "crewgraph.hooks.points",
        "ExecutionEndContext",
        "ExecutionStartContext",
        "InputContext",
        "InterceptionContext",
        "OutputContext",
        "StepContext",
    ),
    "crewai.hooks.decorators": _DECORATORS,
    "crewai.hooks.dispatch": {
        **_POINTS,
        **_ON,
        **_DISPATCH,
        **_GLOBAL_LIST,
        **rows("crewgraph.hooks.registry", "Reducer", "run_hooks", "source_name"),
        **rows(
            "crewgraph.hooks.registry",
            "HookFn",
            "clear",
            "clear_all",
            "get_hooks",
            "get_scoped_hooks",
            "register_scoped",
            "scoped_hooks",
            "unregister",
            register="register_hook",
        ),
    },
    "crewai.hooks.llm_hooks": {
        **_MODEL,
        **_OF_MODELS,
        **_GLOBAL_LIST,
        **rows("crewgraph.hooks.points", "InterceptionPoint", "LegacyHookBlocked"),
        **rows("crewgraph.errors", "HookAborted"),
        **rows(
            "crewgraph.hooks.llm_hooks",
            "after_llm_call_reducer",
            "before_llm_call_reducer",
            "model_call_hooks_already_dispatched",
            "model_call_hooks_dispatched",
        ),
    },
    "crewai.hooks.tool_hooks": {
        **_TOOL,
        **_OF_TOOLS,
        **_DISPATCH,
        **_GLOBAL_LIST,
        **rows("crewgraph.hooks.points", "InterceptionPoint"),
        **rows("crewgraph.errors", "HookAborted"),
        **rows(
            "crewgraph.hooks.tool_hooks",
            "after_tool_call_reducer",
            "before_tool_call_reducer",
            "run_after_tool_call_hooks",
            "run_before_tool_call_hooks",
        ),
    },
    "crewai.hooks.types": {
        **_OF_MODELS,
        **_OF_TOOLS,
        **rows(
            "crewgraph.hooks.decorators",
            "AfterLLMCallHook",
            "AfterToolCallHook",
            "BeforeLLMCallHook",
            "BeforeToolCallHook",
            "Hook",
        ),
    },
    "crewai.hooks.wrappers": rows(
        "crewgraph.hooks.decorators",
        "AfterLLMCallHookMethod",
        "AfterToolCallHookMethod",
        "BeforeLLMCallHookMethod",
        "BeforeToolCallHookMethod",
    ),
    "crewai.llms.hooks": _INTERCEPTOR,
    "crewai.llms.hooks.base": _INTERCEPTOR,
    "crewai.llms.hooks.transport": {
        **rows("crewgraph.llm.transport", "AsyncHTTPTransport", "HTTPTransport", "HTTPTransportKwargs"),
        **_INTERCEPTOR,
    },
    "crewai.tools.tool_failure": rows(
        "crewgraph.tools.failure",
        "ToolExecutionFailedError",
        "ToolFailure",
        "ToolFailurePolicy",
        "ToolFailureReason",
        "ToolFailureRecord",
        "active_tool_failures",
        "collect_tool_failures",
        "detect_tool_failure",
        "failure_from_exception",
        "handle_tool_failure",
        "merge_tool_failures",
        "reportable_failure",
        "resolve_tool_failure_policy",
        "tool_failure_collector",
    ),
}
"""The modules of this area."""
