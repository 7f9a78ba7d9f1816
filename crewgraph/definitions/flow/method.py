"""The methods of a flow: the metadata that decorators attach, the conditions that trigger methods, and the labels they return.

An event is the name of a completed method, or a label: a value that a router returned, or a string that a method returned.
"""

import dis
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from inspect import iscoroutinefunction, isfunction
from itertools import pairwise
from types import CodeType
from typing import Any, ClassVar, Literal, TypeVar, cast, get_args, get_origin

from crewgraph.annotations import return_type
from crewgraph.errors import DefinitionError
from crewgraph.schema import PlainDict, PlainMapping, is_mapping


@dataclass(frozen=True)
class FlowCondition:
    """A condition of several events that a method waits for."""

    conditions: "tuple[Condition, ...]"
    """Events, and conditions of their own."""

    type: ClassVar[str]
    """"AND" or "OR"."""

    @property
    def methods(self) -> "list[Condition]":
        """Return the condition as a list."""
        return list(self.conditions)

    def evaluate(self, context: Mapping[str, Any]) -> bool:
        """Return whether the condition is met.

        Args:
            context: under "events", the names of the events so far.
        """
        met = (is_met(condition, context["events"]) for condition in self.conditions)
        return all(met) if self.type == "AND" else any(met)


class AndCondition(FlowCondition):
    """Met once all of its conditions are."""

    type = "AND"


class OrCondition(FlowCondition):
    """Met once any of its conditions is."""

    type = "OR"


Condition = str | FlowCondition
"""The name of an event, or several of them."""

_CONDITION_TYPES: dict[str, Callable[[tuple[Condition, ...]], FlowCondition]] = {"AND": AndCondition, "OR": OrCondition}


def is_met(condition: Condition, events: Collection[str]) -> bool:
    """Whether a condition is met by these events."""
    return condition in events if isinstance(condition, str) else condition.evaluate({"events": events})


def events_of(condition: Condition | None) -> tuple[str, ...]:
    """Return the names of the events in a condition, each once, in order."""
    if condition is None:
        return ()
    if isinstance(condition, str):
        return (condition,)
    return tuple(dict.fromkeys(event for item in condition.conditions for event in events_of(item)))


def parse_condition(argument: Any, where: str) -> Condition:
    """Parse a condition passed to a decorator.

    Args:
        argument: the name of an event, a method, the result of `and_` or `or_`, or a dict with "type" and "conditions".
        where: its place, for messages.

    Raises:
        DefinitionError: it is none of these, or has no conditions.
    """
    if isinstance(argument, FlowCondition):
        return argument
    if isinstance(argument, str) and argument:
        return argument
    if is_mapping(argument):
        read = _parse_mapping(argument, where)
        if read is not None:
            return read
    elif callable(argument) and isinstance(name := getattr(argument, "__name__", None), str) and name != "<lambda>":
        return name
    raise DefinitionError(
        f"{where} is given {argument!r:.80}; pass the name of a method or of a label, a method, or `and_(...)` or `or_(...)`."
    )


def _parse_mapping(argument: PlainMapping, where: str) -> FlowCondition | None:
    """The form that CrewAI's `and_` and `or_` return."""
    kind = _CONDITION_TYPES.get(str(argument.get("type", "OR")).upper())
    parts: object = argument.get("conditions") or argument.get("methods")
    if kind is None or not isinstance(parts, Sequence) or isinstance(parts, str):
        return None
    return kind(tuple(parse_condition(item, where) for item in cast("Sequence[Any]", parts)))


_UNKNOWN = object()


def label_of(value: object) -> str:
    """Return the label for the return value of a router."""
    return str(value.value) if isinstance(value, Enum) else str(value)


def texts_in_code(function: Callable[..., Any]) -> frozenset[str]:
    """Return the string constants in a function's code and the labels in its annotation."""
    code: CodeType | None = getattr(function, "__code__", None)
    return frozenset({*(_text_constants(code) if code else ()), *(_annotated_labels(function) or ())})


def returned_labels(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the labels that a function returns, by its annotation or its code; None if unknown."""
    annotated = _annotated_labels(function)
    return frozenset(annotated) if annotated is not None else labels_in_code(function)


def labels_in_code(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the labels that a function's code returns, ignoring its annotation; None if any return value is not a constant."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return None
    found: set[str] = set()
    for returned_constant in _returned_constants(code):
        if returned_constant is _UNKNOWN:
            return None
        values = (
            cast("tuple[object, ...]", returned_constant)
            if isinstance(returned_constant, tuple)
            else (returned_constant,)
        )
        found |= {label_of(value) for value in values if value is not None}
    return frozenset(found)


def _returned_constants(code: CodeType) -> Iterator[object]:
    """Return the constant that each path through a function returns; `_UNKNOWN` for paths that return something else."""
    instructions = list(dis.get_instructions(code))
    for before, instruction in pairwise(instructions):
        if instruction.opname == "RETURN_CONST":
            yield instruction.argval
        elif instruction.opname == "RETURN_VALUE":
            yield _loaded_constant(before)
            if instruction.is_jump_target:
                yield from _values_from_jumps(instructions, instruction.offset)


def _values_from_jumps(instructions: list[dis.Instruction], offset: int) -> Iterator[object]:
    """The values on the stack for the jumps to an instruction."""
    for before, jump in pairwise(instructions):
        if jump.opcode in dis.hasjrel and jump.argval == offset:
            yield _UNKNOWN if jump.opname != "JUMP_FORWARD" or jump.is_jump_target else _loaded_constant(before)


def _loaded_constant(instruction: dis.Instruction) -> object:
    if instruction.opname == "JUMP_FORWARD":  # this path continues elsewhere
        return None
    return instruction.argval if instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT") else _UNKNOWN


def _text_constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _text_constants(constant)
        elif isinstance(constant, (tuple, frozenset)):
            yield from (item for item in constant if isinstance(item, str))  # pyright: ignore[reportUnknownVariableType]


def _annotated_labels(function: Callable[..., Any]) -> set[str] | None:
    """Return the labels in an annotation of Literals or Enums; None without such an annotation."""
    hint = return_type(function)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {label_of(member) for member in hint}
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return {label_of(part) for part in parts}
    inner = [part for part in parts if get_origin(part) is Literal or isinstance(part, type) and issubclass(part, Enum)]
    found = {label_of(get_arg) for part in inner for get_arg in (get_args(part) or part)}
    return found or None


Predicate = Callable[[dict[str, Any]], Any]
"""Returns whether a start method runs, given `{"inputs": ..., "state": ...}`."""

_METADATA_ATTRIBUTE = "__crewgraph_flow__"
_UNCALLED_ATTRIBUTE = "__crewgraph_unfinished__"
_CONVERSATIONAL_ATTRIBUTE = "__crewgraph_conversational__"

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass
class MethodMetadata:
    """The metadata declared by the decorators of a function; see `FlowMethod`."""

    is_start: bool = False
    condition: Condition | None = None
    predicate: Predicate | None = None
    trigger: Condition | None = None
    is_router: bool = False
    labels: tuple[str, ...] | None = None
    persistence: Any = None
    verbose: bool = False
    feedback: Any = None


def get_metadata(function: Any) -> MethodMetadata | None:
    """Return the metadata that decorators attached to a function; None if there is none."""
    return getattr(function, _METADATA_ATTRIBUTE, None)


def ensure_metadata(function: Any) -> MethodMetadata:
    """Return the metadata of a function, attaching it if there is none."""
    notes = get_metadata(function)
    if notes is None:
        notes = MethodMetadata()
        setattr(function, _METADATA_ATTRIBUTE, notes)
    return notes


def mark_uncalled(decorator: Callable[[Method], Method], written: str) -> Callable[[Method], Method]:
    """Mark a decorator that was not applied to a method; found in a class, it means that its brackets were forgotten.

    Args:
        decorator: the decorator.
        written: how it should be written.
    """
    setattr(decorator, _UNCALLED_ATTRIBUTE, written)
    return decorator


def uncalled_usage(value: Any) -> str | None:
    """Return how a decorator that was left in a class should be written; None for anything else."""
    return getattr(value, _UNCALLED_ATTRIBUTE, None) if isfunction(value) else None


def conversational_only(function: Method) -> Method:
    """Mark a method of a base class that is part of conversational flows alone."""
    setattr(function, _CONVERSATIONAL_ATTRIBUTE, True)
    return function


def is_conversational_only(function: Any) -> bool:
    """Whether a method is part of conversational flows alone."""
    return getattr(function, _CONVERSATIONAL_ATTRIBUTE, False) is True


@dataclass(frozen=True, kw_only=True)
class FlowMethod:
    """A method of a flow."""

    name: str
    func: Callable[..., Any]
    """The function, to be called with the flow first."""

    trigger: Condition | None = None
    """The condition that triggers the method; None for a start method without one."""

    condition: Condition | None = None
    """The condition that restarts a start method; with it, the method runs at the beginning only if there is no other start."""

    predicate: Predicate | None = None
    """A condition for running at the beginning; None for always."""

    is_start: bool = False
    is_router: bool = False
    labels: tuple[str, ...] = ()
    """The labels it may return, according to its annotations and code."""

    persistence: Any = None
    """Where the state is saved after the method: a `FlowPersistence`, True for the default, None for where its
    class saves, False for nowhere."""

    verbose: bool = False
    """Whether to print each save."""

    feedback: Any = None
    """A `FeedbackRequest` if a person reviews the return value."""

    def unwrap(self) -> Callable[..., Any]:
        """The function itself."""
        return self.func

    @property
    def is_async(self) -> bool:
        """Whether the method is a coroutine function."""
        return iscoroutinefunction(self.func)


class StartMethod(FlowMethod):
    """A method that a run starts with."""


class ListenMethod(FlowMethod):
    """A method that runs when its trigger occurs."""


class RouterMethod(FlowMethod):
    """A method whose return value is the next event."""


def build_method(name: str, function: Any, notes: MethodMetadata) -> FlowMethod:
    """Build a flow method from its metadata."""
    kind = RouterMethod if notes.is_router else StartMethod if notes.is_start else ListenMethod
    labels = notes.labels if notes.labels is not None else tuple(sorted(returned_labels(function) or ()))
    fields: PlainDict = {**vars(notes), "labels": labels}
    return kind(name=name, func=function, **fields)
