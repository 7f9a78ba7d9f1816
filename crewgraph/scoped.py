"""Values of context variables for a block.

A coroutine or generator that is lost half way (its event loop was closed) is ended by the garbage collector, inside whatever runs
then. A value is therefore given back in the context where it was given, or not at all: variables of other code stay as they are.
A lost run ends with GeneratorExit, and reports nothing: listeners, records and streams would be those of the other code.
"""

from contextvars import ContextVar, Token
from typing import Any, Generic, TypeVar

T = TypeVar("T")


HERE: ContextVar[None] = ContextVar("crewgraph_here")
"""Its tokens tell one context from another: `give_back` of a token of `HERE.set(None)` returns whether it was made here."""


def give_back(*tokens: Token[Any]) -> bool:
    """Restore the values from before these tokens were made, the last one first; in another context, change nothing.

    It costs less than `scoped` where every task passes, and serves objects that are entered and left.

    Returns:
        whether this is the context in which they were made.
    """
    for token in reversed(tokens):
        try:
            token.var.reset(token)
        except ValueError:
            return False
    return True


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
