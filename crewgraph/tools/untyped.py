"""Classes of tools whose fields have no types, as pydantic's first version took them."""

import inspect
import sys
from typing import TYPE_CHECKING, Any, cast, dataclass_transform

from pydantic import BaseModel, Field, PrivateAttr

from crewgraph.deprecations import warn_deprecated
from crewgraph.extras import load

__all__ = ["ToolType"]

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as ModelType
else:
    ModelType = type(BaseModel)

_PLAIN = (str, int, float, bool, list, dict, tuple, set)


@dataclass_transform(kw_only_default=True, field_specifiers=(Field, PrivateAttr))
class ToolType(ModelType):
    """Makes the classes of tools; a value that stands in one without a type is a field all the same."""

    def __new__(mcs, name: str, bases: tuple[type[Any], ...], namespace: dict[str, Any], **words: Any) -> Any:
        if untyped := _untyped(bases, namespace):
            namespace = {**namespace, "__annotations__": {**_annotations(namespace), **untyped}}
            fields = ", ".join(f"`{field}`" for field in untyped)
            warn_deprecated(f"{fields} without a type in the class `{name}`", 'write the type: `name: str = "..."`')
        return super().__new__(mcs, name, bases, namespace, **words)


def _untyped(bases: tuple[type[Any], ...], namespace: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value and no type, with the types that their base or their value has."""
    known = {name: field.annotation for base in reversed(bases) for name, field in _fields(base).items()}
    found = {name: value for name, value in namespace.items() if not name.startswith(("_", "model_"))}
    candidates = {
        name: known.get(name, type(cast("object", value)))
        for name, value in found.items()
        if isinstance(value, _PLAIN) or (name in known and not _is_code(value))
    }
    if not candidates:
        return {}
    annotated = _annotations(namespace)
    return {name: kind for name, kind in candidates.items() if name not in annotated}


def _fields(base: type[Any]) -> dict[str, Any]:
    return base.model_fields if issubclass(base, BaseModel) else {}


def _is_code(value: Any) -> bool:
    return inspect.isroutine(value) or isinstance(value, (property, staticmethod, classmethod))


def _annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    annotate = namespace.get("__annotate_func__") or namespace.get("__annotate__")
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace and annotate is not None:
        lib: Any = load("annotationlib")
        return dict(lib.call_annotate_function(annotate, lib.Format.FORWARDREF))
    return dict(namespace.get("__annotations__", {}))
