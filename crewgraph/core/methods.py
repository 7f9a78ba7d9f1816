"""Methods that are written once, as programs, and exist in a sync and an async form."""

from collections.abc import Callable, Coroutine, Generator
from inspect import signature
from typing import Any, ParamSpec, TypeVar

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


def _named(method: Any, program: Any, prefix: str) -> Any:
    """Give a method the name and the parameters of its program, and what that returns."""
    returned: str = program.__annotations__["return"]
    method.__signature__ = signature(program).replace(return_annotation=returned[len("Program[") : -1])
    method.__name__, method.__doc__, method.__module__ = prefix + program.__name__, program.__doc__, program.__module__
    method.__qualname__ = program.__qualname__.replace(program.__name__, method.__name__)
    method.program = program
    return method
