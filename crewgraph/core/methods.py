"""Methods that are written once and exist in several forms: sync and async, or by the names of CrewAI."""

from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, overload

from crewgraph.core.loops.bridge import acall
from crewgraph.tracebacks import traced_to_the_caller

_P = ParamSpec("_P")
_T = TypeVar("_T")


def from_program(program: Callable[_P, Generator[Any, Any, _T]]) -> Callable[_P, _T]:
    """Make a method of a program, which it runs."""

    def method(*args: _P.args, **keywords: _P.kwargs) -> _T:
        from crewgraph.core.operations import drive

        return drive(program(*args, **keywords))

    return traced_to_the_caller(_named(method, program, ""))


def async_of(method: Callable[_P, _T]) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Return the async form of a method that `from_program` made."""
    program: Callable[_P, Generator[Any, Any, _T]] = vars(method)["program"]

    async def amethod(*args: _P.args, **keywords: _P.kwargs) -> _T:
        from crewgraph.core.operations import adrive

        return await adrive(program(*args, **keywords))

    return traced_to_the_caller(_named(amethod, program, "a"))


@overload
def other_form(method: Callable[_P, Coroutine[Any, Any, _T]], name: str) -> Callable[_P, Coroutine[Any, Any, _T]]: ...
@overload
def other_form(method: Callable[_P, _T], name: str) -> Callable[_P, Coroutine[Any, Any, _T]]: ...
def other_form(method: Any, name: str) -> Any:
    """Return an async method with this name that calls another one, or its override in a subclass; a sync one in a thread."""

    @wraps(method)
    async def other(self: object, *args: object, **keywords: object) -> object:
        return await acall(getattr(self, method.__name__), *args, **keywords)

    other.__qualname__ = method.__qualname__.replace(method.__name__, name)
    other.__name__ = name
    return traced_to_the_caller(other)


def _named(method: Any, program: Any, prefix: str) -> Any:
    """Give a method the name and the parameters of its program, and what that returns."""
    returned = program.__annotations__["return"][len("Program[") : -1]
    returned = program.__globals__.get(returned, returned)  # tools read the class of an output
    method.__signature__ = signature(program).replace(return_annotation=returned)
    method.__annotations__ = {**program.__annotations__, "return": returned}
    method.__name__, method.__doc__, method.__module__ = prefix + program.__name__, program.__doc__, program.__module__
    method.__qualname__ = program.__qualname__.replace(program.__name__, method.__name__)
    method.program = program
    return method
