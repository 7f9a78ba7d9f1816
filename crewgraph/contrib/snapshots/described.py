"""Definitions as plain data, from which another process makes them again."""

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

__all__ = ["describe_definition", "made_again"]

_NAME, _REF, _LOST, _PAIRS = "$name", "$ref", "$lost", "$pairs"
_HELD: Any = (BaseModel, BaseLLM, Flow)
_SECRET = re.compile(r"(^|_)(api_?key|key|secret|password|token|credentials?)$", re.IGNORECASE)
_NEVER = frozenset(
    {
        *("id", "config", "security_config", "execution_context", "entity_type"),
        # what runs leave behind
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


def describe_definition(thing: Any) -> dict[str, Any]:
    """A definition, with all that hangs on it, as plain data.

    What has a name in a module (classes, functions, tools under `@tool`) is named. What has none (a lambda, an open connection)
    is left out, with a note; so are secrets (`api_key` and the like), which are read from the environment again.
    """
    writer = _Writer()
    top = writer.plain(thing, type(thing).__name__)
    return {"top": top, "things": writer.things}


def made_again(plain: Mapping[str, Any]) -> Any:
    """The definition that `described` described.

    The modules that it names are imported.

    Raises:
        DefinitionError: something in it has no name, or is not where it was.
    """
    return _Reader(plain["things"]).value(plain["top"])


class _Writer:
    def __init__(self) -> None:
        self.things: list[dict[str, Any]] = []
        self._places: dict[int, int] = {}
        self._held: list[Any] = []  # so that no id is used twice

    def plain(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum):
            return value
        if isinstance(value, Enum):
            return {_NAME: f"{_of(type(value))}.{value.name}"}
        if isinstance(value, (Path, UUID, date)):
            return str(value)
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", value), where)
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.plain(one, f"{where}[{n}]") for n, one in enumerate(cast("list[Any]", value))]
        return self._named_or_held(value, where)

    def _named_or_held(self, value: Any, where: str) -> Any:
        if (name := _name(value)) is not None:
            return {_NAME: name}
        kind: Any = value.__class__
        if issubclass(kind, _HELD) and _found(_of(kind)) is kind:
            return {_REF: self._thing(value, where)}
        return {_LOST: f"`{where}` ({kind.__name__})"}

    def _mapping(self, value: Mapping[Any, Any], where: str) -> dict[str, Any]:
        written = [(key, self.plain(one, f"{where}[{key!r}]")) for key, one in value.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key, _ in written):
            return dict(written)
        return {_PAIRS: [[self.plain(key, where), one] for key, one in written]}

    def _thing(self, value: "BaseModel | BaseLLM | Flow[Any]", where: str) -> int:
        if id(value) in self._places:
            return self._places[id(value)]
        place = self._places[id(value)] = len(self.things)
        self._held.append(value)
        thing = {"class": _of(type(value)), "fields": dict[str, Any]()}
        self.things.append(thing)
        thing["fields"] = {
            name: self.plain(one, f"{where}.{name}")
            for name, one in _given(value).items()
            if not (_SECRET.search(name) and isinstance(one, str))
        }
        return place


def _given(value: "BaseModel | BaseLLM | Flow[Any]") -> dict[str, Any]:
    if isinstance(value, Flow):  # its class is its definition, its state is the run's
        return {"name": value.name} if isinstance(value.name, str) else {}
    return _fields(value) if isinstance(value, BaseModel) else _attributes(value)


def _fields(value: BaseModel) -> dict[str, Any]:
    """What a model was given."""
    of_runs: frozenset[str] = _NEVER if isinstance(value, Definition) else frozenset()
    found: dict[str, Any] = {**(value.model_extra or {})}
    for name, field in type(value).model_fields.items():
        one = getattr(value, name)
        if name in of_runs or field.exclude or (name not in value.model_fields_set and _is_default(one, field)):
            continue
        if isinstance(one, type) and _name(one) is None and not field.is_required():
            continue  # made for it, of a signature, and made again
        found[field.alias or name] = (
            value.template(name) if isinstance(value, TemplatedDefinition) and isinstance(one, str) else one
        )
    return found


def _is_default(value: Any, field: Any) -> bool:
    if field.is_required():
        return False
    default = field.get_default(call_default_factory=True, validated_data={})
    return value is default or (isinstance(value, (list, dict, str, int, float, bool)) and value == default)


def _attributes(value: BaseLLM) -> dict[str, Any]:
    """What a model of a language holds that is data."""
    return {name: one for name, one in vars(value).items() if not name.startswith("_")}


class _Reader:
    def __init__(self, things: Sequence[Mapping[str, Any]]) -> None:
        self._things, self._made = things, dict[int, Any]()

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self.value(one) for one in cast("list[Any]", plain)]
        if not isinstance(plain, dict):
            return plain
        held = cast("dict[str, Any]", plain)
        if _NAME in held:
            return _named(held[_NAME])
        if _LOST in held:
            raise DefinitionError(
                f"{held[_LOST]} has no name in a module, so it could not be written down. Give it one, or take the run up with "
                "your program's own definition: `crew.kickoff(from_checkpoint=config)`"
            )
        if _PAIRS in held:
            return {self.value(key): self.value(one) for key, one in held[_PAIRS]}
        if _REF in held:
            return self._thing(held[_REF])
        return {key: self.value(one) for key, one in held.items()}

    def _thing(self, place: int) -> Any:
        if place not in self._made:
            thing = self._things[place]
            kind = _named(thing["class"])
            fields = {name: self.value(one) for name, one in thing["fields"].items()}
            self._made[place] = _made(kind, fields)
        return self._made[place]


def _made(kind: type[Any], fields: dict[str, Any]) -> Any:
    if issubclass(kind, BaseLLM):
        return _llm(kind, fields)
    if not issubclass(kind, Flow):
        return kind(**fields)
    made = cast("Any", kind)()
    if "name" in fields:
        made.name = fields["name"]
    return made


def _llm(kind: type[BaseLLM], fields: dict[str, Any]) -> BaseLLM:
    made = (
        kind(fields["model"]) if kind.__module__.startswith("crewgraph.") and "model" in fields else kind.__new__(kind)
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _of(thing: Any) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def _name(value: Any) -> str | None:
    """Where something stands in a module; None where it does not."""
    for one in (value, getattr(value, "func", None)):  # what `@tool` made stands where its function stood
        if isinstance(getattr(one, "__qualname__", None), str) and isinstance(getattr(one, "__module__", None), str):
            name = _of(one)
            if _found(name) is value:
                return name
    return None


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _named(name: str) -> Any:
    """What stands under a name.

    Raises:
        DefinitionError: nothing does.
    """
    name = current_name(name)
    module = name.partition(":")[0]
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise DefinitionError(f"`{name}` of a checkpoint cannot be imported here: {error}") from error
    found = _found(name)
    if found is None:
        raise DefinitionError(
            f"a checkpoint names `{name}`, which is not there. Take the run up with the program that it was made by, or with a "
            "definition of your own: `crew.kickoff(from_checkpoint=config)`"
        )
    return found
