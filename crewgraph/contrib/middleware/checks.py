"""Checks of `Agent(middleware=[...])` when the agent is created."""

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware, ToolCallLimitMiddleware

_WRAPPERS = ("wrap_model_call", "wrap_tool_call")
_HOOKS = ("before_agent", "before_model", "after_model", "after_agent", *_WRAPPERS)


def has_only(middleware: object, names: Sequence[str], *, asynchronous: bool) -> str | None:
    """Return the first of these hooks that a middleware has in one version only, if any.

    Args:
        middleware: the middleware.
        names: the names of the sync versions.
        asynchronous: whether to look for hooks that are only async; else for those that are only sync.
    """
    for name in names:
        present = [_overrides(middleware, version) for version in (name, f"a{name}")]
        if present == [not asynchronous, asynchronous]:
            return name
    return None


def has_any(middleware: object, *names: str) -> bool:
    """Return whether a middleware has one of these hooks, given by the names of the sync versions."""
    return any(_overrides(middleware, version) for name in names for version in (name, f"a{name}"))


def _overrides(middleware: object, name: str) -> bool:
    return getattr(type(middleware), name, None) is not getattr(AgentMiddleware, name, None)


def check_middleware(middleware: Sequence[Any]) -> None:
    """Refuse values that are not middleware or cannot work in a crew.

    Raises:
        ValueError: names the middleware and the reason.
    """
    names: list[str] = []
    for number, one in enumerate(middleware):
        if not isinstance(one, AgentMiddleware):
            actual = f"the class `{one.__name__}`" if isinstance(one, type) else f"a `{type(one).__name__}`"
            raise ValueError(
                f"`middleware[{number}]` is {actual}. Pass instances of LangChain's `AgentMiddleware`, such as "
                "`ModelCallLimitMiddleware(run_limit=5)`, or functions decorated with `@before_model` and its siblings."
            )
        _check_limits(one)
        names.append(one.name)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(
            f"`middleware` has `{'`, `'.join(doubled)}` more than once. LangChain distinguishes middleware by `name`: give each "
            "its own, or combine them."
        )
    _check_faces(middleware)


def _check_limits(one: Any) -> None:
    if isinstance(one, (ModelCallLimitMiddleware, ToolCallLimitMiddleware)) and one.thread_limit is not None:
        raise ValueError(
            f"`{one.name}` has a `thread_limit`. Middleware counts per answer of the agent, not per thread, so "
            "the limit would not hold. Use `run_limit` for an answer, and `max_tokens`, `max_cost` or `max_requests` of the crew "
            "for a run."
        )


def _check_faces(middleware: Sequence[Any]) -> None:
    """Refuse sync-only hooks together with async-only ones: no run could call both."""
    only_async = [(one, name) for one in middleware if (name := has_only(one, _HOOKS, asynchronous=True))]
    only_sync = [(one, name) for one in middleware if (name := has_only(one, _WRAPPERS, asynchronous=False))]
    if only_async and only_sync:
        (later, hook), (blocking, wrapper) = only_async[0], only_sync[0]
        raise ValueError(
            f"`{blocking.name}` has `{wrapper}` but not `a{wrapper}`, and `{later.name}` has `a{hook}` but not `{hook}`, so the "
            "agent could neither run synchronously nor asynchronously. Add the missing version to one of them."
        )
