"""The decorators of flow methods: `start`, `listen` and `router`, with the conditions `and_` and `or_`."""

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

Method = TypeVar("Method", bound=Callable[..., Any])


def start(condition: object = None) -> Callable[[Method], Method]:
    """Mark a method that a run starts with.

    Args:
        condition: None runs the method at the start. A label, a method or its name, `and_(...)` or `or_(...)` runs it again
            when that occurs, and at the start if there is no other start method. Any other function is a predicate: the
            method runs at the start if it returns a true value for `{"inputs": ..., "state": ...}`.

    Raises:
        DefinitionError: The condition is none of these.
    """

    def marked(function: Method) -> Method:
        metadata = ensure_metadata(function)
        metadata.is_start = True
        if callable(condition) and not isinstance(condition, FlowCondition) and get_metadata(condition) is None:
            metadata.predicate = condition
        elif condition is not None:
            metadata.condition = parse_condition(condition, f"`@start` of `{_name(function)}`")
        return function

    return mark_uncalled(marked, "@start()")


def listen(condition: object) -> Callable[[Method], Method]:
    """Mark a method that runs when a condition is met. If it has a parameter, it receives the result of the trigger.

    Args:
        condition: A method or its name, a label, `and_(...)` or `or_(...)`.

    Raises:
        DefinitionError: The condition is none of these.
    """

    def marked(function: Method) -> Method:
        metadata = ensure_metadata(function)
        metadata.trigger = parse_condition(condition, f"`@listen` of `{_name(function)}`")
        return function

    return mark_uncalled(marked, "@listen(...)")


def router(condition: object = None, *, emit: Sequence[str] | str | None = None) -> Callable[[Method], Method]:
    """Mark a method that decides what runs next by returning a label, an Enum member, a list of these, or None for nothing.

    Args:
        condition: As for `listen`; None if another decorator makes the method a start method or a listener.
        emit: The labels it may return, for plots; by default they are read from its annotation and its code.

    Raises:
        DefinitionError: The condition is none of these.
    """

    def marked(function: Method) -> Method:
        metadata = ensure_metadata(function)
        metadata.is_router = True
        if condition is not None:
            metadata.trigger = parse_condition(condition, f"`@router` of `{_name(function)}`")
        if emit is not None:
            metadata.labels = (emit,) if isinstance(emit, str) else tuple(emit)
        return function

    return mark_uncalled(marked, "@router(...)")


def and_(*conditions: object) -> AndCondition:
    """Return a condition that is met when all of its parts are: methods, their names, labels, or conditions.

    Raises:
        DefinitionError: There are no parts, or one is invalid.
    """
    return AndCondition(_parts("and_", conditions))


def or_(*conditions: object) -> OrCondition:
    """Return a condition that is met when any of its parts is: methods, their names, labels, or conditions.

    Raises:
        DefinitionError: There are no parts, or one is invalid.
    """
    return OrCondition(_parts("or_", conditions))


def _parts(what: str, conditions: tuple[object, ...]) -> tuple[Any, ...]:
    if not conditions:
        raise DefinitionError(f"`{what}()` needs at least one condition: a method, or the name of a method or a label.")
    return tuple(parse_condition(condition, f"`{what}`") for condition in conditions)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", repr(function))
