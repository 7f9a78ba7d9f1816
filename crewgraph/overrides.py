"""Methods that users may override, and whether they have done so."""

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["OVERRIDABLE", "overridable", "override_of"]

T = TypeVar("T")

OVERRIDABLE: set[Any] = set()
"""The methods as crewgraph defines them."""


def overridable(method: T) -> T:
    """Mark a method that a subclass or a patch may replace, and that the runtime then calls instead of its own way."""
    OVERRIDABLE.add(method)
    return method


def override_of(definition: Any, method: str) -> Callable[..., Any] | None:
    """What a subclass or a patch has in the place of a method; None where the method is still crewgraph's own."""
    current = getattr(definition, method, None)
    return None if current is None or getattr(current, "__func__", None) in OVERRIDABLE else current
