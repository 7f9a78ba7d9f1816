"""The base of all events, and their form as JSON data: agents, tasks, crews and tools are given by id, role and name."""

import dataclasses
import math
import os
import random
from collections.abc import Iterable, Mapping, Set
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from threading import RLock
from typing import Annotated, Any, ClassVar, cast

from pydantic import VERSION, BaseModel, ConfigDict, Field, PlainSerializer, field_serializer
from pydantic_core.core_schema import FieldSerializationInfo

from crewgraph.schema import Metadata

__all__ = ["BaseEvent", "attribute", "brief", "new_id", "short_reference", "task_id_of"]


_NAMES = ("id", "role", "name")

_ids = random.Random()
os.register_at_fork(after_in_child=_ids.seed)


def new_id() -> str:
    """Return a new id for an event or a request: a random UUID (version 4) as text. Not for anything that must be secret."""
    digits = f"{_ids.getrandbits(128):032x}"
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) & 3]}{digits[17:20]}-{digits[20:]}"
    )


def attribute(of: object, name: str) -> str | None:
    """An attribute as text; None where the object has no such attribute or nothing in it."""
    value = getattr(of, name, None)
    return None if value is None else str(value)


def short_reference(value: object) -> Any:
    """An agent, a task, a crew or a tool as a dict of its id, role and name, what it has of these.

    A definition holds models, keys and other definitions: nothing for a record of what happened.
    """
    if value is None or isinstance(value, (str, Mapping)):
        return brief(cast("object", value))
    if isinstance(value, (list, tuple)):
        return [short_reference(item) for item in cast("Iterable[object]", value)]
    return {name: told for name in _NAMES if (told := attribute(value, name)) is not None} or brief(value)


def brief(value: object) -> Any:
    """A value as JSON data: pydantic models and dataclasses by field, functions and other objects by name."""
    return _brief(value, ())


def _brief(value: object, above: tuple[int, ...]) -> object:
    if value is None or type(value) in (str, bool, int):
        return value
    if id(value) in above:
        return "..."
    inside = (*above, id(value))
    if isinstance(value, Mapping):
        return {str(k): _brief(v, inside) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_brief(item, inside) for item in cast("Iterable[object]", value)]
    if isinstance(value, Set):
        return sorted((_brief(item, inside) for item in cast("Iterable[object]", value)), key=str)
    if isinstance(value, BaseModel):
        shown = (name for name, field in type(value).model_fields.items() if not field.exclude)
        extra = value.model_extra or {}
        return {name: _brief(getattr(value, name), inside) for name in (*shown, *extra)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _brief(getattr(value, field.name), inside) for field in dataclasses.fields(value)}
    return _word(value)


def _word(value: object) -> object:
    """One value without parts."""
    if isinstance(value, Enum):
        return brief(value.value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (bytes, bytearray)):
        return f"<{len(value)} bytes>"
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}"
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    kind = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return f"<{kind.__qualname__}>"  # the default text holds a memory address
    return str(value)


# Before 2.14, pydantic lets several threads build a class at once, and some of them see it half built.
_building: AbstractContextManager[object] = (
    nullcontext() if tuple(map(int, VERSION.split(".")[:2])) >= (2, 14) else RLock()
)

_REFERENCES = frozenset({"agent", "crew", "from_agent", "from_task", "task", "tools"})


def _now() -> datetime:
    return datetime.now(UTC)


def task_id_of(fields: Mapping[str, Any]) -> str | None:
    """The id of the task that an event with these fields belongs to."""
    given: str | None = fields.get("task_id")
    return attribute(_task_in(fields), "id") if given is None else given


def _task_in(fields: Mapping[str, object]) -> object:
    task = fields.get("from_task")
    return fields.get("task") if task is None else task


class BaseEvent(BaseModel):
    """Something that happened in a run.

    An event holds the objects it is about (`agent`, `task`, `crew` ...) as they are, neither copied nor
    checked; who they are is filled into `task_id`, `task_name`, `agent_id` and `agent_role` unless these are
    given. Dumped (`model_dump`, `model_dump_json`, `to_json`) it is JSON data, such an object then a dict of
    its id, role and name.

    A field that a later version of the vocabulary has is kept, readable by its name and dumped.

    Each class is built when the first of its events is made: nearly two hundred would be a fifth of a program's start.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)
    __pydantic_extra__: dict[str, Annotated[Any, PlainSerializer(brief)]] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride]

    timestamp: datetime = Field(default_factory=_now)
    """The time of the event, in UTC."""

    type: str
    """The kind of event, a word in snake case."""

    source_fingerprint: str | None = None
    """The fingerprint of the agent, task or crew that it is about."""

    source_type: str | None = None
    """The kind of owner of the fingerprint: agent, task or crew."""

    fingerprint_metadata: Metadata | None = None
    """The metadata of the fingerprint."""

    task_id: str | None = None
    """The task it belongs to."""

    task_name: str | None = None
    """The name of that task, its description where it has no name."""

    agent_id: str | None = None
    """The agent it belongs to."""

    agent_role: str | None = None
    """The role of that agent."""

    event_id: str = Field(default_factory=new_id)
    """The event's own name."""

    parent_event_id: str | None = None
    """The event in whose scope it happened: that of the task's start, for a request of its agent. Filled when it is emitted, as
    are those below."""

    previous_event_id: str | None = None
    """The event that the run emitted before."""

    triggered_by_event_id: str | None = None
    """In a method of a flow, the end of the method that it listens to."""

    started_event_id: str | None = None
    """Of what ended, the event that it began with."""

    emission_sequence: int | None = None
    """The how manieth event of the run it is, from 1."""

    _origin: ClassVar[str | None] = None
    """The field that `source_fingerprint` and `source_type` speak of."""

    @classmethod
    def model_rebuild(
        cls,
        *,
        force: bool = False,
        raise_errors: bool = True,
        _parent_namespace_depth: int = 2,
        _types_namespace: Mapping[str, object] | None = None,
    ) -> bool | None:
        """Build the class, if it is not built yet; see `pydantic.BaseModel.model_rebuild`."""
        with _building:
            return super().model_rebuild(
                force=force,
                raise_errors=raise_errors,
                _parent_namespace_depth=_parent_namespace_depth + 1 if _parent_namespace_depth > 0 else 0,
                _types_namespace=_types_namespace,
            )

    def model_post_init(self, context: object, /) -> None:
        held, known = self.__dict__, dict[str, Any]()
        task, agent = _task_in(held), held.get("from_agent")
        if agent is None:
            agent = held.get("agent")
        if task is not None:
            known["task_id"] = getattr(task, "id", None)
            known["task_name"] = getattr(task, "name", None) or getattr(task, "description", None)
            if agent is None:
                agent = getattr(task, "agent", None)
        if agent is not None:
            known["agent_id"], known["agent_role"] = getattr(agent, "id", None), getattr(agent, "role", None)
        self._fill(**known)
        if self._origin is not None and (origin := held.get(self._origin)) is not None:
            self._sign(self._origin, getattr(origin, "fingerprint", None))

    def _sign(self, kind: str, fingerprint: object) -> None:
        if fingerprint is None:
            return
        number, metadata = getattr(fingerprint, "uuid_str", None), getattr(fingerprint, "metadata", None)
        self._fill(source_type=kind, source_fingerprint=number)
        if metadata and self.fingerprint_metadata is None:
            vars(self)["fingerprint_metadata"] = metadata
            self.__pydantic_fields_set__.add("fingerprint_metadata")

    def _fill(self, **known: object) -> None:
        """Set the fields that have no value yet to these values, as texts; None for those that are not known."""
        held = vars(self)
        for name, value in known.items():
            if value is not None and held[name] is None:
                held[name] = str(value)  # setattr costs more than all the rest of an event
                self.__pydantic_fields_set__.add(name)

    @field_serializer("*")
    def _dumped(self, value: Any, info: FieldSerializationInfo) -> object:
        return short_reference(value) if info.field_name in _REFERENCES else brief(value)

    def to_json(self, exclude: set[str] | None = None) -> dict[str, Any]:
        """The event as JSON data, without the fields named in `exclude`."""
        return self.model_dump(mode="json", exclude=exclude)
