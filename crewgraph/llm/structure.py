"""Reading the structure that a text holds, whatever stands around it."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from crewgraph.text import extract_json

__all__ = ["read_structure"]


_M = TypeVar("_M", bound=BaseModel)


def read_structure(text: str, schema: type[_M]) -> tuple[_M | None, str]:
    """The text itself as JSON, else the JSON that stands in it; or None and why there is none that fits."""
    problem = "it holds no JSON"
    for data in _candidates(text):
        try:  # as JSON: strict models read it in their way, and errors speak of objects and arrays
            return schema.model_validate_json(json.dumps(data)), ""
        except ValidationError as error:
            problem = _describe(error)
        except RecursionError:
            problem = "it is nested too deeply"
    return None, problem


def _candidates(text: str) -> list[Any]:
    found: list[Any] = []
    try:
        found.append(json.loads(text, strict=False))
    except (RecursionError, ValueError):
        inner = extract_json(text)
        if inner is not None:
            found.append(inner)
    return found


def _describe(error: ValidationError) -> str:
    parts = [f"{'.'.join(map(str, e['loc'])) or 'the whole'}: {e['msg']}" for e in error.errors(include_url=False)]
    return "; ".join(parts[:8])
