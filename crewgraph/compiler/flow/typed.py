"""The fields of a state, checked against its model once a method has changed them in place."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from crewgraph.errors import StateInvalid

__all__ = ["PlainForm", "fitting"]


@dataclass(frozen=True)
class PlainForm:
    """A value with objects in it as checkpoints hold it."""

    value: Any
    record: Callable[[Any], Any]
    """Makes this form of a value."""

    revive: Callable[[Any], Any]
    """Makes a value of this form; a KeyError where it holds an object of a class that is not known."""


def fitting(state: BaseModel, name: str, value: Any, plain: PlainForm | None) -> Any:
    """What the value of a field that has changed comes to, checked as pydantic checks a value that is assigned.

    That is the value itself, unless it is one of another type that can be read as the right one: 5 for "5".

    Args:
        state: the state.
        name: the field.
        value: the value.
        plain: the value in that form; None where there are no objects in it, or they are not to be looked at.

    Raises:
        StateInvalid: the field may not have such a value.
    """
    kind = type(state)
    if name not in kind.model_fields or kind.model_fields[name].frozen:
        return value
    try:
        found = _assigned(state, name, value if plain is None else _looked_into(value, plain))
    except ValidationError as error:
        raise StateInvalid(_told(error, name, kind, value)) from error
    return value if type(found) is type(value) and found == value else found


def _looked_into(value: Any, plain: PlainForm) -> Any:
    """The value, with the objects in it checked; pydantic takes those as they are.

    Raises:
        ValidationError: one of them does not fit its class.
    """
    try:
        anew = plain.revive(plain.value)
    except KeyError:  # it will come back as its fields, whatever they are
        return value
    return value if plain.record(anew) == plain.value else anew


def _assigned(state: BaseModel, name: str, value: Any) -> Any:
    """What a value becomes when it is assigned to a field; of a copy, for the validators of a model may change others."""
    kind = type(state)
    copy = kind.__new__(kind)
    for slot in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
        object.__setattr__(copy, slot, getattr(state, slot))
    object.__setattr__(copy, "__dict__", dict(state.__dict__))
    kind.__pydantic_validator__.validate_assignment(copy, name, value)
    return copy.__dict__[name]


def _told(error: ValidationError, name: str, kind: type[BaseModel], value: Any) -> str:
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return f"with `{name}` being {value!r:.120}, the state does not fit `{kind.__name__}`: {first['msg']}"
    annotation: Any = kind.model_fields[name].annotation
    plain = isinstance(annotation, type) and not getattr(annotation, "__args__", ())
    expected = annotation.__name__ if plain else str(annotation)
    return f"`{name}` is to be `{expected}`, and is {value!r:.120}: {_place(first['loc'], name)}{first['msg']}"


def _place(steps: tuple[int | str, ...], name: str) -> str:
    inside = steps[1:] if steps[0] == name else steps
    return f"`{'.'.join(map(str, inside))}` in it: " if inside else ""
