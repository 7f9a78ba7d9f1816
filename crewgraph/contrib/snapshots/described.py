"""Serializes definitions to plain data, from which another process can recreate them."""

import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel, SecretStr, ValidationError

from crewgraph.definitions.base import Definition, run_fields
from crewgraph.definitions.placeholders import TemplatedDefinition
from crewgraph.errors import DefinitionError
from crewgraph.flow.flow import Flow
from crewgraph.llm.base import BaseLLM
from crewgraph.redaction import is_secret_name, redact, redact_text, secret_variables
from crewgraph.schema import PlainDict, PlainMapping

_NAME, _REF, _LOST, _PAIRS, _SECRET = "$name", "$ref", "$lost", "$pairs", "$secret"
_DESCRIBED: Any = (BaseModel, BaseLLM, Flow)
_LEFT_OUT = frozenset(
    {"id", "config", "security_config", "execution_context", "entity_type", "made_manager", "is_manager_outdated"}
)


def describe_definition(definition: Any) -> PlainDict:
    """Describe a definition and everything it refers to as plain data.

    Objects that can be imported by name (classes, functions, `@tool` tools) are stored as that name. Others (a lambda, an open
    connection) are replaced by a note. Of a secret (an `api_key`, a header, a password in a URL ...) the name of the environment
    variable with its value is stored, or nothing but that it is missing.
    """
    writer = _Writer()
    top = writer.plain(definition, type(definition).__name__, definition)
    return {"top": top, "things": writer.things}


def recreate_definition(plain: PlainMapping) -> Any:
    """Recreate the definition that `describe_definition` described.

    Imports the modules that it names.

    Raises:
        DefinitionError: If part of it could not be described, a name can no longer be imported, or a secret is not in the
            environment.
    """
    return _Reader(plain["things"]).value(plain["top"])


class _Writer:
    def __init__(self) -> None:
        self.things: list[PlainDict] = []
        self._indices: dict[int, int] = {}
        self._references: list[Any] = []  # keeps objects alive, so that ids stay unique

    def plain(self, value: Any, where: str, shown: Any) -> Any:
        """Describe a value; `shown` is the same without secrets."""
        if isinstance(value, Enum):
            return {_NAME: f"{_class_path(type(value))}.{value.name}"}
        if isinstance(value, SecretStr):
            return _secret_described(value.get_secret_value(), where)
        if isinstance(value, str):
            return value if shown == value else _secret_described(value, where)
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, (Path, UUID, date)):
            return str(value)
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", value), where, shown)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = list(cast("list[Any]", value))
            shown_items = cast("list[Any]", shown if isinstance(shown, (list, tuple)) else redact(items))
            return [self.plain(item, f"{where}[{n}]", shown_items[n]) for n, item in enumerate(items)]
        return self._name_or_reference(value, where)

    def _name_or_reference(self, value: Any, where: str) -> Any:
        if (name := _importable_name(value)) is not None:
            return {_NAME: name}
        kind = value.__class__
        if issubclass(kind, _DESCRIBED) and _loaded(_class_path(kind)) is kind:
            return {_REF: self._thing(value, where)}
        return {_LOST: f"`{where}` ({kind.__name__})"}

    def _mapping(self, value: Mapping[Any, Any], where: str, shown: Mapping[Any, Any]) -> PlainDict:
        items = [(key, self.plain(item, f"{where}[{key!r}]", shown[key])) for key, item in value.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key, _ in items):
            return dict(items)
        return {_PAIRS: [[self.plain(key, where, redact(key)), item] for key, item in items]}

    def _thing(self, value: "BaseModel | BaseLLM | Flow", where: str) -> int:
        if id(value) in self._indices:
            return self._indices[id(value)]
        index = self._indices[id(value)] = len(self.things)
        self._references.append(value)
        thing = {"class": _class_path(type(value)), "fields": dict[str, Any]()}
        self.things.append(thing)
        thing["fields"] = {
            name: self.plain(item, f"{where}.{name}", redact(item, name))
            for name, item in _constructor_arguments(value).items()
        }
        return index


_VARIABLE = "$env"
_PREFIX = re.compile(r"((bearer|basic|token|apikey) )?", re.IGNORECASE)
_MIN_LENGTH = 6  # a shorter value of a variable is found in too many texts


def _secret_described(value: str, where: str) -> PlainDict:
    """Describe a secret by the environment variables that hold it; without them it is missing."""
    parts: list[Any] = [value]
    for text, name in _variables_in(value):
        marked = [_marked(part, text, {_VARIABLE: name}) if isinstance(part, str) else [part] for part in parts]
        parts = [piece for pieces in marked for piece in pieces]
    rest = "".join(part for part in parts if isinstance(part, str))
    is_harmless = _PREFIX.fullmatch(rest) is not None or ("://" in rest and redact_text(rest) == rest)
    is_known = any(not isinstance(part, str) for part in parts)
    return {_SECRET: f"`{where}`", **({"parts": parts} if is_known and is_harmless else {})}


def _variables_in(secret: str) -> list[tuple[str, str]]:
    """Return the values and names of the environment variables that a secret is made of, the longest first."""
    named = dict(secret_variables(os.environ))
    found = [
        (value, name)
        for name, value in os.environ.items()
        if len(value) >= _MIN_LENGTH and value in secret and (name in named or secret.split(" ")[-1] == value)
    ]
    return sorted(found, key=lambda item: (-len(item[0]), item))


def _marked(text: str, part: str, mark: PlainDict) -> list[Any]:
    """Return a text in pieces, with a mark in the place of each occurrence of one part."""
    pieces: list[Any] = []
    for piece in text.split(part):
        pieces += [piece, mark]
    return [piece for piece in pieces[:-1] if piece != ""]


def _constructor_arguments(value: "BaseModel | BaseLLM | Flow") -> PlainDict:
    if isinstance(value, Flow):  # the class is the definition, and the state belongs to the run
        return {"name": value.name} if isinstance(value.name, str) else {}
    return _set_fields(value) if isinstance(value, BaseModel) else _llm_attributes(value)


def _set_fields(value: BaseModel) -> dict[str, Any]:
    """Return the fields that were set on a model."""
    left_out: frozenset[str] = _LEFT_OUT | run_fields(type(value)) if isinstance(value, Definition) else frozenset()
    fields = {**(value.model_extra or {})}
    for name, field in type(value).model_fields.items():
        item = getattr(value, name)
        if name in left_out or field.exclude or (name not in value.model_fields_set and _equals_default(item, field)):
            continue
        if isinstance(item, type) and _importable_name(item) is None and not field.is_required():
            continue  # generated from a signature, and generated again on restore
        fields[field.alias or name] = (
            value.template(name) if isinstance(value, TemplatedDefinition) and isinstance(item, str) else item
        )
    return fields


def _equals_default(value: Any, field: Any) -> bool:
    if field.is_required():
        return False
    default = field.get_default(call_default_factory=True, validated_data={})
    return value is default or (isinstance(value, (list, dict, str, int, float, bool)) and value == default)


def _llm_attributes(value: BaseLLM) -> dict[str, Any]:
    """Return the public attributes of a language model."""
    attributes = {name: item for name, item in vars(value).items() if not name.startswith("_")}
    own_key = vars(value).get(
        "_api_key"
    )  # `api_key` of an `LLM`, which reads the environment's where it was given none
    return attributes if own_key is None else {**attributes, "api_key": own_key}


class _Reader:
    def __init__(self, things: Sequence[PlainMapping]) -> None:
        self._things, self._objects = things, dict[int, Any]()

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self.value(item) for item in cast("list[Any]", plain)]
        if not isinstance(plain, dict):
            return plain
        fields = cast("PlainDict", plain)
        if _NAME in fields:
            return _import(fields[_NAME])
        if _LOST in fields:
            raise DefinitionError(
                f"{fields[_LOST]} cannot be imported by name, so it was not stored. Define it in a module, or resume the run "
                "with your program's own definition: `crew.kickoff(from_checkpoint=config)`"
            )
        if _SECRET in fields:
            return _secret(fields)
        if _PAIRS in fields:
            return {self.value(key): self.value(item) for key, item in fields[_PAIRS]}
        if _REF in fields:
            return self._thing(fields[_REF])
        return {key: self.value(item) for key, item in fields.items()}

    def _thing(self, index: int) -> Any:
        if index not in self._objects:
            thing = self._things[index]
            kind = _import(thing["class"])
            fields = {
                name: self.value(item)
                for name, item in thing["fields"].items()
                if not _is_left_to_the_class(name, item)
            }
            try:
                self._objects[index] = _instance_of(kind, fields)
            except ValidationError as error:
                missing = [item[_SECRET] for name, item in thing["fields"].items() if _is_left_to_the_class(name, item)]
                if not missing:
                    raise
                raise _missing_secret(" and ".join(missing)) from error
        return self._objects[index]


def _is_left_to_the_class(name: str, plain: Any) -> bool:
    """Return whether a secret field was not stored; most classes then read a variable of their own."""
    return isinstance(plain, dict) and _SECRET in plain and "parts" not in plain and is_secret_name(name)


def _secret(plain: PlainMapping) -> str:
    parts: list[Any] = plain.get("parts") or []
    values = [part if isinstance(part, str) else os.environ.get(part[_VARIABLE]) for part in parts]
    if not parts:
        raise _missing_secret(plain[_SECRET])
    if None in values:
        names = [part[_VARIABLE] for part in parts if not isinstance(part, str) and part[_VARIABLE] not in os.environ]
        raise DefinitionError(
            f"{plain[_SECRET]} is a secret, which was not stored: it was the value of the environment variable "
            f"{', '.join(f'`{name}`' for name in names)}, which is not set. Set it and restore again."
        )
    return "".join(value for value in values if value is not None)


def _missing_secret(where: str) -> DefinitionError:
    return DefinitionError(
        f"{where} is a secret, which was not stored. Resume the run with your program's own definition, which has it: "
        "`crew.kickoff(from_checkpoint=config)`. Next time take it from an environment variable, whose name is stored"
    )


def _instance_of(kind: type[Any], fields: dict[str, Any]) -> Any:
    if issubclass(kind, BaseLLM):
        return _llm(kind, fields)
    if not issubclass(kind, Flow):
        return kind(**fields)
    flow = cast("Any", kind)()
    if "name" in fields:
        flow.name = fields["name"]
    return flow


def _llm(kind: type[BaseLLM], fields: dict[str, Any]) -> BaseLLM:
    llm = (
        kind(fields["model"]) if kind.__module__.startswith("crewgraph.") and "model" in fields else kind.__new__(kind)
    )
    for name, value in fields.items():
        setattr(llm, name, value)
    return llm


def _class_path(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _importable_name(value: Any) -> str | None:
    """Return the name by which an object can be imported; None if there is none."""
    for item in (value, getattr(value, "func", None)):  # a `@tool` tool has the name of its function
        if isinstance(getattr(item, "__qualname__", None), str) and isinstance(getattr(item, "__module__", None), str):
            name = _class_path(item)
            if _loaded(name) is value:
                return name
    return None


def _loaded(name: str) -> Any:
    module, _, path = name.partition(":")
    value = sys.modules.get(module)
    for part in path.split("."):
        value = getattr(value, part, None)
    return value


def _import(name: str) -> Any:
    """Import the object with a name.

    Raises:
        DefinitionError: If it cannot be imported.
    """
    module = name.partition(":")[0]
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise DefinitionError(f"`{name}` of a checkpoint cannot be imported here: {error}") from error
    value = _loaded(name)
    if value is None:
        raise DefinitionError(
            f"a checkpoint refers to `{name}`, which does not exist. Resume the run with the program that wrote it, or with a "
            "definition of your own: `crew.kickoff(from_checkpoint=config)`"
        )
    return value
