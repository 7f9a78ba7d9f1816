"""What a method may return, as far as its annotation and its code tell."""

import dis
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import pairwise
from types import CodeType
from typing import Any, Literal, cast, get_args, get_origin

__all__ = ["label_of", "mentioned", "proven", "returned"]

_UNKNOWN = object()


def label_of(value: object) -> str:
    """The label that a router's value stands for."""
    return str(value.value) if isinstance(value, Enum) else str(value)


def mentioned(function: Callable[..., Any]) -> frozenset[str]:
    """The texts in a function's code and in its annotation."""
    code: CodeType | None = getattr(function, "__code__", None)
    return frozenset({*(_constants(code) if code else ()), *(_annotated(function) or ())})


def returned(function: Callable[..., Any]) -> frozenset[str] | None:
    """The labels that a function returns; None where its code does not tell them all."""
    annotated = _annotated(function)
    return frozenset(annotated) if annotated is not None else proven(function)


def proven(function: Callable[..., Any]) -> frozenset[str] | None:
    """The labels that a function returns by its code, whatever its annotation says; None where that does not tell them all."""
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return None
    found: set[str] = set()
    for one in _returned_constants(code):
        if one is _UNKNOWN:
            return None
        values = cast("tuple[object, ...]", one) if isinstance(one, tuple) else (one,)
        found |= {label_of(value) for value in values if value is not None}
    return frozenset(found)


def _returned_constants(code: CodeType) -> Iterator[object]:
    """The constant that each way through a function returns; `_UNKNOWN` for a way that returns something else."""
    instructions = list(dis.get_instructions(code))
    for before, instruction in pairwise(instructions):
        if instruction.opname == "RETURN_CONST":
            yield instruction.argval
        elif instruction.opname == "RETURN_VALUE":
            yield _loaded(before)
            if instruction.is_jump_target:
                yield from _brought(instructions, instruction.offset)


def _brought(instructions: list[dis.Instruction], offset: int) -> Iterator[object]:
    """What the jumps to a place bring with them."""
    for before, jump in pairwise(instructions):
        if jump.opcode in dis.hasjrel and jump.argval == offset:
            yield _UNKNOWN if jump.opname != "JUMP_FORWARD" or jump.is_jump_target else _loaded(before)


def _loaded(instruction: dis.Instruction) -> object:
    if instruction.opname == "JUMP_FORWARD":  # the way does not lead here
        return None
    return instruction.argval if instruction.opname == "LOAD_CONST" else _UNKNOWN


def _constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _constants(constant)
        elif isinstance(constant, (tuple, frozenset)):
            yield from (one for one in constant if isinstance(one, str))  # pyright: ignore[reportUnknownVariableType]


def _annotated(function: Callable[..., Any]) -> set[str] | None:
    """The labels in an annotation of Literals or Enums; None where there is no such annotation."""
    try:
        hint: Any = typing.get_type_hints(function).get("return")
    except (NameError, TypeError):  # it names what is imported for type checkers alone
        return None
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {label_of(member) for member in hint}
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return {label_of(part) for part in parts}
    inner = [part for part in parts if get_origin(part) is Literal or isinstance(part, type) and issubclass(part, Enum)]
    found = {label_of(one) for part in inner for one in (get_args(part) or part)}
    return found or None
