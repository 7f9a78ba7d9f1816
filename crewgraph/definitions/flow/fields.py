"""Fields that a flow class declares as annotated attributes: each object has its own values."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, ClassVar, cast, get_origin

from pydantic.fields import FieldInfo, ModelPrivateAttr
from pydantic_core import PydanticUndefined

from crewgraph.annotations import annotations_of
from crewgraph.errors import DefinitionError


def declared_fields(flow: type, base: type) -> frozenset[str]:
    """Return the names of the annotated attributes of a flow class, without those of the base class and `ClassVar`s."""
    own = [kind for kind in flow.__mro__ if kind not in base.__mro__]
    return frozenset(
        name
        for kind in own
        for name, annotation in annotations_of(kind).items()
        if not hasattr(base, name) and not _is_class_variable(annotation)
    )


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.removeprefix("typing.").startswith("ClassVar")
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def set_declared_fields(flow: Any, names: frozenset[str], values: Mapping[str, object]) -> dict[str, object]:
    """Set the fields of an object to the given values, or copies of their defaults; return the other values.

    Raises:
        DefinitionError: A `Field(...)` without a default has no value.
    """
    for name in names:
        if name in values:
            setattr(flow, name, values[name])
        elif name not in vars(flow):  # not set by an `__init__` before this one
            _set_default(flow, name)
    return {name: value for name, value in values.items() if name not in names}


def _set_default(flow: Any, name: str) -> None:
    default: object = getattr(cast("type[Any]", type(flow)), name, None)
    if isinstance(default, FieldInfo):
        value = default.get_default(call_default_factory=True, validated_data={})
        if value is PydanticUndefined:
            raise DefinitionError(
                f"flow `{type(flow).__name__}` needs a value for `{name}`: `{type(flow).__name__}({name}=...)`"
            )
        setattr(flow, name, value)
    elif isinstance(default, ModelPrivateAttr):
        factory = cast("Callable[[], object] | None", default.default_factory)
        setattr(flow, name, deepcopy(default.default) if factory is None else factory())
    elif isinstance(default, (list, dict, set)):
        setattr(flow, name, deepcopy(cast("object", default)))
