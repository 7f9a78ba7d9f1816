"""Structured answers: models that give them in a way of their own, and texts that may contain more than JSON."""

import json
from typing import Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, RootModel, ValidationError

from crewgraph.core.messages import Reply
from crewgraph.core.plain import unstorable
from crewgraph.core.protocols import Model
from crewgraph.schema import fault_text, is_list
from crewgraph.text import extract_json

_M = TypeVar("_M", bound=BaseModel)


@runtime_checkable
class StructuringModel(Protocol):
    """A model that may answer with structures in a way of its own: a response format, or a tool call."""

    def for_structure(self, structure: type[BaseModel]) -> Model | None:
        """Return a copy that answers with an instance of a pydantic model; None if it cannot."""
        ...


def structured_model(model: Model, structure: type[BaseModel]) -> Model | None:
    """Return a model that answers with an instance of a pydantic model in its own way; None if it has none.

    Providers take objects only: a `RootModel`, such as a list, is asked for in words.
    """
    is_object = not issubclass(structure, RootModel)
    return model.for_structure(structure) if is_object and isinstance(model, StructuringModel) else None


def reply_structure(reply: Reply, structure: type[BaseModel], *, any_name: bool = False) -> str | None:
    """Return the JSON text of a reply that is a tool call with a structure's fields as arguments.

    Args:
        reply: The reply.
        structure: The structure.
        any_name: Whether any call is read, where no tools were offered; else only one named after the structure.
    """
    for call in reply["tool_calls"]:
        if any_name or call["name"].casefold() == structure.__name__.casefold():
            return call["args"] if isinstance(call["args"], str) else json.dumps(call["args"], ensure_ascii=False)
    return None


def read_structure(text: str, schema: type[_M]) -> tuple[_M | None, str]:
    """Parse a text, or the JSON embedded in it, as an instance of a schema; a list of one object is that object.

    Returns:
        The instance and an empty string, or None and the reason.
    """
    problem = "it holds no JSON"
    for data in _candidates(text):
        if unfit := unstorable(data, exact=True):
            problem = unfit
            continue
        try:  # validated as JSON, so that strict mode applies and errors mention objects and arrays
            return schema.model_validate_json(json.dumps(data), by_alias=True, by_name=True), ""
        except ValidationError as error:
            faults = error.errors(include_url=False)[:8]
            problem = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the whole'}: {fault_text(e)}" for e in faults)
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
    lists = (found for found in candidates if is_list(found))
    return [*candidates, *(found[0] for found in lists if len(found) == 1)]
