"""Inputs put into a text, by themselves."""

from collections.abc import Mapping
from typing import Any

from crewgraph.text import fill, placeholders

__all__ = ["interpolate_only"]


def interpolate_only(input_string: str | None, inputs: Mapping[str, Any]) -> str:
    """A text with its `{placeholders}` filled; tasks do it by themselves.

    Args:
        input_string: the text; None is an empty one.
        inputs: values by name.

    Raises:
        MissingInput: a placeholder has no value (also KeyError and ValueError).
        DefinitionError: a value is of a type that is not shown (also ValueError).
    """
    if not input_string or not placeholders(input_string):
        return input_string or ""
    return fill(input_string, inputs, where="the text")
