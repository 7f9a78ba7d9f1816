"""Signatures and annotations of users' functions and classes.

Annotations may use names that are imported for type checkers only. Since Python 3.14, annotations are evaluated when they are
read, and such a name would raise NameError; here it is a forward reference.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, ForwardRef, cast, get_type_hints

if sys.version_info >= (3, 14):
    import annotationlib


def is_unresolved(annotation: object) -> bool:
    """Whether an annotation is not evaluated: text, or a forward reference."""
    return isinstance(annotation, (str, ForwardRef))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function; see `is_unresolved` for its annotations.

    Raises:
        TypeError: The object cannot be called.
        ValueError: It is built in and has no signature.
    """
    if sys.version_info >= (3, 14):
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def signature_text(method: Callable[..., Any]) -> str:
    """Return the signature of a method as it is written, without the first parameter.

    Raises:
        TypeError: The object cannot be called.
        ValueError: It is built in and has no signature.
    """
    if sys.version_info >= (3, 14):
        signature = inspect.signature(method, annotation_format=annotationlib.Format.STRING)
    else:
        signature = inspect.signature(method)
    parameters = [one.replace(annotation=_unquoted(one.annotation)) for one in list(signature.parameters.values())[1:]]
    return str(signature.replace(parameters=parameters, return_annotation=_unquoted(signature.return_annotation)))


def _unquoted(annotation: object) -> object:
    return _Text(annotation) if isinstance(annotation, str) else annotation


class _Text:
    """An annotation that a signature shows without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def annotations_of(owner: Any) -> dict[str, Any]:
    """Return the annotations of a function, or those in the body of a class; see `is_unresolved`."""
    if sys.version_info >= (3, 14):
        return annotationlib.get_annotations(owner, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(owner)


def annotations_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations in the body of a class that is being created."""
    if sys.version_info >= (3, 14) and "__annotations__" not in body:
        annotate = annotationlib.get_annotate_from_class_namespace(body)
        if annotate is not None:
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    return dict(body.get("__annotations__", {}))


def argument_types(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the evaluated annotations of a function's parameters, with what `Annotated` adds.

    Raises:
        NameError, AttributeError, TypeError, SyntaxError: An annotation cannot be evaluated.
    """
    inner = _inner(function)
    annotations = {name: value for name, value in annotations_of(inner).items() if name != "return"}
    return _evaluated(inner, annotations, include_extras=True)


def return_type(function: Callable[..., Any]) -> Any:
    """Return the evaluated annotation of what a function returns; None if there is none, or it cannot be evaluated."""
    inner = _inner(function)
    annotations = annotations_of(inner)
    if "return" not in annotations:
        return None
    try:
        return _evaluated(inner, {"return": annotations["return"]}, include_extras=False)["return"]
    except (NameError, AttributeError, TypeError, SyntaxError):
        return None


def _inner(function: Callable[..., Any]) -> Any:
    """Return the function behind decorators, partial functions, methods and objects that can be called."""
    inner: object = inspect.unwrap(function)
    while isinstance(inner, partial):
        inner = inspect.unwrap(cast("Callable[..., Any]", inner.func))
    if not inspect.isroutine(inner):
        inner = type(inner).__call__
    return getattr(inner, "__func__", inner)


def _evaluated(inner: Any, annotations: dict[str, Any], *, include_extras: bool) -> dict[str, Any]:
    holder = SimpleNamespace(__annotations__=annotations)
    return get_type_hints(holder, globalns=getattr(inner, "__globals__", {}), include_extras=include_extras)
