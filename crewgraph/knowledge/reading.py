"""Readers of files by others, whose failures name the file."""

from collections.abc import Callable
from typing import TypeVar

from crewgraph.errors import CrewgraphError, SourceError

__all__ = ["read_as"]

T = TypeVar("T")


def read_as(kind: str, name: str, read: Callable[[], T]) -> T:
    """What a reader gives; files from anywhere make readers raise whatever there is.

    Args:
        kind: what it reads: "PDF file".
        name: where the file is from, for messages.
        read: the reader.

    Raises:
        SourceError: it cannot read this.
    """
    try:
        return read()
    except CrewgraphError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise SourceError(f"the knowledge source `{name}` is no {kind} that can be read: {why:.300}") from error
