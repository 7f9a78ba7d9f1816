"""The base of all events, and their form as JSON data: agents, tasks, crews and tools are given by id, role and name."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Set
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from threading import RLock
from typing import Annotated, Any, ClassVar, cast
from uuid import uuid4

from pydantic import (
    VERSION,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    field_serializer,
    model_serializer,
)
from pydantic_core.core_schema import FieldSerializationInfo

from crewgraph.redaction import RedactedRepr, redact
from crewgraph.schema import Metadata, PlainDict

_NAMES = ("id", "role", "name")


def new_id() -> str:
    """Return a new id for an event or a request."""
    return str(uuid4())


def attribute(owner: object, name: str) -> str | None:
    """Return an attribute as text; None if it is missing or None."""
    value = getattr(owner, name, None)
    return None if value is None else str(value)


def short_reference(value: object) -> Any:
    """Return an agent, task, crew or tool as a dict of those of id, role and name that it has.

    Whole definitions hold models, keys and other definitions, which do not belong in a record of events.
    """
    if value is None or isinstance(value, (str, Mapping)):
        return brief(cast("object", value))
    if isinstance(value, (list, tuple)):
        return [short_reference(item) for item in cast("Iterable[object]", value)]
    return {name: text for name in _NAMES if (text := attribute(value, name)) is not None} or brief(value)


def brief(value: object) -> Any:
    """Return a value as JSON data: pydantic models and dataclasses by field, functions and other objects by name."""
    return _brief(value, ())


def _brief(value: object, ancestors: tuple[int, ...]) -> object:
    if value is None or type(value) in (str, bool, int):
        return value
    if id(value) in ancestors:
        return "..."
    path = (*ancestors, id(value))
    if isinstance(value, Mapping):
        return {str(k): _brief(v, path) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_brief(item, path) for item in cast("Iterable[object]", value)]
    if isinstance(value, Set):
        return sorted((_brief(item, path) for item in cast("Iterable[object]", value)), key=str)
    if isinstance(value, BaseModel):
        names = (name for name, field in type(value).model_fields.items() if not field.exclude)
        extra = value.model_extra or {}
        return {name: _brief(getattr(value, name), path) for name in (*names, *extra)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _brief(getattr(value, field.name), path) for field in dataclasses.fields(value)}
    return _brief_scalar(value)


def _brief_scalar(value: object) -> object:
    """Return a value without parts as JSON data."""
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


class BaseEvent(RedactedRepr):
    """An event of a run.

    An event holds the objects it is about (`agent`, `task`, `crew` ...) as they are, neither copied nor
    checked; who they are is filled into `task_id`, `task_name`, `agent_id` and `agent_role` unless these are
    given. Dumped (`model_dump`, `model_dump_json`, `to_json`) it is JSON data, such an object then a dict of
    its id, role and name.

    Unknown fields (of a later version of the vocabulary) are kept, readable by name and dumped.

    Each class is built when its first event is created: building nearly two hundred would take a fifth of a program's start.
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
    """The name of that task, or its description if it has no name."""

    agent_id: str | None = None
    """The agent it belongs to."""

    agent_role: str | None = None
    """The role of that agent."""

    event_id: str = Field(default_factory=new_id)
    """The id of the event."""

    parent_event_id: str | None = None
    """The event that opened its scope: for a request of an agent, the start of its task. Set when emitted, like those below."""

    previous_event_id: str | None = None
    """The event that the run emitted before."""

    triggered_by_event_id: str | None = None
    """Inside a flow method, the event of the end of the method that triggered it."""

    started_event_id: str | None = None
    """For an end event, the matching start event."""

    emission_sequence: int | None = None
    """The number of the event in its run, from 1."""

    _origin: ClassVar[str | None] = None
    """The field that `source_fingerprint` and `source_type` refer to."""

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
        fields, known = self.__dict__, dict[str, Any]()
        task, agent = fields.get("from_task"), fields.get("from_agent")
        if task is None:
            task = fields.get("task")
        if agent is None:
            agent = fields.get("agent")
        if task is not None:
            known["task_id"] = getattr(task, "id", None)
            known["task_name"] = getattr(task, "name", None) or getattr(task, "description", None)
            if agent is None:
                agent = getattr(task, "agent", None)
        if agent is not None:
            known["agent_id"], known["agent_role"] = getattr(agent, "id", None), getattr(agent, "role", None)
        self._fill(**known)
        if self._origin is not None and (origin := fields.get(self._origin)) is not None:
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
        fields = vars(self)
        for name, value in known.items():
            if value is not None and fields[name] is None:
                fields[name] = str(value)  # setattr costs more than all the rest of an event
                self.__pydantic_fields_set__.add(name)

    @field_serializer("*")
    def _dumped(self, value: object, info: FieldSerializationInfo) -> object:
        short = short_reference(value) if info.field_name in _REFERENCES else brief(value)
        return redact(short, info.field_name)

    @model_serializer(mode="wrap")
    def _dumped_with_extra(self, dump: SerializerFunctionWrapHandler) -> PlainDict:
        dumped: PlainDict = dump(self)
        for name in self.model_extra or ():
            if name in dumped:
                dumped[name] = redact(dumped[name], name)
        return dumped

    def to_json(self, exclude: set[str] | None = None) -> PlainDict:
        """Return the event as JSON data, without the fields named in `exclude`."""
        return self.model_dump(mode="json", exclude=exclude)


class WorkEvent(BaseEvent):
    """An event of an agent's work on a task."""

    from_task: Any = None
    """The task."""

    from_agent: Any = None
    """The agent."""
