"""Fields that a flow class declares as annotated attributes: each object has its own values, which pydantic validates."""

import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from operator import is_not
from types import SimpleNamespace
from typing import Any, ClassVar, cast, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model
from pydantic.fields import ModelPrivateAttr

from crewgraph.annotations import annotations_of


def declared_fields(flow: type, base: type) -> dict[str, type]:
    """Return the annotated attributes of a flow class and who declares each, without those of the base class and `ClassVar`s."""
    own = [kind for kind in reversed(flow.__mro__) if kind not in base.__mro__]
    return {
        name: kind
        for kind in own
        for name, annotation in annotations_of(kind).items()
        if not hasattr(base, name) and not _is_class_variable(annotation)
    }


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.removeprefix("typing.").startswith("ClassVar")
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def set_declared_fields(flow: Any, names: Mapping[str, type], values: Mapping[str, object]) -> dict[str, object]:
    """Set the fields of a flow to the given values, or to their defaults; return the other values.

    Raises:
        ValidationError: A value does not fit, or a `Field(...)` without a default has none.
    """
    kind: Any = flow.__class__
    defaults = [getattr(kind, name, None) for name in names]  # a program may set others at the class
    made = kind.__dict__.get("_field_model")
    if made is None or any(map(is_not, made[0], defaults)):
        kind._field_model = made = defaults, _model_of(kind, names)
    given = {name: values[name] for name in names if name in values}
    for name, value in made[1](**given):
        # Unless an `__init__` before this one has set it.
        if name in given or (name not in vars(flow) and hasattr(kind, name)):
            setattr(flow, name, value)
    for name in names:
        if name.startswith("_") and name not in vars(flow):
            _set_default(flow, name)
    return {name: value for name, value in values.items() if name not in names}


def _model_of(kind: Any, names: Mapping[str, type]) -> type[BaseModel]:
    """Return a model with the fields of a flow class, and its validators."""
    fields: dict[str, Any] = {
        name: (_type_of(owner, name), getattr(kind, name, None)) for name, owner in names.items() if name[0] != "_"
    }
    owners: tuple[type, ...] = kind.__mro__[::-1]
    own = {name: value for owner in owners for name, value in vars(owner).items()}
    validators = {name: value for name, value in own.items() if hasattr(value, "decorator_info")}
    config = ConfigDict(arbitrary_types_allowed=True)
    return create_model(
        kind.__name__, __config__=config, __module__=kind.__module__, __validators__=validators, **fields
    )


def _type_of(owner: type, name: str) -> Any:
    """Return the type of a field; any where its annotation cannot be evaluated."""
    holder = SimpleNamespace(__annotations__={name: annotations_of(owner)[name]})
    try:
        return get_type_hints(holder, vars(sys.modules[owner.__module__]), dict(vars(owner)), include_extras=True)[name]
    except (NameError, AttributeError, TypeError, SyntaxError):
        return Any


def _set_default(flow: Any, name: str) -> None:
    default: Any = getattr(flow.__class__, name, None)
    if isinstance(default, ModelPrivateAttr):
        factory = cast("Callable[[], object] | None", default.default_factory)
        setattr(flow, name, deepcopy(default.default) if factory is None else factory())
    elif isinstance(default, (list, dict, set)):
        setattr(flow, name, deepcopy(cast("object", default)))
