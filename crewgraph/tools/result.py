"""What a tool returns, as a model is shown it, where the tool says which form it has."""

import inspect
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, cast, get_type_hints

from pydantic import BaseModel, ValidationError

from crewgraph.core.plain import plain
from crewgraph.deprecations import user_stacklevel
from crewgraph.tools.observation import observation

__all__ = ["result_schema_of", "result_text", "revived"]


def result_schema_of(function: Callable[..., Any]) -> type[BaseModel] | None:
    """The model that a function is annotated to return; None where it is none."""
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, partial):
        inner = inspect.unwrap(cast("Callable[..., Any]", inner.func))
    inner = getattr(inner, "__func__", inner)
    annotation = getattr(inner, "__annotations__", {}).get("return")
    if isinstance(annotation, str):
        try:
            annotation = get_type_hints(inner).get("return")
        except (NameError, AttributeError, TypeError, SyntaxError):
            return None  # it is for readers only
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def result_text(tool: str, schema: type[BaseModel] | None, result: Any) -> str:
    """A result as a text: by its schema as JSON, else as `observation` has it.

    Args:
        tool: what the tool is called, for the warning.
        schema: the form that the result should have.
        result: what the tool returned.

    Warns:
        UserWarning: the result does not fit the schema.
    """
    if schema is not None:
        try:
            return schema.model_validate(result, from_attributes=True).model_dump_json()
        except ValidationError as error:
            told = f"what the tool `{tool}` returned is no `{schema.__name__}`, its `result_schema`, and shown as is: {error}"
            warnings.warn(told, UserWarning, stacklevel=user_stacklevel())
    return observation(plain(result))


def revived(schema: type[BaseModel] | None, result: Any) -> Any:
    """A result that was kept as plain data as what the tool returned, where its schema says how."""
    if schema is None or not isinstance(result, dict):
        return result
    try:
        return schema.model_validate(result)
    except ValidationError:
        return cast("dict[str, Any]", result)
