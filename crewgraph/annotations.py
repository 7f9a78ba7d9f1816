"""Signatures and annotations of users' functions and classes.

Since Python 3.14, annotations are evaluated when they are read. Names in them that are imported for type checkers only would
raise NameError there; here they are forward references.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, ForwardRef

if sys.version_info >= (3, 14):
    import annotationlib

__all__ = ["annotations_in", "annotations_of", "is_unresolved", "signature_of", "signature_text"]


def is_unresolved(annotation: object) -> bool:
    """Whether an annotation is not evaluated: text, or a forward reference."""
    return isinstance(annotation, (str, ForwardRef))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """Return a signature.

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
    """Return the annotations of a function, or those in the body of a class."""
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
