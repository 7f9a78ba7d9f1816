"""Values of context variables for a block.

A coroutine or generator that is lost half way (its event loop was closed) is ended by the garbage collector, inside whatever runs
then. A value is therefore given back in the context where it was given, or not at all: variables of other code stay as they are.
"""

from contextvars import ContextVar, Token
from typing import Any, Generic, TypeVar

__all__ = ["give_back", "scoped"]

T = TypeVar("T")


def give_back(*tokens: Token[Any]) -> None:
    """Restore the values from before these tokens were made, the last one first; in another context, change nothing.

    It costs less than `scoped` where every task passes, and serves objects that are entered and left.
    """
    for token in reversed(tokens):
        try:
            token.var.reset(token)
        except ValueError:  # another context: the code that set it was lost
            return


class scoped(Generic[T]):
    """Gives a context variable a value for a block.

    Args:
        variable: the variable.
        value: its value in the block.
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *failure: object) -> None:
        try:
            self._variable.reset(self._token)
        except ValueError:  # another context
            return
