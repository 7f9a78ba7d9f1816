"""Decorators that make hooks of functions, and of methods of a project's class."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, overload

from crewgraph.annotations import signature_of
from crewgraph.hooks.points import InterceptionPoint
from crewgraph.hooks.registry import HookFn, register_hook
from crewgraph.text import model_name

H = TypeVar("H", bound=Callable[..., Any])

_MARKS = {
    InterceptionPoint.PRE_MODEL_CALL: "is_before_llm_call_hook",
    InterceptionPoint.POST_MODEL_CALL: "is_after_llm_call_hook",
    InterceptionPoint.PRE_TOOL_CALL: "is_before_tool_call_hook",
    InterceptionPoint.POST_TOOL_CALL: "is_after_tool_call_hook",
}


def on(
    point: InterceptionPoint, *, agents: list[str] | None = None, tools: list[str] | None = None
) -> Callable[[H], H]:
    """Make a function a hook of a point: `@on(InterceptionPoint.INPUT)`.

    Above a method of a `@CrewBase` class it applies to the runs of that crew, otherwise to everything in this process.

    Args:
        point: the hook point.
        agents: the roles of the agents that it is called for; None for all.
        tools: the names of the tools that it is called for; None for all.
    """
    point = InterceptionPoint(point)

    def decorate(function: H) -> H:
        vars(function)["_interception_point"] = point
        return _hooked(function, point, agents, tools)

    return decorate


@overload
def before_llm_call(func: H, *, agents: list[str] | None = None) -> H: ...
@overload
def before_llm_call(func: None = None, *, agents: list[str] | None = None) -> Callable[[H], H]: ...
def before_llm_call(func: Any = None, *, agents: list[str] | None = None) -> Any:
    """Make a function a hook before requests to models; it takes an `LLMCallHookContext`, and False blocks the request.

    Args:
        func: the function; a method of a `@CrewBase` class applies to that crew.
        agents: the roles of the agents that it is called for; None for all.
    """
    return _decorated(func, InterceptionPoint.PRE_MODEL_CALL, agents, None)


@overload
def after_llm_call(func: H, *, agents: list[str] | None = None) -> H: ...
@overload
def after_llm_call(func: None = None, *, agents: list[str] | None = None) -> Callable[[H], H]: ...
def after_llm_call(func: Any = None, *, agents: list[str] | None = None) -> Any:
    """Make a function a hook after the answers of models; a text that it returns replaces the answer.

    Args:
        func: the function; a method of a `@CrewBase` class applies to that crew.
        agents: the roles of the agents that it is called for; None for all.
    """
    return _decorated(func, InterceptionPoint.POST_MODEL_CALL, agents, None)


@overload
def before_tool_call(func: H, *, tools: list[str] | None = None, agents: list[str] | None = None) -> H: ...
@overload
def before_tool_call(
    func: None = None, *, tools: list[str] | None = None, agents: list[str] | None = None
) -> Callable[[H], H]: ...
def before_tool_call(func: Any = None, *, tools: list[str] | None = None, agents: list[str] | None = None) -> Any:
    """Make a function a hook before calls of tools; it takes a `ToolCallHookContext`, and False blocks the call.

    Args:
        func: the function; a method of a `@CrewBase` class applies to that crew.
        tools: the names of the tools that it is called for; None for all.
        agents: the roles of the agents that it is called for; None for all.
    """
    return _decorated(func, InterceptionPoint.PRE_TOOL_CALL, agents, tools)


@overload
def after_tool_call(func: H, *, tools: list[str] | None = None, agents: list[str] | None = None) -> H: ...
@overload
def after_tool_call(
    func: None = None, *, tools: list[str] | None = None, agents: list[str] | None = None
) -> Callable[[H], H]: ...
def after_tool_call(func: Any = None, *, tools: list[str] | None = None, agents: list[str] | None = None) -> Any:
    """Make a function a hook after calls of tools; a text that it returns replaces the result.

    Args:
        func: the function; a method of a `@CrewBase` class applies to that crew.
        tools: the names of the tools that it is called for; None for all.
        agents: the roles of the agents that it is called for; None for all.
    """
    return _decorated(func, InterceptionPoint.POST_TOOL_CALL, agents, tools)


def hook_points(function: Any) -> list[InterceptionPoint]:
    """Return the points that the decorators marked a method as a hook for."""
    named = getattr(function, "_interception_point", None)
    marked = [point for point, mark in _MARKS.items() if getattr(function, mark, False)]
    return marked if named is None else [named, *(point for point in marked if point is not named)]


def hook_filters(function: Any) -> tuple[list[str] | None, list[str] | None]:
    """Return the agents and tools that a hook method is limited to; None for all."""
    return getattr(function, "_filter_agents", None), getattr(function, "_filter_tools", None)


def only_for(hook: HookFn, agents: list[str] | None, tools: list[str] | None) -> HookFn:
    """Limit a hook to some agents and tools; without limits, return the hook itself."""
    if not agents and not tools:
        return hook
    called = {model_name(name) for name in tools or ()}

    @wraps(hook)
    def filtered(ctx: Any) -> Any:
        if called and model_name(str(getattr(ctx, "tool_name", None) or "")) not in called:
            return None
        return hook(ctx) if not agents or _role(ctx) in agents else None

    return filtered


def _role(ctx: Any) -> str | None:
    role = getattr(getattr(ctx, "agent", None), "role", None)
    return role if isinstance(role, str) else getattr(ctx, "agent_role", None)


def _decorated(function: Any, point: InterceptionPoint, agents: list[str] | None, tools: list[str] | None) -> Any:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        vars(function)[_MARKS[point]] = True
        return _hooked(function, point, agents, tools)

    return decorate if function is None else decorate(function)


def _hooked(function: H, point: InterceptionPoint, agents: list[str] | None, tools: list[str] | None) -> H:
    if tools:
        vars(function)["_filter_tools"] = tools
    if agents:
        vars(function)["_filter_agents"] = agents
    if not _takes_self(function):
        hook = only_for(function, agents, tools)
        if hook is not function:
            vars(function)["_registered_hook"] = hook
        register_hook(point, hook)
    return function


def _takes_self(function: Callable[..., Any]) -> bool:
    """Whether a function is a method; it is then a hook for the crew of its class."""
    try:
        return next(iter(signature_of(function).parameters), None) == "self"
    except (TypeError, ValueError):  # builtins have no signature
        return False
