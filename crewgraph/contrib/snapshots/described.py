"""Serializes definitions to plain data, from which another process can recreate them."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from enum import Enum
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel, SecretStr, ValidationError

from crewgraph.definitions.base import Definition, run_fields
from crewgraph.definitions.placeholders import TemplatedDefinition
from crewgraph.errors import DefinitionError
from crewgraph.flow.flow import Flow
from crewgraph.llm.base import BaseLLM
from crewgraph.redaction import is_secret_name, redact
from crewgraph.schema import PlainDict, PlainMapping, is_mapping

_NAME, _REF, _LOST, _SECRET = "$name", "$ref", "$lost", "$secret"
_DESCRIBED: Any = (BaseModel, BaseLLM, Flow)
_LEFT_OUT = frozenset(
    {"id", "config", "security_config", "execution_context", "entity_type", "made_manager", "is_manager_outdated"}
)


def describe_definition(definition: Any) -> PlainDict:
    """Describe a definition and everything it refers to as plain data.

    Objects that can be imported by name (classes, functions, `@tool` tools) are stored as that name. Others (a lambda, an open
    connection) are replaced by a note, as are secrets (an `api_key`, a header, a password in a URL ...).
    """
    writer = _Writer()
    top = writer.plain(definition, type(definition).__name__, definition)
    return {"top": top, "things": writer.things}


def recreate_definition(plain: PlainMapping) -> Any:
    """Recreate the definition that `describe_definition` described.

    Imports the modules that it names. An `api_key` or the like is left to its class, which looks for it in the environment.

    Raises:
        DefinitionError: If part of it could not be described, is a secret that its class does not find, or can no longer be
            imported.
    """
    return _Reader(plain["things"]).value(plain["top"])


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
            raise _missing_secret(fields[_SECRET])
        if _REF not in fields:
            return {key: self.value(item) for key, item in fields.items()}
        index: int = fields[_REF]
        if index not in self._objects:
            self._objects[index] = self._made(**self._things[index])
        return self._objects[index]

    def _made(self, kind: str, fields: PlainMapping) -> Any:
        made_of = _import(kind)
        secrets = {
            name: str(item[_SECRET])
            for name, item in fields.items()
            if is_mapping(item) and _SECRET in item and is_secret_name(name)
        }
        arguments = {name: self.value(item) for name, item in fields.items() if name not in secrets}
        try:
            return made_of(**arguments) if issubclass(made_of, BaseModel) else _with_attributes(made_of, arguments)
        except ValidationError as error:
            if not secrets:
                raise
            raise _missing_secret(" and ".join(secrets.values())) from error


class _Writer:
    def __init__(self) -> None:
        self.things: list[PlainDict] = []
        self._known: dict[int, tuple[int, Any]] = {}  # holds the objects, so that ids stay unique

    def plain(self, value: Any, where: str, shown: Any) -> Any:
        """Describe a value; `shown` is the same without secrets."""
        if isinstance(value, Enum):
            return {_NAME: f"{_class_path(type(value))}.{value.name}"}
        if isinstance(value, SecretStr) or (isinstance(value, str) and shown != value):
            return {_SECRET: f"`{where}`"}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (Path, UUID, date)):
            return str(value)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = list(cast("list[Any]", value))
            shown_items = cast("list[Any]", shown if isinstance(shown, (list, tuple)) else redact(items))
            return [self.plain(item, f"{where}[{n}]", shown_items[n]) for n, item in enumerate(items)]
        if is_mapping(value):
            if not any(str(key).startswith("$") for key in value):
                return {key: self.plain(item, f"{where}[{key!r}]", shown[key]) for key, item in value.items()}
        elif (name := _importable_name(value)) is not None:
            return {_NAME: name}
        elif isinstance(value, _DESCRIBED) and _importable_name(value.__class__) is not None:
            return {_REF: self._thing(value, where)}
        return {_LOST: f"`{where}` ({value.__class__.__name__})"}

    def _thing(self, value: Any, where: str) -> int:
        if id(value) not in self._known:
            thing: PlainDict = {"kind": _class_path(type(value))}
            self._known[id(value)] = len(self.things), value
            self.things.append(thing)
            thing["fields"] = {
                name: self.plain(item, f"{where}.{name}", redact(item, name))
                for name, item in _constructor_arguments(value).items()
            }
        return self._known[id(value)][0]


def _constructor_arguments(value: Any) -> PlainDict:
    if issubclass(type(value), Flow):  # the class is the definition, and the state belongs to the run
        return {"name": value.name} if isinstance(value.name, str) else {}
    if not isinstance(value, BaseModel):
        attributes = cast("PlainDict", vars(value))
        return {name: item for name, item in attributes.items() if not name.startswith("_")}
    left_out = _LEFT_OUT | run_fields(type(value)) if isinstance(value, Definition) else _LEFT_OUT
    fields = {**(value.model_extra or {})}
    for name, field in type(value).model_fields.items():
        item = getattr(value, name)
        if name in left_out or field.exclude or (name not in value.model_fields_set and _is_default(item, field)):
            continue
        if isinstance(item, type) and _importable_name(item) is None and not field.is_required():
            continue  # generated from a signature, and generated again on restore
        fields[field.alias or name] = (
            value.template(name) if isinstance(value, TemplatedDefinition) and isinstance(item, str) else item
        )
    return fields


def _is_default(value: Any, field: Any) -> bool:
    default = field.get_default(call_default_factory=True, validated_data={})
    return value is default or (isinstance(value, (list, dict, str, int, float)) and value == default)


def _missing_secret(where: str) -> DefinitionError:
    return DefinitionError(
        f"{where} is a secret, which was not stored. Resume the run with your program's own definition, which has it: "
        "`crew.kickoff(from_checkpoint=config)`"
    )


def _with_attributes(kind: Any, fields: PlainMapping) -> Any:
    """Return a flow, or a language model, whose constructor may take anything."""
    if issubclass(kind, Flow):
        made = cast("Any", kind)()
    elif kind.__module__.startswith("crewgraph.") and "model" in fields:
        made = kind(fields["model"])
    else:
        made = kind.__new__(kind)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _class_path(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _importable_name(value: Any) -> str | None:
    """Return the name by which an object can be imported; None if there is none."""
    for item in (value, getattr(value, "func", None)):  # a `@tool` tool has the name of its function
        name = f"{getattr(item, '__module__', None)}:{getattr(item, '__qualname__', None)}"
        with suppress(ImportError, AttributeError, ValueError):
            if resolve_name(name) is value:
                return name
    return None


def _import(name: str) -> Any:
    try:
        return resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise DefinitionError(
            f"`{name}`, which a checkpoint refers to, cannot be imported here: {error}. Resume the run with the program that "
            "wrote it, or with a definition of your own: `crew.kickoff(from_checkpoint=config)`"
        ) from error
