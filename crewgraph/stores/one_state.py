"""Several readings of a database that see the same state of it."""

import sqlite3
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

__all__ = ["OneState"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class OneState:
    """Reads as a `Database` does, within one transaction that its maker has begun.

    Args:
        connection: with the transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, work: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do some reading."""
        return work(self._connection, *args, **kwargs)

    glance = read
