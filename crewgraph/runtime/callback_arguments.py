"""What functions of users are given: no more than they take."""

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["taken"]


def taken(callback: Callable[..., Any], value: Any) -> tuple[Any, ...]:
    """The value, if the function takes one."""
    try:
        parameters = inspect.signature(callback).parameters.values()
    except (TypeError, ValueError):  # builtins have no signature
        return (value,)
    takes = any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
    return (value,) if takes else ()
