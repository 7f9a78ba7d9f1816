"""What is known of a method of a flow, and the notes that decorators leave on it."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction, isfunction
from typing import Any, TypeVar

from crewgraph.definitions.flow.condition import Condition
from crewgraph.definitions.flow.labels import returned

__all__ = [
    "FlowMethod",
    "ListenMethod",
    "Notes",
    "Predicate",
    "RouterMethod",
    "StartMethod",
    "conversational_only",
    "is_conversational_only",
    "method_of",
    "noted",
    "notes_of",
    "unfinished",
    "unfinished_of",
]

Predicate = Callable[[dict[str, Any]], Any]
"""Says from `{"inputs": ..., "state": ...}` whether a start method runs."""

_NOTES = "__crewgraph_flow__"
_UNFINISHED = "__crewgraph_unfinished__"
_CONVERSATIONAL = "__crewgraph_conversational__"

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass
class Notes:
    """What decorators say of a function, gathered as they are stacked."""

    start: bool = False
    again: Condition | None = None
    predicate: Predicate | None = None
    trigger: Condition | None = None
    router: bool = False
    labels: tuple[str, ...] | None = None
    persistence: Any = None
    verbose: bool = False
    feedback: Any = None


def notes_of(function: Any) -> Notes | None:
    """The notes on a function; None where no decorator has left any."""
    return getattr(function, _NOTES, None)


def noted(function: Any) -> Notes:
    """The notes on a function, to be written on."""
    notes = notes_of(function)
    if notes is None:
        notes = Notes()
        setattr(function, _NOTES, notes)
    return notes


def unfinished(decorator: Callable[[Method], Method], written: str) -> Callable[[Method], Method]:
    """A decorator that waits for its method; left in a class it says that its brackets were forgotten.

    Args:
        decorator: what is to decorate.
        written: how it should be written.
    """
    setattr(decorator, _UNFINISHED, written)
    return decorator


def unfinished_of(value: Any) -> str | None:
    """How a decorator should be written that was left in a class; None for anything else."""
    return getattr(value, _UNFINISHED, None) if isfunction(value) else None


def conversational_only(function: Method) -> Method:
    """Mark a method of a base class that is part of conversational flows alone."""
    setattr(function, _CONVERSATIONAL, True)
    return function


def is_conversational_only(function: Any) -> bool:
    """Whether a method is part of conversational flows alone."""
    return getattr(function, _CONVERSATIONAL, False) is True


@dataclass(frozen=True, kw_only=True)
class FlowMethod:
    """A method of a flow."""

    name: str
    func: Callable[..., Any]
    """The function, to be called with the flow first."""

    trigger: Condition | None = None
    """What it waits for; None where it only starts."""

    condition: Condition | None = None
    """What starts it again; for a start method that is not to run at the beginning, if there is another way in."""

    predicate: Predicate | None = None
    """Whether it runs at the beginning, where that depends."""

    is_start: bool = False
    is_router: bool = False
    labels: tuple[str, ...] = ()
    """What it may return, as far as its annotations and its code tell."""

    persistence: Any = None
    """Where the state is saved once it has completed: a `FlowPersistence`, True for the default, None for nowhere."""

    verbose: bool = False
    """Whether that is told."""

    feedback: Any = None
    """A `FeedbackWish`, where somebody is to look at what it returns."""

    def unwrap(self) -> Callable[..., Any]:
        """The function itself."""
        return self.func

    @property
    def is_async(self) -> bool:
        """Whether it is a coroutine function."""
        return iscoroutinefunction(self.func)


class StartMethod(FlowMethod):
    """A method that a run begins with."""


class ListenMethod(FlowMethod):
    """A method that runs once something has happened."""


class RouterMethod(FlowMethod):
    """A method whose return value says what happens next."""


def method_of(name: str, function: Any, notes: Notes) -> FlowMethod:
    """A method, as its notes say it is."""
    kind = RouterMethod if notes.router else StartMethod if notes.start else ListenMethod
    labels = notes.labels if notes.labels is not None else tuple(sorted(returned(function) or ()))
    return kind(
        name=name,
        func=function,
        trigger=notes.trigger,
        condition=notes.again,
        predicate=notes.predicate,
        is_start=notes.start,
        is_router=notes.router,
        labels=labels,
        persistence=notes.persistence,
        verbose=notes.verbose,
        feedback=notes.feedback,
    )
