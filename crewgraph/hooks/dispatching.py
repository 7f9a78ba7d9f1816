"""Calling the hooks of a point, one after the other, each with what those before it left."""

import logging
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from crewgraph.core.cancellation import is_control_flow
from crewgraph.core.loops.bridge import acall, call
from crewgraph.extras import load
from crewgraph.hooks.points import HookAborted, InterceptionPoint
from crewgraph.hooks.registry import HookFn, hooks_at

__all__ = ["Reducer", "adispatch", "dispatch", "run_hooks", "source_name"]

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
