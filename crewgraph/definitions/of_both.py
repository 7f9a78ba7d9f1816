"""Methods that may be called on an object or on its class."""

from collections.abc import Callable
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

__all__ = ["OfBoth"]

Given = ParamSpec("Given")
Result = TypeVar("Result")


class OfBoth(Generic[Given, Result]):
    """A method that is called on an object or on its class, and is given that."""

    def __init__(self, function: Callable[Concatenate[Any, Given], Result]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, thing: object, kind: type) -> Callable[Given, Result]:
        return MethodType(self.function, kind if thing is None else thing)
