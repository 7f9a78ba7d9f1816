"""What checkpoints hold of a flow: its values, the results of its run, and the names of executions and threads.

Values are plain data, and others under a tag with their class.

Classes are looked up by name in a closed table of the flow, of those that its modules, methods and state name; nothing is
imported by a stored name.

Runs inside methods have threads named `<the flow's thread>/<its run>/<the method's execution>/<number>`.
"""

import base64
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from inspect import unwrap
from operator import attrgetter
from pathlib import PurePath
from types import ModuleType
from typing import Any, NamedTuple, cast
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError

from crewgraph.annotations import annotations_of
from crewgraph.compiler.flow.algebra import GraphState, Progress
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.definitions.flow.feedback import HumanFeedbackResult
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import StorageError
from crewgraph.schema import PlainMapping, fault_text, is_list, is_mapping, is_object

TAG = "$type"
"""The key under which plain data name their class."""

VALUE = "$value"
"""The key of the data that belong to it."""

_SCALARS = (str, int, float, bool, type(None))
_MAX_DEPTH = 200
_MIN_INT, _MAX_INT = -(1 << 63), 1 << 64

_TEXTS: dict[type, Callable[[Any], str]] = {
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: lambda value: TypeAdapter(timedelta).dump_python(value, mode="json"),
    UUID: str,
    Decimal: str,
}
"""Types stored as one string, with the function that writes it; pydantic reads it."""

_LISTS: dict[str, Callable[[Any], object]] = {"tuple": tuple, "set": set, "frozenset": frozenset}

_TEXT = "text"
"""Text that UTF-8 cannot encode: text with half of a surrogate pair."""

RESERVED = frozenset({"dict", "int", "bytes", _TEXT, *_LISTS, *(kind.__name__ for kind in _TEXTS)})
"""The tags of built-in types."""


class _Context(NamedTuple):
    """The context of a value that is being recorded."""

    where: str
    tag: Callable[[type[object]], str]


def to_record(value: Any, where: str, tag: Callable[[type[object]], str] | None = None) -> Any:
    """Convert a value to plain data.

    Args:
        value: data, pydantic models, dataclasses, enums, dates, and collections of these.
        where: its location, for messages.
        tag: returns the name of a class; None uses the class's own.

    Raises:
        StorageError: it holds a value of another type.
    """
    return _recorded(value, _Context(where, tag or attrgetter("__qualname__")), 0)


def _recorded(value: Any, context: _Context, depth: int) -> object:
    kind = cast("Any", type(value))
    if kind in _SCALARS:
        if kind is str and not (value.isascii() or is_text(value)):
            return {TAG: _TEXT, VALUE: base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}
        if kind is int and not _MIN_INT <= value < _MAX_INT:
            return {TAG: "int", VALUE: hex(value)}  # Python limits the length of decimals
        return value
    if depth > _MAX_DEPTH:
        raise StorageError(f"{context.where} holds data that is nested more than {_MAX_DEPTH} deep, or contains itself")
    deeper = depth + 1
    if kind is list:
        return [_recorded(item, context, deeper) for item in value]
    if kind is dict:
        return _mapping(value, context, deeper)
    if kind in (tuple, set, frozenset):
        return {TAG: kind.__name__, VALUE: [_recorded(item, context, deeper) for item in value]}
    if kind in _TEXTS:
        return {TAG: kind.__name__, VALUE: _TEXTS[kind](value)}
    if kind is bytes:
        return {TAG: "bytes", VALUE: base64.b64encode(value).decode()}
    return _object(value, kind, context, deeper)


def _mapping(value: Mapping[Any, object], context: _Context, depth: int) -> object:
    if all(type(key) is str and not key.startswith("$") and (key.isascii() or is_text(key)) for key in value):
        return {key: _recorded(item, context, depth) for key, item in value.items()}
    pairs = [[_recorded(key, context, depth), _recorded(item, context, depth)] for key, item in value.items()]
    return {TAG: "dict", VALUE: pairs}


def _object(value: Any, kind: type[object], context: _Context, depth: int) -> object:
    if isinstance(value, Enum):
        return {TAG: context.tag(kind), VALUE: _recorded(value.value, context, depth)}
    if isinstance(value, BaseModel):
        data = {**value.__dict__, **(value.__pydantic_extra__ or {})}
        return {TAG: context.tag(kind), VALUE: {name: _recorded(item, context, depth) for name, item in data.items()}}
    if is_dataclass(value):
        data = {field.name: getattr(value, field.name) for field in fields(value)}
        return {TAG: context.tag(kind), VALUE: {name: _recorded(item, context, depth) for name, item in data.items()}}
    if isinstance(value, PurePath):
        return _recorded(str(value), context, depth)
    for base in _SCALARS[:3]:
        if isinstance(value, base):
            return _recorded(base(value), context, depth)
    if is_mapping(value):
        return _mapping(dict(value), context, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_recorded(item, context, depth) for item in cast("list[object]", value)]
    raise StorageError(
        f"{context.where} holds a `{kind.__qualname__}`, which cannot be stored. Store the data that it is built from instead "
        "(text, numbers, lists, dicts, pydantic models, dataclasses), or set it on the flow itself (`self.client = ...` in "
        "`__init__`)."
    )


def is_text(value: object) -> bool:
    """Whether a value is text that UTF-8 can encode; half of a surrogate pair cannot be."""
    if not isinstance(value, str):
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def from_record(value: Any, classes: "Classes | Mapping[str, type[object]]") -> Any:
    """Restore a recorded value.

    Args:
        value: the result of `to_record`.
        classes: the allowed classes by name; objects of others are restored as a dict of their fields.

    Raises:
        Exception: what the class of an object raises when it is made.
    """
    if is_list(value):
        return [from_record(item, classes) for item in value]
    if not is_object(value):
        return value
    if TAG not in value:
        return {key: from_record(item, classes) for key, item in value.items()}
    return _tagged(str(value[TAG]), value[VALUE], classes)


def _tagged(tag: str, value: Any, classes: "Classes | Mapping[str, type[object]]") -> object:
    if tag == "dict":
        return {from_record(key, classes): from_record(item, classes) for key, item in value}
    if tag == "int":
        return int(value, 0)
    if tag == "bytes":
        return base64.b64decode(value)
    if tag == _TEXT:
        return base64.b64decode(value).decode("utf-8", "surrogatepass")
    if tag in _LISTS:
        return _LISTS[tag](from_record(item, classes) for item in value)
    text = next((kind for kind in _TEXTS if kind.__name__ == tag), None)
    if text is Decimal:  # pydantic rejects infinite ones
        return Decimal(value)
    if text is not None:
        return TypeAdapter(text).validate_python(value)
    data, kind = from_record(value, classes), classes.get(tag)
    return data if kind is None else _restored_object(kind, data)


def _restored_object(kind: type[Any], data: Any) -> object:
    if issubclass(kind, BaseModel):
        return _model(kind, data)
    if issubclass(kind, Enum):
        return kind(data)
    try:
        return TypeAdapter(kind).validate_python(data)
    except ValidationError as error:
        _tell_of_types(kind, error)
        return kind(**data)


def _tell_of_types(kind: type[Any], error: ValidationError) -> None:
    """Warn of an object whose values do not fit its class: a method left them so, or the class has changed since."""
    reason = fault_text(error.errors(include_url=False)[0])
    told = f"a stored `{kind.__name__}` does not fit its class ({reason}); it is restored with the values that it has"
    warnings.warn(told, stacklevel=user_stacklevel())


def _model(kind: type[BaseModel], data: dict[str, object]) -> BaseModel:
    allows_extra = kind.model_config.get("extra") == "allow"
    fields = {name: value for name, value in data.items() if allows_extra or name in kind.model_fields}
    try:
        instance = kind.model_validate(fields, by_alias=False, by_name=True)
    except ValidationError as error:
        _tell_of_types(kind, error)
        instance = kind.model_construct()
        vars(instance).update(fields)
    for name, value in data.items():
        if name not in fields:  # an `id` that was set on it
            object.__setattr__(instance, name, value)
    return instance


class Classes:
    """Classes by their names in checkpoints.

    That is the class's own name, prefixed with the module's if several classes share it.

    Args:
        kinds: the classes; of two with the same name in the same module the later one counts.
    """

    def __init__(self, kinds: Iterable[type[object]]) -> None:
        self._full = {_full(kind): kind for kind in kinds}
        self._short: dict[str, list[type[object]]] = {}
        for kind in self._full.values():
            self._short.setdefault(kind.__qualname__, []).append(kind)

    def tag(self, kind: type[object]) -> str:
        """Return the name of a class in checkpoints."""
        name = kind.__qualname__
        return _full(kind) if name in RESERVED or len(self._short.get(name, ())) > 1 else name

    def get(self, tag: str) -> type[object] | None:
        """Return the class with a name in checkpoints; None if there is none.

        Raises:
            StorageError: several classes have that name.
        """
        if tag in self._full:
            return self._full[tag]
        kinds = self._short.get(tag, [])
        if len(kinds) > 1:
            names = ", ".join(f"`{kind.__module__}.{tag}`" for kind in kinds)
            raise StorageError(
                f"the checkpoint holds a `{tag}`, and the flow has several classes of that name: {names}. There was one when "
                "it was written; rename the others, or keep them out of the flow's module, until the run is done."
            )
        return kinds[0] if kinds else None


def classes_of(
    definition: FlowTopology, flow: type[object], state: type[object] | None, *more: type[object]
) -> Classes:
    """Return the classes that a flow's values may have: those named by its modules, its annotations and its state.

    Args:
        definition: the flow as data.
        flow: its class.
        state: the class of its state, if it is a model.
        more: further classes.
    """
    values: list[object] = []
    for module in {kind.__module__ for kind in flow.__mro__ if not kind.__module__.startswith("crewgraph.")}:
        holder: ModuleType | None = sys.modules.get(module)
        values += vars(holder).values() if holder else ()
    for method in definition.methods.values():
        for function in dict.fromkeys((method.func, unwrap(method.func))):
            values += (part for item in annotations_of(function).values() for part in _parts(item))
            values += getattr(function, "__globals__", {}).values()
            values += (cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_filled(cell))
    return Classes([*_data_classes(values), *_data_classes([*more, state])])


def _full(kind: type[object]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _data_classes(values: Iterable[object]) -> dict[type[object], None]:
    """Return the classes of data among values, with those that the fields of models are annotated with."""
    classes: dict[type[object], None] = {}
    pending = list(values)
    for value in pending:
        if isinstance(value, type) and value not in classes and _is_data(value):
            classes[value] = None
            if issubclass(value, BaseModel):
                pending += (part for field in value.model_fields.values() for part in _parts(field.annotation))
    return classes


def _is_data(kind: type[object]) -> bool:
    return issubclass(kind, (BaseModel, Enum)) or is_dataclass(kind)


def _parts(annotation: object) -> list[object]:
    """Return the types that an annotation is made of."""
    inner: tuple[object, ...] = getattr(annotation, "__args__", ())
    return [annotation, *(part for item in inner for part in _parts(item))]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


_FEEDBACK = HumanFeedbackResult.__qualname__


def of_run(values: GraphState, channel: str) -> Any:
    """Return the value of a channel if it belongs to this run; None if it is from an earlier run."""
    tagged: Mapping[str, object] | None = values.get(channel)
    return tagged["value"] if tagged and tagged["run"] == values["progress"]["run"] else None


def forked_values(values: GraphState, run: str) -> dict[str, object]:
    """Return what a fork takes over from its source run.

    Args:
        values: the state of the graph.
        run: its name.
    """
    progress = cast("Progress", {**values["progress"], "run": run})
    update: dict[str, object] = {"progress": progress}
    for channel in ("feedback", "outputs", "unsaved"):
        if (value := of_run(values, channel)) is not None:
            update[channel] = with_run(progress, value)
    saved: PlainMapping | None = values.get("saved")
    if saved is not None and saved["progress"]["run"] == values["progress"]["run"]:
        update["saved"] = {**saved, "progress": {**saved["progress"], "run": run}}
    return update


def with_run(progress: Progress, value: object) -> dict[str, object]:
    """Return the value of a channel with the run that it belongs to."""
    return {"run": progress["run"], "value": value}


def method_of(execution: str) -> str:
    """Return the method of an execution, given its id."""
    return execution.rpartition("#")[0]


def is_feedback(execution: str, result: object) -> bool:
    """Whether the result of an execution, in the form of checkpoints, is feedback on its output, and not passed on by it."""
    if not is_mapping(result):
        return False
    return str(result.get(TAG)).endswith(_FEEDBACK) and result[VALUE]["method_name"] == method_of(execution)


_INSIDE = re.compile(r"(?P<around>.+)/[0-9a-f]{12}/[^/]+#\d+/\d+", re.DOTALL)


def threads_of(thread_id: str, run: str, execution: str) -> str:
    """Return the prefix of the threads of runs inside an execution.

    Args:
        thread_id: the flow's thread.
        run: the id of its run, unique in the thread.
        execution: the execution's id.
    """
    return f"{thread_id}/{run}/{execution}/"


def enclosing_thread(thread_id: str) -> str | None:
    """Return the thread of the flow that encloses a run; None for a standalone run."""
    match = _INSIDE.fullmatch(thread_id)
    return None if match is None else match["around"]
