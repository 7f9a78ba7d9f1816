"""A program's text as Python's tree."""

import ast
import warnings

__all__ = ["parsed"]


def parsed(text: str | bytes) -> ast.Module:
    r"""The tree of a text; what Python finds questionable in it, as `"\:"`, is its author's, and not told.

    Raises:
        SyntaxError: it is no Python.
        ValueError: it has bytes that no text has.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
