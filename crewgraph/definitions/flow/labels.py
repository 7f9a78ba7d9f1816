"""What a method may return, as far as its annotation and its code tell."""

import dis
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import pairwise
from types import CodeType
from typing import Any, Literal, cast, get_args, get_origin

__all__ = ["label_of", "mentioned", "proven", "returned"]


_JUMPS = frozenset({*dis.hasjrel, *dis.hasjabs})


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
    for instruction in _givers(list(dis.get_instructions(code))):
        if instruction.opname not in ("LOAD_CONST", "RETURN_CONST"):
            return None
        value: object = instruction.argval
        values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        found |= {label_of(one) for one in values if one is not None}
    return frozenset(found)


def _givers(instructions: list[dis.Instruction]) -> Iterator[dis.Instruction]:
    """The instructions that give what is returned: those before a return, and before a jump to one."""
    returns = {one.offset for one in instructions if one.opname == "RETURN_VALUE"}
    for before, instruction in pairwise(instructions):
        if instruction.opname == "RETURN_CONST":
            yield instruction
        elif instruction.offset in returns or (instruction.opcode in _JUMPS and instruction.argval in returns):
            yield before


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
