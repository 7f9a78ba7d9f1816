"""Serializes definitions to plain data, from which another process can recreate them."""

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel

from crewgraph.definitions.base import Definition
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.placeholders import TemplatedDefinition
from crewgraph.errors import DefinitionError
from crewgraph.former_names import current_name
from crewgraph.llm.base import BaseLLM
from crewgraph.schema import PlainDict, PlainMapping

__all__ = ["describe_definition", "recreate_definition"]

_NAME, _REF, _LOST, _PAIRS = "$name", "$ref", "$lost", "$pairs"
_DESCRIBED: Any = (BaseModel, BaseLLM, Flow)
_SECRET = re.compile(r"(^|_)(api_?key|key|secret|password|token|credentials?)$", re.IGNORECASE)
_RUN_FIELDS = frozenset(
    {
        *("id", "config", "security_config", "execution_context", "entity_type"),
        # results of runs
        *("crew", "tools_results", "agent_knowledge_context", "crew_knowledge_context", "knowledge_search_query"),
        *("usage_metrics", "token_usage", "execution_logs", "inputs", "parent_flow", "planning_tasks", "training"),
        *(
            "output",
            "prompt_context",
            "processed_by_agents",
            "used_tools",
            "tools_errors",
            "delegations",
            "retry_count",
        ),
        *("start_time", "end_time", "made_manager", "is_manager_outdated"),
    }
)


def describe_definition(definition: Any) -> PlainDict:
    """Describe a definition and everything it refers to as plain data.

    Objects that can be imported by name (classes, functions, `@tool` tools) are stored as that name. Others (a lambda, an open
    connection) are replaced by a note. Secrets (`api_key` and the like) are omitted and read from the environment on restore.
    """
    writer = _Writer()
    top = writer.plain(definition, type(definition).__name__)
    return {"top": top, "things": writer.things}


def recreate_definition(plain: PlainMapping) -> Any:
    """Recreate the definition that `describe_definition` described.

    Imports the modules that it names.

    Raises:
        DefinitionError: If part of it could not be described, or a name can no longer be imported.
    """
    return _Reader(plain["things"]).value(plain["top"])


class _Writer:
    def __init__(self) -> None:
        self.things: list[PlainDict] = []
        self._indices: dict[int, int] = {}
        self._references: list[Any] = []  # keeps objects alive, so that ids stay unique

    def plain(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum):
            return value
        if isinstance(value, Enum):
            return {_NAME: f"{_qualified_name(type(value))}.{value.name}"}
        if isinstance(value, (Path, UUID, date)):
            return str(value)
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", value), where)
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.plain(item, f"{where}[{n}]") for n, item in enumerate(cast("list[Any]", value))]
        return self._name_or_reference(value, where)

    def _name_or_reference(self, value: Any, where: str) -> Any:
        if (name := _name(value)) is not None:
            return {_NAME: name}
        kind = value.__class__
        if issubclass(kind, _DESCRIBED) and _loaded(_qualified_name(kind)) is kind:
            return {_REF: self._thing(value, where)}
        return {_LOST: f"`{where}` ({kind.__name__})"}

    def _mapping(self, value: Mapping[Any, Any], where: str) -> PlainDict:
        items = [(key, self.plain(item, f"{where}[{key!r}]")) for key, item in value.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key, _ in items):
            return dict(items)
        return {_PAIRS: [[self.plain(key, where), item] for key, item in items]}

    def _thing(self, value: "BaseModel | BaseLLM | Flow", where: str) -> int:
        if id(value) in self._indices:
            return self._indices[id(value)]
        index = self._indices[id(value)] = len(self.things)
        self._references.append(value)
        thing = {"class": _qualified_name(type(value)), "fields": dict[str, Any]()}
        self.things.append(thing)
        thing["fields"] = {
            name: self.plain(item, f"{where}.{name}")
            for name, item in _arguments(value).items()
            if not (_SECRET.search(name) and isinstance(item, str))
        }
        return index


def _arguments(value: "BaseModel | BaseLLM | Flow") -> PlainDict:
    if isinstance(value, Flow):  # the class is the definition, and the state belongs to the run
        return {"name": value.name} if isinstance(value.name, str) else {}
    return _fields(value) if isinstance(value, BaseModel) else _attributes(value)


def _fields(value: BaseModel) -> dict[str, Any]:
    """Return the fields that were set on a model."""
    of_runs: frozenset[str] = _RUN_FIELDS if isinstance(value, Definition) else frozenset()
    fields = {**(value.model_extra or {})}
    for name, field in type(value).model_fields.items():
        item = getattr(value, name)
        if name in of_runs or field.exclude or (name not in value.model_fields_set and _is_default(item, field)):
            continue
        if isinstance(item, type) and _name(item) is None and not field.is_required():
            continue  # generated from a signature, and generated again on restore
        fields[field.alias or name] = (
            value.template(name) if isinstance(value, TemplatedDefinition) and isinstance(item, str) else item
        )
    return fields


def _is_default(value: Any, field: Any) -> bool:
    if field.is_required():
        return False
    default = field.get_default(call_default_factory=True, validated_data={})
    return value is default or (isinstance(value, (list, dict, str, int, float, bool)) and value == default)


def _attributes(value: BaseLLM) -> dict[str, Any]:
    """Return the public attributes of a language model."""
    return {name: item for name, item in vars(value).items() if not name.startswith("_")}


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
        if _PAIRS in fields:
            return {self.value(key): self.value(item) for key, item in fields[_PAIRS]}
        if _REF in fields:
            return self._thing(fields[_REF])
        return {key: self.value(item) for key, item in fields.items()}

    def _thing(self, index: int) -> Any:
        if index not in self._objects:
            thing = self._things[index]
            kind = _import(thing["class"])
            fields = {name: self.value(item) for name, item in thing["fields"].items()}
            self._objects[index] = _construct(kind, fields)
        return self._objects[index]


def _construct(kind: type[Any], fields: dict[str, Any]) -> Any:
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


def _qualified_name(value: Any) -> str:
    return f"{value.__module__}:{value.__qualname__}"


def _name(value: Any) -> str | None:
    """Return the name by which an object can be imported; None if there is none."""
    for item in (value, getattr(value, "func", None)):  # a `@tool` tool has the name of its function
        if isinstance(getattr(item, "__qualname__", None), str) and isinstance(getattr(item, "__module__", None), str):
            name = _qualified_name(item)
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
    name = current_name(name)
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
