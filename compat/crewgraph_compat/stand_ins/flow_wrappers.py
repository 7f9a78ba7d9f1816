"""Methods of flows as CrewAI's wrappers; what decorators here leave is the method itself, which counts as one."""

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

from crewgraph.definitions.flow.method import MethodMetadata, get_metadata

__all__ = ["FlowMethod", "ListenMethod", "RouterMethod", "StartMethod"]

P = ParamSpec("P")
R = TypeVar("R")


class _OfNotes(type):
    """Decorated methods are instances of what their decorators say."""

    def __instancecheck__(cls, instance: Any) -> bool:
        notes = get_metadata(instance)
        kinds: dict[str, Callable[[MethodMetadata], bool]] = {
            "FlowMethod": lambda _: True,
            "StartMethod": lambda notes: notes.start,
            "RouterMethod": lambda notes: notes.router,
            "ListenMethod": lambda notes: notes.trigger is not None and not notes.router,
        }
        if notes is not None and (said := kinds.get(cls.__name__)) is not None:
            return said(notes)
        return super().__instancecheck__(instance)


class FlowMethod(Generic[P, R], metaclass=_OfNotes):
    """A method of a flow, to be called.

    Args:
        meth: the function.
        instance: the flow that it is called with; None where it is called with one itself.
    """

    def __init__(self, meth: Callable[P, R], instance: Any = None) -> None:
        self._meth, self._instance = meth, instance
        update_wrapper(self, meth)
        self.__signature__ = signature(meth)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._instance is None:
            return self._meth(*args, **kwargs)
        bound: Callable[..., R] = MethodType(self._meth, self._instance)
        return bound(*args, **kwargs)

    def unwrap(self) -> Callable[P, R]:
        """The function itself."""
        return self._meth

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> "FlowMethod[P, R]":
        return self if instance is None else type(self)(self._meth, instance)


class StartMethod(FlowMethod[P, R]):
    """A method that a run begins with."""


class ListenMethod(FlowMethod[P, R]):
    """A method that runs once something has happened."""


class RouterMethod(FlowMethod[P, R]):
    """A method whose return value says what happens next."""
