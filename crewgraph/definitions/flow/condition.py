"""What a method of a flow waits for: events, all of several, or any of them, to any depth.

An event is the name of a method that has completed, or a label: what a router returned, or a text that a method returned.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from crewgraph.errors import DefinitionError

__all__ = ["AndCondition", "Condition", "FlowCondition", "OrCondition", "as_condition", "events_of", "is_met"]


class FlowCondition(ABC):
    """Several events that a method waits for."""

    conditions: "tuple[Condition, ...]"
    """Events, and conditions of their own."""

    type: ClassVar[str]
    """"AND" or "OR"."""

    @property
    def methods(self) -> "list[Condition]":
        """The same as a list."""
        return list(self.conditions)

    @abstractmethod
    def evaluate(self, context: Mapping[str, Any]) -> bool:
        """Whether it is met.

        Args:
            context: under "events", the names of what has happened.
        """


@dataclass(frozen=True)
class AndCondition(FlowCondition):
    """Met once all of its conditions are."""

    type: ClassVar[str] = "AND"
    conditions: "tuple[Condition, ...]"

    def evaluate(self, context: Mapping[str, Any]) -> bool:
        return all(is_met(one, context["events"]) for one in self.conditions)


@dataclass(frozen=True)
class OrCondition(FlowCondition):
    """Met once any of its conditions is."""

    type: ClassVar[str] = "OR"
    conditions: "tuple[Condition, ...]"

    def evaluate(self, context: Mapping[str, Any]) -> bool:
        return any(is_met(one, context["events"]) for one in self.conditions)


Condition = str | FlowCondition
"""The name of an event, or several of them."""

_KINDS: dict[str, Callable[[tuple[Condition, ...]], FlowCondition]] = {"AND": AndCondition, "OR": OrCondition}


def is_met(condition: Condition, events: Collection[str]) -> bool:
    """Whether a condition is met by these events."""
    return condition in events if isinstance(condition, str) else condition.evaluate({"events": events})


def events_of(condition: Condition | None) -> tuple[str, ...]:
    """The names of the events in a condition, each once, in their order."""
    if condition is None:
        return ()
    if isinstance(condition, str):
        return (condition,)
    return tuple(dict.fromkeys(event for one in condition.conditions for event in events_of(one)))


def as_condition(given: Any, where: str) -> Condition:
    """A condition as users give it.

    Args:
        given: the name of an event, a method, what `and_` or `or_` gave, or a dict with "type" and "conditions".
        where: what it is given to, for messages.

    Raises:
        DefinitionError: it is nothing of that, or has no conditions.
    """
    if isinstance(given, FlowCondition):
        return given
    if isinstance(given, str) and given:
        return given
    if isinstance(given, Mapping):
        read = _read(cast("Mapping[str, Any]", given), where)
        if read is not None:
            return read
    elif callable(given) and isinstance(name := getattr(given, "__name__", None), str) and name != "<lambda>":
        return name
    raise DefinitionError(
        f"{where} is given {given!r:.80}; give the name of a method or of a label, a method, or `and_(...)` or `or_(...)`."
    )


def _read(given: Mapping[str, Any], where: str) -> FlowCondition | None:
    """The form that CrewAI's `and_` and `or_` return."""
    kind = _KINDS.get(str(given.get("type", "OR")).upper())
    parts: object = given.get("conditions") or given.get("methods")
    if kind is None or not isinstance(parts, Sequence) or isinstance(parts, str):
        return None
    return kind(tuple(as_condition(one, where) for one in cast("Sequence[Any]", parts)))
