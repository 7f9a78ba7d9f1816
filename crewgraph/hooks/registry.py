"""The hooks there are: for everything in this process, for a block of code, and for the runs of one crew.

Calling the hooks of a point, one after the other, each with what those before it left.
"""

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from crewgraph.core.cancellation import is_control_flow
from crewgraph.core.loops.bridge import acall, call
from crewgraph.extras import load
from crewgraph.hooks.points import HookAborted, InterceptionPoint

__all__ = [
    "HookFn",
    "Reducer",
    "adispatch",
    "clear",
    "clear_all",
    "dispatch",
    "get_global_hook_list",
    "get_hooks",
    "get_scoped_hooks",
    "hold",
    "hooks_at",
    "is_owner",
    "pass_on",
    "register",
    "register_scoped",
    "run_hooks",
    "scoped_hooks",
    "source_name",
    "unregister",
]


HookFn = Callable[[Any], Any]
"""A hook: takes the context of its point."""

_HookTable = dict[InterceptionPoint, list[HookFn]]

_everywhere: _HookTable = {point: [] for point in InterceptionPoint}
_scope: ContextVar[_HookTable | None] = ContextVar("crewgraph_hooks", default=None)
_held: WeakKeyDictionary[Any, _HookTable] = WeakKeyDictionary()


def register(point: InterceptionPoint, hook: HookFn) -> None:
    """Call a hook at a point of everything that runs in this process, behind those that are there."""
    _everywhere[point].append(hook)


def unregister(point: InterceptionPoint, hook: HookFn) -> bool:
    """Take a hook away, once; whether it was there. A hook under a decorator with a filter is known by its own name."""
    listed = _everywhere[point]
    for one in (hook, getattr(hook, "_registered_hook", None)):
        if one is not None and one in listed:
            listed.remove(one)
            return True
    return False


def clear(point: InterceptionPoint) -> int:
    """Take all hooks of a point away; how many there were."""
    listed = _everywhere[point]
    count = len(listed)
    listed.clear()
    return count


def clear_all() -> None:
    """Take all hooks of all points away; those of scopes and of crews stay."""
    for listed in _everywhere.values():
        listed.clear()


def get_global_hook_list(point: InterceptionPoint) -> list[HookFn]:
    """The hooks of a point for everything, the list itself."""
    return _everywhere[point]


def get_hooks(point: InterceptionPoint) -> list[HookFn]:
    """The hooks of a point for everything, in a list of the caller's own."""
    return list(_everywhere[point])


def get_scoped_hooks(point: InterceptionPoint) -> list[HookFn]:
    """The hooks of a point for the block of code around the caller."""
    return list((_scope.get() or {}).get(point, ()))


@contextmanager
def scoped_hooks(hooks: Mapping[InterceptionPoint, list[HookFn]] | None = None) -> Generator[_HookTable]:
    """Hooks for a block of code, called behind those for everything; those of a block around it rest meanwhile.

    Args:
        hooks: lists by point; more are added with `register_scoped`.
    """
    table = {point: list(listed) for point, listed in (hooks or {}).items()}
    token = _scope.set(table)
    try:
        yield table
    finally:
        _scope.reset(token)


def register_scoped(point: InterceptionPoint, hook: HookFn) -> None:
    """Add a hook to the block of code around the caller.

    Raises:
        RuntimeError: there is none.
    """
    table = _scope.get()
    if table is None:
        raise RuntimeError("`register_scoped` adds to a block of hooks: call it within `with scoped_hooks():`")
    table.setdefault(point, []).append(hook)


def hold(owner: Any, point: InterceptionPoint, hook: HookFn) -> None:
    """Call a hook in the runs of one owner, a crew, behind all others."""
    _held.setdefault(owner, {}).setdefault(point, []).append(hook)


def is_owner(owner: Any) -> bool:
    """Whether there are hooks for its runs alone."""
    return owner in _held


def pass_on(owner: Any, copy: Any) -> None:
    """Let a copy of an owner have its hooks."""
    if owner in _held:
        _held[copy] = {point: list(listed) for point, listed in _held[owner].items()}


def hooks_at(point: InterceptionPoint, owner: Any = None) -> list[HookFn]:
    """All hooks that are called at a point in a run of an owner, in their order."""
    found, scope = list(_everywhere[point]), _scope.get()
    if scope is not None:
        found += scope.get(point, ())
    if owner is not None and _held:
        found += (_held.get(owner) or {}).get(point, ())
    return found


_log = logging.getLogger("crewgraph.hooks")

Reducer = Callable[[Any, Any], bool]
"""Takes the context and what a hook returned; says whether that changed something."""


def dispatch(point: InterceptionPoint, ctx: Any, *, reducer: Reducer | None = None, verbose: bool = True) -> Any:
    """Call the hooks of a point; the context as they left it.

    Args:
        point: which.
        ctx: what the hooks are given.
        reducer: takes in what a hook returned; else anything but None becomes `ctx.payload`.
        verbose: whether a hook that fails is told of as a warning, in the log `crewgraph.hooks`.

    Raises:
        HookAborted: a hook raised it. Other failures of a hook are passed over.
    """
    hooks = hooks_at(point, getattr(ctx, "crew", None))
    return run_hooks(point, ctx, hooks, reducer=reducer, verbose=verbose) if hooks else ctx


async def adispatch(point: InterceptionPoint, ctx: Any, *, reducer: Reducer | None = None, verbose: bool = True) -> Any:
    """The same on this event loop; a sync hook runs in a thread."""
    hooks = hooks_at(point, getattr(ctx, "crew", None))
    if not hooks:
        return ctx
    with _course(point, ctx, hooks, reducer, verbose) as course:
        for hook in hooks:
            with course.passing(hook):
                course.take(hook, await acall(hook, ctx))
    return ctx


def run_hooks(
    point: InterceptionPoint,
    ctx: Any,
    hooks: Sequence[HookFn],
    *,
    reducer: Reducer | None = None,
    verbose: bool = True,
) -> Any:
    """Call the given hooks as those of a point; see `dispatch`."""
    with _course(point, ctx, hooks, reducer, verbose) as course:
        for hook in hooks:
            with course.passing(hook):
                course.take(hook, call(hook, ctx))
    return ctx


def source_name(source: Any) -> str | None:
    """What to call whoever aborted: a text itself, the name of a function or a class, else of the object's class."""
    if source is None or isinstance(source, str):
        return source
    named = getattr(source, "__qualname__", None) or getattr(source, "__name__", None)
    return named if isinstance(named, str) else type(source).__name__


def _payload(ctx: Any, returned: Any) -> bool:
    if returned is None:
        return False
    if not hasattr(ctx, "payload"):
        raise TypeError(f"its point takes no result, but it returned {returned!r:.80}")
    ctx.payload = returned
    return True


class _Course:
    """The hooks of one point, under way."""

    def __init__(self, point: InterceptionPoint, ctx: Any, reducer: Reducer | None, verbose: bool) -> None:
        self.point, self.ctx, self.verbose = point, ctx, verbose
        self.reducer = reducer or _payload
        self.is_changed = False

    @contextmanager
    def passing(self, hook: HookFn) -> Generator[None]:
        """Let the failure of a hook pass, unless it is meant to stop something."""
        try:
            yield
        except HookAborted as aborted:
            if aborted.source is None:
                aborted.source = hook
            raise
        except Exception as error:  # told; what only looks at a run must not end it
            if is_control_flow(error):
                raise
            if self.verbose:
                _log.warning("the hook `%s` at `%s` failed", source_name(hook), self.point.value, exc_info=error)

    def take(self, hook: HookFn, returned: Any) -> None:
        """Take in what a hook returned."""
        self.is_changed = bool(self.reducer(self.ctx, returned)) or self.is_changed


@contextmanager
def _course(
    point: InterceptionPoint, ctx: Any, hooks: Sequence[HookFn], reducer: Reducer | None, verbose: bool
) -> Generator[_Course]:
    point = InterceptionPoint(point)
    course, began, aborted = _Course(point, ctx, reducer, verbose), time.perf_counter(), None
    try:
        yield course
    except HookAborted as error:
        aborted = error
        raise
    finally:
        _tell(course, len(hooks), time.perf_counter() - began, aborted)


def _tell(course: _Course, count: int, seconds: float, aborted: HookAborted | None) -> None:
    bus, event = load("crewgraph.events.bus").crewai_event_bus, load("crewgraph.events.hooks").HookDispatchedEvent
    if bus.wants(event):
        told = event(
            interception_point=course.point.value,
            outcome="aborted" if aborted else "modified" if course.is_changed else "proceeded",
            hook_count=count,
            duration_ms=seconds * 1000,
            abort_reason=aborted and aborted.reason,
            abort_source=aborted and source_name(aborted.source),
        )
        bus.emit(course.ctx, told)
