"""Tool names, and the resolution of modules, classes and callables by name."""

import hashlib
import importlib
import os
import re
import unicodedata
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer, TypeAdapter, WithJsonSchema

__all__ = [
    "ImportedDefinition",
    "InvalidRefError",
    "OptionalDependencyError",
    "SerializableCallable",
    "callable_to_string",
    "import_and_validate_definition",
    "require_field",
    "resolve_class_ref",
    "resolve_ref",
    "sanitize_tool_name",
    "slugify",
    "string_to_callable",
    "validate_import_path",
]


_ALLOWED = "CREWAI_DESERIALIZE_CALLBACKS"


class OptionalDependencyError(ImportError):
    """An optional dependency is required but not installed."""


class InvalidRefError(ValueError):
    """A "module:name" reference that cannot be resolved or has the wrong type."""


def require_field(name: str, *, purpose: str, attr: str | None = None) -> ModuleType | Any:
    """Import a module, or an attribute of it.

    Args:
        name: the module.
        purpose: the reason it is needed, for the message.
        attr: an attribute of the module.

    Raises:
        OptionalDependencyError: the module is not there.
        AttributeError: The module has no such attribute.
    """
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise OptionalDependencyError(
            f"{purpose} needs the package `{package}`, which is not installed: pip install {package}"
        ) from error
    if attr is None:
        return module
    if not hasattr(module, attr):
        raise AttributeError(f"the module `{name}` has nothing named `{attr}`", name=attr, obj=module)
    return getattr(module, attr)


def validate_import_path(v: str) -> Any:
    """Return the object at a dotted import path.

    Raises:
        ValueError: The path is malformed or cannot be resolved.
    """
    module, _, name = v.rpartition(".")
    if not module or not name:
        raise ValueError(f"{v!r} is not an import path; write it as `module.Name`")
    try:
        result = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"`{module}` cannot be imported ({error}): pip install {module.partition('.')[0]}, or correct the path {v!r}"
        ) from error
    if not hasattr(result, name):
        raise ValueError(f"the module `{module}` has no `{name}`")
    return getattr(result, name)


ImportedDefinition = Annotated[Any, AfterValidator(validate_import_path)]
"""A pydantic field type: the input is a dotted import path, the value is the object."""

_imported: TypeAdapter[Any] = TypeAdapter(ImportedDefinition)


def import_and_validate_definition(v: str) -> Any:
    """Return the object at a dotted import path, validated by pydantic.

    Raises:
        pydantic.ValidationError: The path cannot be resolved.
    """
    return _imported.validate_python(v)


def resolve_ref(ref: str, *, field: str) -> Any:
    """Return the object for a "module:name" reference; the name may be dotted.

    Args:
        ref: the reference.
        field: the field it was passed as, for messages.

    Raises:
        InvalidRefError: The reference is malformed or cannot be resolved (also ValueError).
    """
    module, _, name = ref.partition(":")
    if not module or not name:
        raise InvalidRefError(f"`{field}` is {ref!r}; write it as `module:name`")
    try:
        return _within(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidRefError(f"`{field}` is {ref!r}, which cannot be resolved: {error}") from error


def resolve_class_ref(ref: str, *, field: str, base_class: type[Any] | None = None) -> type[Any]:
    """Return the class for a "module:name" reference.

    Raises:
        InvalidRefError: There is none, or it is not a subclass of `base_class` (also ValueError).
    """
    result = resolve_ref(ref, field=field)
    if not isinstance(result, type):
        raise InvalidRefError(f"`{field}` is {ref!r}, which is not a class")
    if base_class is not None and not issubclass(result, base_class):
        raise InvalidRefError(f"`{field}` is {ref!r}, which is not a subclass of `{base_class.__name__}`")
    return result


def callable_to_string(fn: Callable[..., Any]) -> str | None:
    """Return the dotted path of a function or class, or None if it cannot be imported by others."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if module is None and (owner := getattr(fn, "__self__", None)) is not None:
        module = type(owner).__module__
    return f"{module}.{name}" if module and name and "<" not in name else None


def string_to_callable(value: Any) -> Callable[..., Any]:
    """Return the callable for a dotted path; callables are returned unchanged.

    Raises:
        ValueError: The path is malformed, cannot be resolved, or the environment forbids resolving paths.
    """
    if callable(value):
        return value
    if not isinstance(value, str):
        raise ValueError(f"a callback must be a function or its dotted path, not a {type(value).__name__}")
    if "." not in value:
        raise ValueError(f"{value!r} is not the path of a callback; write it as `module.name`")
    if os.environ.get(_ALLOWED) != "1":
        raise ValueError(
            f"the path {value!r} is not resolved, because it may name any function. Set {_ALLOWED}=1 if you trust its "
            "author."
        )
    result = _by_path(value)
    if not callable(result):
        raise ValueError(f"{value!r} is not a callback")
    return result


SerializableCallable = Annotated[
    Callable[..., Any],
    BeforeValidator(string_to_callable),
    PlainSerializer(callable_to_string, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string"}),
]
"""A pydantic field type: a function or its dotted path, serialized as the path."""


def _by_path(path: str) -> Any:
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            return _within(importlib.import_module(".".join(parts[:length])), ".".join(parts[length:]))
        except (ImportError, AttributeError, ValueError):  # the path may name a class in a parent module
            continue
    return None


def _within(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = getattr(value, part)
    return value


_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIGITS = 8


def sanitize_tool_name(name: str, max_length: int = 64) -> str:
    """Return a tool name as CrewAI shows it to models: lowercase letters and digits joined by `_`.

    Agents of crewgraph call tools by `crewgraph.text.model_name`, which also keeps names of other scripts apart.

    Args:
        name: the tool's name.
        max_length: the maximum length; a longer name is truncated and ends in an eight-digit hash.
    """
    result = slugify(_HUMPS.sub("_", name))
    if len(result) <= max_length:
        return result
    digits = hashlib.sha256(result.encode()).hexdigest()[:_DIGITS]
    return f"{result[: max_length - _DIGITS - 1].rstrip('_')}_{digits}"


def slugify(text: str, separator: str = "_") -> str:
    """Return a text as lowercase letters and digits with a separator between words; accents are removed."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return separator.join(re.findall(r"[a-z0-9]+", plain.replace("'", "").replace('"', "")))
