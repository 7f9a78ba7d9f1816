"""The registry of hooks: for the whole process, for a block of code, and for the runs of one crew; and their dispatch.

The hooks of a point run in order, each on the result of the previous ones.
"""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from crewgraph.core.cancellation import is_control_flow
from crewgraph.errors import HookAborted
from crewgraph.events import late
from crewgraph.hooks.points import InterceptionPoint
from crewgraph.redaction import redacted_logger
from crewgraph.scoped import scoped
from crewgraph.tracebacks import raised_by_signal

if TYPE_CHECKING:
    from crewgraph.core.operations import Program


HookFn = Callable[[Any], Any]
"""A hook: takes the context of its point."""

_HookTable = dict[InterceptionPoint, list[HookFn]]

_everywhere: _HookTable = {point: [] for point in InterceptionPoint}
_scope: ContextVar[_HookTable | None] = ContextVar("crewgraph_hooks", default=None)
_by_owner: WeakKeyDictionary[Any, _HookTable] = WeakKeyDictionary()


def register_hook(point: InterceptionPoint, hook: HookFn) -> None:
    """Register a hook for everything in this process, after those registered before."""
    _everywhere[point].append(hook)


def unregister(point: InterceptionPoint, hook: HookFn) -> bool:
    """Unregister a hook once; False if it was not registered. A decorated function also finds its filtered hook."""
    listed = _everywhere[point]
    for candidate in (hook, getattr(hook, "_registered_hook", None)):
        if candidate is not None and candidate in listed:
            listed.remove(candidate)
            return True
    return False


def clear(point: InterceptionPoint) -> int:
    """Unregister all hooks of a point and return their number."""
    listed = _everywhere[point]
    count = len(listed)
    listed.clear()
    return count


def clear_all() -> None:
    """Unregister all hooks of all points, except those of scopes and crews."""
    for listed in _everywhere.values():
        listed.clear()


def get_hooks(point: InterceptionPoint) -> list[HookFn]:
    """Return a copy of the list of process-wide hooks of a point."""
    return list(_everywhere[point])


def get_scoped_hooks(point: InterceptionPoint) -> list[HookFn]:
    """Return the hooks of a point in the enclosing `scoped_hooks` block."""
    return list((_scope.get() or {}).get(point, ()))


@contextmanager
def scoped_hooks(hooks: Mapping[InterceptionPoint, list[HookFn]] | None = None) -> Generator[_HookTable]:
    """Register hooks for a block of code, called after the process-wide ones; those of an outer block are suspended.

    Args:
        hooks: lists by point; more are added with `register_scoped`.
    """
    table = {point: list(listed) for point, listed in (hooks or {}).items()}
    with scoped(_scope, table):
        yield table


def register_scoped(point: InterceptionPoint, hook: HookFn) -> None:
    """Add a hook to the enclosing `scoped_hooks` block.

    Raises:
        RuntimeError: there is no such block.
    """
    table = _scope.get()
    if table is None:
        raise RuntimeError("`register_scoped` adds to a block of hooks: call it within `with scoped_hooks():`")
    table.setdefault(point, []).append(hook)


def register_for_owner(owner: Any, point: InterceptionPoint, hook: HookFn) -> None:
    """Register a hook for the runs of one owner, a crew, after all others."""
    _by_owner.setdefault(owner, {}).setdefault(point, []).append(hook)


def is_owner(owner: Any) -> bool:
    """Whether hooks are registered for the runs of this owner."""
    return owner in _by_owner


def copy_hooks(owner: Any, copy: Any) -> None:
    """Register the hooks of an owner for its copy."""
    if owner in _by_owner:
        _by_owner[copy] = {point: list(listed) for point, listed in _by_owner[owner].items()}


def hooks_at(point: InterceptionPoint, owner: Any = None) -> list[HookFn]:
    """Return the hooks that apply at a point in the runs of an owner, in order."""
    hooks, scope = list(_everywhere[point]), _scope.get()
    if scope is not None:
        hooks += scope.get(point, ())
    if owner is not None and _by_owner:
        hooks += (_by_owner.get(owner) or {}).get(point, ())
    return hooks


def has_hooks(owner: Any, *points: InterceptionPoint) -> bool:
    """Return whether any hook applies at one of these points in the runs of an owner."""
    scope, own_hooks = _scope.get(), _by_owner.get(owner) if owner is not None and _by_owner else None
    for point in points:
        hooks = _everywhere[point] or (scope and scope.get(point)) or (own_hooks and own_hooks.get(point))
        if hooks:
            return True
    return False


_log = redacted_logger("crewgraph.hooks")

Reducer = Callable[[Any, Any], bool]
"""Applies a hook's result to the context; returns whether that changed anything."""


def dispatch(point: InterceptionPoint, ctx: Any, *, reducer: Reducer | None = None, verbose: bool = True) -> Any:
    """Call the hooks of a point and return the context as they left it.

    Args:
        point: the point.
        ctx: the context passed to the hooks.
        reducer: applies a hook's result; by default anything but None becomes `ctx.payload`.
        verbose: whether to log failing hooks as warnings of `crewgraph.hooks`.

    Raises:
        HookAborted: a hook raised it. Other exceptions of hooks are logged and ignored.
    """
    from crewgraph.core.operations import drive

    return drive(dispatching(point, ctx, reducer, verbose=verbose))


async def adispatch(point: InterceptionPoint, ctx: Any, *, reducer: Reducer | None = None, verbose: bool = True) -> Any:
    """Async version of `dispatch`; a sync hook runs in a thread."""
    from crewgraph.core.operations import adrive

    return await adrive(dispatching(point, ctx, reducer, verbose=verbose))


def dispatching(
    point: InterceptionPoint, ctx: Any, reducer: Reducer | None = None, *, verbose: bool = True
) -> "Program[Any]":
    """Call the hooks of a point; see `dispatch`."""
    hooks = hooks_at(point, getattr(ctx, "crew", None))
    if not hooks:
        return ctx
    from crewgraph.core.operations import user_call

    point, is_changed, began = InterceptionPoint(point), False, time.perf_counter()

    def report(aborted: HookAborted | None = None) -> None:
        from crewgraph.events.bus import crewai_event_bus

        event = late.HookDispatchedEvent
        if crewai_event_bus.wants(event):
            dispatched = event(
                interception_point=point.value,
                outcome="aborted" if aborted else "modified" if is_changed else "proceeded",
                hook_count=len(hooks),
                duration_ms=(time.perf_counter() - began) * 1000,
                abort_reason=aborted and aborted.reason,
                abort_source=aborted and source_name(aborted.source),
            )
            crewai_event_bus.emit(ctx, dispatched)

    for hook in hooks:
        try:
            is_changed |= bool((reducer or _payload)(ctx, (yield user_call(hook, ctx))))
        except HookAborted as aborted:
            if aborted.source is None:
                aborted.source = hook
            report(aborted)
            raise
        except Exception as error:  # logged; a hook that only observes a run must not end it
            if is_control_flow(error) or raised_by_signal(error):
                raise
            if verbose:
                _log.warning("the hook `%s` at `%s` failed", source_name(hook), point.value, exc_info=error)
    report()
    return ctx


def source_name(source: Any) -> str | None:
    """Return a label for the source of an abort: a text itself, the name of a function or class, or the name of the class."""
    if source is None or isinstance(source, str):
        return source
    named = getattr(source, "__qualname__", None) or getattr(source, "__name__", None)
    return named if isinstance(named, str) else type(source).__name__


def _payload(ctx: Any, returned: Any) -> bool:
    if returned is None:
        return False
    if not hasattr(ctx, "payload"):
        raise TypeError(f"its point takes no result, but it returned {returned!r:.80}")
    for name in ("inputs", "output"):  # later hooks may read either
        if getattr(ctx, name, None) is ctx.payload:
            setattr(ctx, name, returned)
    ctx.payload = returned
    return True
