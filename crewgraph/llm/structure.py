"""Parses structured data out of text that may contain more than JSON."""

import json
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from crewgraph.text import extract_json

__all__ = ["read_structure"]


_M = TypeVar("_M", bound=BaseModel)


def read_structure(text: str, schema: type[_M]) -> tuple[_M | None, str]:
    """Parse a text, or the JSON embedded in it, as an instance of a schema.

    Returns:
        The instance and an empty string, or None and the reason.
    """
    problem = "it holds no JSON"
    for data in _candidates(text):
        try:  # validated as JSON, so that strict mode applies and errors mention objects and arrays
            return schema.model_validate_json(json.dumps(data)), ""
        except ValidationError as error:
            problem = _describe(error)
        except RecursionError:
            problem = "it is nested too deeply"
    return None, problem


def _candidates(text: str) -> list[object]:
    candidates: list[object] = []
    try:
        candidates.append(json.loads(text, strict=False))
    except (RecursionError, ValueError):
        embedded = extract_json(text)
        if embedded is not None:
            candidates.append(embedded)
    return candidates


def _describe(error: ValidationError) -> str:
    parts = [f"{'.'.join(map(str, e['loc'])) or 'the whole'}: {e['msg']}" for e in error.errors(include_url=False)]
    return "; ".join(parts[:8])
