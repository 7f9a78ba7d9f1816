"""Whether a user has put a version of his own in the place of one of our verbs."""

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["OURS", "ours", "own_version"]

T = TypeVar("T")

OURS: set[Any] = set()
"""The verbs as we wrote them."""


def ours(verb: T) -> T:
    """Mark a verb that users may override."""
    OURS.add(verb)
    return verb


def own_version(definition: Any, verb: str) -> Callable[..., Any] | None:
    """What a subclass or a patch put in the place of a verb; None where it is still ours."""
    found = getattr(definition, verb, None)
    return None if found is None or getattr(found, "__func__", None) in OURS else found
