"""Parses the arguments that a model wrote for a tool, repairs common mistakes, and explains the others."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from crewgraph.core.messages import ToolSpec
from crewgraph.core.plain import unstorable
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict, PlainMapping, fault_text, is_list, is_object, schema_outline, validated
from crewgraph.text import extract_json, shorten

_log = redacted_logger("crewgraph")

_QUOTED_CHARACTERS = 200
"""Maximum number of characters of an invalid value that are quoted."""


_FLAT = frozenset((str, int, bool, type(None)))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was rejected before the tool was executed."""

    text: str
    """The problems and the expected arguments, for the model."""


def read_arguments(
    spec: ToolSpec, schema: type[BaseModel] | Mapping[str, object], written: object
) -> PlainDict | Refusal:
    """Parse the arguments that a model wrote for a tool.

    Text is parsed as JSON or as a Python literal; for a tool with a single argument, other text is that argument. An object alone
    in a list is what it would be without the list.
    Numbers instead of strings, JSON text instead of lists and objects, and null for optional arguments are repaired.
    Arguments that the tool does not have are left out, unless another one is missing or its schema forbids them.

    Args:
        spec: The tool as the model sees it.
        schema: The arguments as a pydantic model, or a JSON schema, of which only names are checked.
        written: A dict, a text, or None for no arguments.

    Returns:
        Valid arguments as plain data, by the names that the model uses; or a refusal.
    """
    arguments = _read_value(spec["parameters"], written)
    if isinstance(arguments, Refusal):
        return _refusal(spec, [arguments.text])
    if not _FLAT.issuperset(map(type, arguments.values())) and (problem := unstorable(arguments)):
        return _refusal(spec, [f"the argument object cannot be taken: {problem}"])
    missing, unknown = (
        _missing_arguments(spec["parameters"], arguments),
        _unknown_arguments(spec["parameters"], arguments),
    )
    if missing or (unknown and spec["parameters"].get("additionalProperties") is False):
        return _refusal(spec, [*missing, *(f"there is no argument `{name}`" for name in unknown)])
    if unknown:
        _log.warning("a call of `%s` left out what it does not take: `%s`", spec["name"], "`, `".join(unknown))
        arguments = {name: value for name, value in arguments.items() if name not in unknown}
    if not isinstance(schema, type) or not schema.model_fields:
        return _as_json_schema(spec, arguments)
    if errors := _validation_errors(schema, arguments):
        arguments = _repaired(arguments, errors, spec["parameters"].get("required", []))
        if problem := unstorable(arguments):  # text that held it was read as JSON
            return _refusal(spec, [f"the argument object cannot be taken: {problem}"])
        errors = _validation_errors(schema, arguments)
    return _refusal(spec, [_described_fault(error) for error in errors]) if errors else arguments


_SCALARS: dict[str, TypeAdapter[Any]] = {
    "boolean": TypeAdapter(bool),
    "integer": TypeAdapter(int),
    "number": TypeAdapter(float),
    "string": TypeAdapter(Annotated[str, Field(coerce_numbers_to_str=True)]),
}


def _as_json_schema(spec: ToolSpec, arguments: dict[str, object]) -> PlainDict | Refusal:
    """Convert the arguments that a JSON schema declares as texts, numbers and truth values, as pydantic does."""
    parameters = spec["parameters"]
    problems: list[str] = []
    result: PlainDict = {}
    for name, value in arguments.items():
        kinds = _kinds(parameters.get("properties", {}).get(name, {}))
        if value is None and kinds and "null" not in kinds and name not in parameters.get("required", []):
            continue
        (kind,) = kinds - {"null"} if len(kinds - {"null"}) == 1 else ("",)
        is_whole = kind == "number" and type(value) is int  # which stays as it was written
        if kind not in _SCALARS or is_whole or (value is None and "null" in kinds):
            result[name] = value
            continue
        try:
            result[name] = _SCALARS[kind].validate_python(value)
        except ValidationError as error:
            problems += [f"`{name}`: {_described_fault(one)}" for one in error.errors(include_url=False)]
    return _refusal(spec, problems) if problems else result


def _kinds(schema: PlainMapping) -> set[str]:
    """Return the JSON types of a schema; none if it is not simple."""
    kinds: object = schema.get("type")
    if is_list(kinds):
        return set(kinds)
    choices: list[PlainMapping] = schema.get("anyOf") or schema.get("oneOf") or []
    if isinstance(kinds, str):
        return {kinds}
    return {str(choice.get("type")) for choice in choices}


def refuse_unknown(spec: ToolSpec, arguments: PlainMapping) -> Refusal | None:
    """Return a refusal of arguments that a tool does not have, for a person's, who is to know; None if it has all of them."""
    problems = [f"there is no argument `{name}`" for name in _unknown_arguments(spec["parameters"], arguments)]
    return _refusal(spec, problems) if problems else None


def _read_value(parameters: Mapping[str, object], written: object) -> dict[str, object] | Refusal:
    if written is None:
        return {}
    if isinstance(written, str):
        return _read_json(parameters, written.strip())
    if is_object(written):
        return written
    return _sole_argument(parameters, written)


def _read_json(parameters: Mapping[str, object], text: str) -> dict[str, object] | Refusal:
    if not text:
        return {}
    try:
        value = json.loads(text, strict=False)
    except (RecursionError, ValueError):
        value = extract_json(text) if text[0] in "{`" else None
        if is_object(value):
            return value
        if text[0] == "{":  # meant as JSON: passed on as plain text, it would be a wrong argument
            return Refusal(f"the arguments must be a JSON object, not {_shown_value(text)}")
        return _sole_argument(parameters, text)
    if is_object(value):
        return value
    if isinstance(value, str):  # JSON within JSON
        return _read_json(parameters, value.strip()) if value.strip()[:1] == "{" else _sole_argument(parameters, value)
    return _sole_argument(parameters, value, text)


def _sole_argument(parameters: Mapping[str, Any], value: Any, text: str | None = None) -> PlainDict | Refusal:
    """Use a value without a name as the only argument, or the only required one; an object alone in a list is all of them."""
    names = list(parameters.get("properties", {}))
    required = list(parameters.get("required", []))
    candidates = names if len(names) == 1 else required
    sole = candidates[0] if len(candidates) == 1 else None
    if (wrapped := _only_object(value)) is not None and (
        sole is None or (sole in wrapped and not _may_hold(parameters["properties"][sole], sole))
    ):
        return wrapped
    if sole is None:
        return Refusal(f"the arguments must be a JSON object, not {_shown_value(value)}")
    json_type = parameters["properties"][sole].get("type")
    if json_type == "string" and text is not None:
        return {sole: text}
    if json_type == "object":
        return Refusal(f"the arguments must be a JSON object with `{sole}`, not {_shown_value(value)}")
    return {sole: value}


def _only_object(value: Any) -> PlainDict | None:
    """Return the object in a list of one; None for any other value."""
    return value[0] if is_list(value) and len(value) == 1 and is_object(value[0]) else None


def _may_hold(argument: Mapping[str, Any], name: str) -> bool:
    """Whether an argument may be a list of objects that have a field with this name, as those of a tree have."""
    schema: object = argument.get("items")
    return is_object(schema) and ("$ref" in schema or name in schema.get("properties", {}))


def _missing_arguments(parameters: Mapping[str, Any], arguments: PlainMapping) -> list[str]:
    return [f"the argument `{name}` is missing" for name in parameters.get("required", []) if name not in arguments]


def _unknown_arguments(parameters: Mapping[str, Any], arguments: PlainMapping) -> list[str]:
    known, additional = parameters.get("properties", {}), parameters.get("additionalProperties", False)
    return [] if additional is True or isinstance(additional, dict) else [n for n in arguments if n not in known]


def _validation_errors(schema: type[BaseModel], arguments: dict[str, object]) -> list[ErrorDetails]:
    try:
        validated(schema, arguments)
    except ValidationError as error:
        return error.errors(include_url=False)
    return []


_CONTAINERS = ("list_", "dict_", "model_", "tuple_", "set_", "frozen_set_", "dataclass_", "mapping_")


def _repaired(arguments: dict[str, object], errors: list[ErrorDetails], required: list[str]) -> dict[str, object]:
    repaired = dict(arguments)
    for error in errors:
        name = str(error["loc"][0]) if error["loc"] else ""
        value = arguments.get(name)
        if error["type"] == "string_type" and isinstance(value, (int, float)) and not isinstance(value, bool):
            repaired[name] = str(value)
        elif name not in required and (
            value is None or (isinstance(value, str) and value.strip().lower() in ("", "null", "none"))
        ):
            repaired.pop(name, None)
        elif not isinstance(value, str):
            continue
        elif error["type"].startswith(_CONTAINERS) and (parsed := extract_json(value)) is not None:
            repaired[name] = parsed
    return repaired


def _described_fault(error: ErrorDetails) -> str:
    location = ".".join(str(part) for part in error["loc"])
    value = _shown_value(error["input"])
    message = f"{fault_text(error)} (given: {value})"
    return f"`{location}`: {message}" if location else message


def _shown_value(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False, default=str), _QUOTED_CHARACTERS)


def _refusal(spec: ToolSpec, problems: list[str]) -> Refusal:
    signature = schema_outline(spec["parameters"]) if spec["parameters"].get("properties") else "no arguments"
    return Refusal(f"`{spec['name']}` was not used: {'; '.join(problems)}. It takes: {signature}")
