"""The hooks there are: for everything in this process, for a block of code, and for the runs of one crew."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from crewgraph.hooks.points import InterceptionPoint

__all__ = [
    "HookFn",
    "clear",
    "clear_all",
    "get_global_hook_list",
    "get_hooks",
    "get_scoped_hooks",
    "hold",
    "hooks_at",
    "is_owner",
    "pass_on",
    "register",
    "register_scoped",
    "scoped_hooks",
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
