"""Types of given texts."""

from collections.abc import Iterable
from typing import Any, Literal

__all__ = ["create_literals_from_strings"]


def create_literals_from_strings(values: Iterable[str]) -> Any:
    """The `Literal` of texts, each once, in their order.

    Raises:
        ValueError: there are none.
    """
    texts = tuple(dict.fromkeys(values))
    if not texts:
        raise ValueError("a Literal needs at least one text")
    return Literal[texts]
