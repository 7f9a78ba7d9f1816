"""The decorators that make methods parts of a flow."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from crewgraph.definitions.flow.method import (
    AndCondition,
    FlowCondition,
    OrCondition,
    ensure_metadata,
    get_metadata,
    mark_uncalled,
    parse_condition,
)
from crewgraph.errors import DefinitionError

__all__ = ["and_", "listen", "or_", "router", "start"]


Method = TypeVar("Method", bound=Callable[..., Any])


def start(condition: Any = None) -> Callable[[Method], Method]:
    """A method that a run begins with.

    Args:
        condition: none: it runs at the beginning. The name of a label or method, a method, `and_(...)` or `or_(...)`: it runs
            again when that happens, and at the beginning if there is no other way in. A function that is no method of a
            flow: it runs at the beginning if the function returns something true for `{"inputs": ..., "state": ...}`.

    Raises:
        DefinitionError: the condition is nothing of that.
    """

    def marked(function: Method) -> Method:
        notes = ensure_metadata(function)
        notes.start = True
        if callable(condition) and not isinstance(condition, FlowCondition) and get_metadata(condition) is None:
            notes.predicate = condition
        elif condition is not None:
            notes.again = parse_condition(condition, f"`@start` of `{_name(function)}`")
        return function

    return mark_uncalled(marked, "@start()")


def listen(condition: Any) -> Callable[[Method], Method]:
    """A method that runs once something has happened; if it has a parameter, it is given what came of that.

    Args:
        condition: the name of a method or of a label, a method, `and_(...)` or `or_(...)`.

    Raises:
        DefinitionError: the condition is nothing of that.
    """

    def marked(function: Method) -> Method:
        notes = ensure_metadata(function)
        notes.trigger = parse_condition(condition, f"`@listen` of `{_name(function)}`")
        return function

    return mark_uncalled(marked, "@listen(...)")


def router(condition: Any = None, *, emit: Sequence[str] | str | None = None) -> Callable[[Method], Method]:
    """A method that says what happens next: it returns a label, an Enum, a list of them, or None for nothing.

    Args:
        condition: as for `listen`; none where the method is a start or a listener by another decorator.
        emit: the labels it may return, for drawings; else they are read from its annotation and its code.

    Raises:
        DefinitionError: the condition is nothing of that.
    """

    def marked(function: Method) -> Method:
        notes = ensure_metadata(function)
        notes.router = True
        if condition is not None:
            notes.trigger = parse_condition(condition, f"`@router` of `{_name(function)}`")
        if emit is not None:
            notes.labels = (emit,) if isinstance(emit, str) else tuple(emit)
        return function

    return mark_uncalled(marked, "@router(...)")


def and_(*conditions: Any) -> AndCondition:
    """All of these: names of methods and labels, methods, and conditions.

    Raises:
        DefinitionError: there are none, or one is nothing of that.
    """
    return AndCondition(_parts("and_", conditions))


def or_(*conditions: Any) -> OrCondition:
    """Any of these: names of methods and labels, methods, and conditions.

    Raises:
        DefinitionError: there are none, or one is nothing of that.
    """
    return OrCondition(_parts("or_", conditions))


def _parts(what: str, conditions: tuple[Any, ...]) -> tuple[Any, ...]:
    if not conditions:
        raise DefinitionError(f"`{what}()` is given nothing; give the names of methods or labels, or methods.")
    return tuple(parse_condition(one, f"`{what}`") for one in conditions)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", repr(function))
