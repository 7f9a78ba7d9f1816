"""Methods that users may override, and detection of such overrides."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

OVERRIDABLE: set[object] = set()
"""The methods as crewgraph defines them."""


def overridable(method: T) -> T:
    """Mark a method as replaceable: the runtime calls an override instead of its own implementation."""
    OVERRIDABLE.add(method)
    return method


def overrides_any(definition: object, methods: Iterable[str]) -> bool:
    """Return whether a subclass or a patch overrides any of these methods."""
    for method in methods:
        current = getattr(definition, method, None)
        if current is not None and getattr(current, "__func__", None) not in OVERRIDABLE:
            return True
    return False


def override_of(definition: object, method: str) -> Callable[..., Any] | None:
    """Return the override of a method by a subclass or a patch; None if the method is still crewgraph's."""
    current = getattr(definition, method, None)
    return None if current is None or getattr(current, "__func__", None) in OVERRIDABLE else current
