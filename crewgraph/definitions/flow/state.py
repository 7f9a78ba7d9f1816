"""The state of a flow: a pydantic model or a dict, always with an `id`.

Records which method sets which field. Changes inside a value, such as an append to a list, are not detected.
"""

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from copy import deepcopy
from functools import wraps
from threading import Lock
from typing import Any, Final, Generic, SupportsIndex, TypeVar, cast, get_args, get_origin
from uuid import uuid4

from pydantic import BaseModel, Field, ValidationError

from crewgraph.core.files import FILES, files_in
from crewgraph.definitions.run_options import Inputs
from crewgraph.errors import DefinitionError
from crewgraph.extensions import extension
from crewgraph.schema import PlainDict, is_object

CURRENT_WRITER: ContextVar[Any] = ContextVar("crewgraph_state_writer", default=None)
"""The running method that encloses the code, with the `flow`, the `state` of the run, and the `writes`: the names of the fields
that it has set."""


def current_flow() -> Any:
    """Return the flow whose method is running; None outside of methods."""
    writer = CURRENT_WRITER.get()
    return None if writer is None else writer.flow


def _record_writes(state: Any, *names: object) -> None:
    """Record that fields are about to be set; before they are, so that no write goes unrecorded."""
    writer = CURRENT_WRITER.get()
    if writer is not None and writer.state is state:  # ignore copies and states of other flows
        writer.writes.update(names)


class StateDict(dict[Any, Any]):
    """A state without a model: a dict that records which fields are set."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the state is a dict without `.{name}`: write `state[{name!r}]`, or give the flow a model: `Flow[Model]`"
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        _record_writes(self, key)
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        _record_writes(self, key)
        super().__delitem__(key)

    def __ior__(self, other: object) -> Any:
        self.update(other)
        return self

    def update(self, *others: object, **more: object) -> None:
        """Set several fields."""
        values = dict(*others, **more)
        _record_writes(self, *values)
        super().update(values)

    def setdefault(self, key: Any, default: object = None) -> Any:
        """Return the value of a field, setting a default if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: object) -> Any:
        """Remove a field and return its value."""
        _record_writes(self, key)
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        """Remove and return the last field."""
        key = next(reversed(self), None)
        _record_writes(self, key)
        return super().popitem()

    def clear(self) -> None:
        """Remove all fields."""
        _record_writes(self, *self)
        super().clear()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:  # elsewhere it is a dict
        return dict, (dict(self),)


_lock = Lock()


def track_writes(kind: type[BaseModel]) -> None:
    """Record which method sets which field of the instances of a model. The class itself appears unchanged.

    A class made for that would not do: `type(state)` would be another one, and states would not equal the user's objects.
    """
    with _lock:
        if kind is BaseModel or hasattr(vars(kind).get("__setattr__"), "__crewgraph_watched__"):
            return
        plain = cast("Any", kind.__setattr__)

        @wraps(plain)
        def setting(self: BaseModel, name: str, value: Any) -> None:
            _record_writes(self, name)
            plain(self, name, value)

        vars(setting)["__crewgraph_watched__"] = True
        cast("Any", kind).__setattr__ = setting


T = TypeVar("T")

_MAX_ATTEMPTS = 50


class FlowState(BaseModel):
    """An optional base class for flow states with an `id`; any pydantic model works."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """The id of the run."""


def read_with_retries(read: Callable[[], T]) -> T:
    """Read a container that concurrent methods may be changing.

    Raises:
        RuntimeError: its size has changed in the middle of every attempt.
    """
    for _ in range(_MAX_ATTEMPTS):
        try:
            return read()
        except RuntimeError:  # what Python raises for a size that changes
            continue
    return read()


def state_fields(state: Any) -> dict[str, Any]:
    """Return the fields of a state, which concurrent methods may be changing."""
    if isinstance(state, BaseModel):
        return read_with_retries(lambda: {**state.__dict__, **(state.__pydantic_extra__ or {})})
    return read_with_retries(lambda: dict(state))


def state_source(flow: type[Any]) -> Any:
    """Return the state type of a flow class, as in `Flow[State]`; None without one."""
    for kind in flow.__mro__:
        for base in vars(kind).get("__orig_bases__", ()):
            args = get_args(base)
            if args and isinstance(get_origin(base), type) and isinstance(args[0], type) and args[0] is not Any:
                return args[0]
            if args and get_origin(args[0]) is dict:
                return dict
    return None


def create_state(source: object, flow: str) -> Any:
    """Create a new state with an `id`.

    Args:
        source: a model or dict (copied), the class of one, or None for an empty dict.
        flow: the flow's name, for messages.

    Raises:
        DefinitionError: it is none of these, or a model that cannot be created without values.
    """
    if source is None or source is dict:
        state: object = StateDict()
    elif is_object(source):
        state = StateDict(deepcopy(source))
    elif isinstance(source, BaseModel):
        state = deepcopy(source)
    elif isinstance(source, type) and issubclass(source, BaseModel):
        try:
            state = source(**_id_if_missing(source))
        except ValueError as error:
            raise DefinitionError(
                f"the state `{source.__name__}` of flow `{flow}` cannot be created without values: {error}. Give its fields "
                "defaults, or give the flow `initial_state=`."
            ) from error
    else:
        raise DefinitionError(
            f"the state of flow `{flow}` is {source!r:.80}; pass a pydantic model, its class, or a dict."
        )
    if is_object(state):
        state.setdefault("id", str(uuid4()))
        return state
    if not getattr(state, "id", None):
        object.__setattr__(state, "id", str(uuid4()))  # also where the model has no such field
    return state


def _id_if_missing(source: type[BaseModel]) -> dict[str, str]:
    """Return an `id` for a model that makes none itself: with a fixed one, runs would take each other's state."""
    field = source.model_fields.get("id")
    return {"id": str(uuid4())} if field is not None and field.annotation is str and not field.default_factory else {}


def is_incomplete(state: object) -> bool:
    """Whether a state lacks fields that the inputs must provide."""
    return isinstance(state, BaseModel) and any(name not in vars(state) for name in type(state).model_fields)


def state_id(state: Any) -> str:
    """Return the `id` of a state."""
    return str(state["id"] if is_object(state) else state.id)


def with_new_id(state: Any) -> Any:
    """Return the state with another `id`; an `id` that is not a string belongs to the user and is kept."""
    if is_object(state):
        state["id"] = str(uuid4())
    elif isinstance(state.id, str):
        object.__setattr__(state, "id", str(uuid4()))
    return state


def input_fields(kind: type[BaseModel]) -> dict[str, str]:
    """Return the fields of a state's model by the names that inputs may use for them: their own, and their aliases."""
    names = {name: name for name in kind.model_fields}
    for name, field in kind.model_fields.items():
        if isinstance(alias := field.validation_alias, str):
            names.setdefault(alias, name)
    return names


TURN: Final = ":turn"
"""The input that makes a run a turn of a conversation; no field of a state and no parameter can have such a name."""


def run_extension(inputs: Inputs) -> Any:
    """Return what takes part in a run with these inputs besides the flow: the extension for conversations, or None."""
    return extension("conversations.turns") if TURN in inputs else None


def state_inputs(inputs: Inputs) -> dict[str, Any]:
    """Return the inputs that are fields of the state or parameters of methods."""
    apart = (TURN, FILES) if files_in(inputs) else (TURN,)
    return {name: value for name, value in inputs.items() if name not in apart}


def with_inputs(state: Any, inputs: Inputs, flow: str) -> Any:
    """Return the state with new values for its fields; what the others hold is not judged.

    Raises:
        DefinitionError: the values do not fit the state's model.
    """
    if is_object(state):
        state.update(inputs)
        return state
    model: BaseModel = state
    kind = type(model)
    open_ended = kind.model_config.get("extra") == "allow"
    names = input_fields(kind)
    fields = {names.get(name, name): value for name, value in inputs.items() if name in names or open_ended}
    has_values = bool(fields) or is_incomplete(model)
    current = {name: value for name, value in vars(model).items() if name in kind.model_fields}
    current |= model.__pydantic_extra__ or {}
    updated = _validated(kind, current, fields, flow) if has_values else model
    for name, value in vars(model).items():
        if name not in vars(updated):
            object.__setattr__(updated, name, value)
    if "id" in inputs:
        object.__setattr__(updated, "id", str(inputs["id"]))
    return updated


def _validated(kind: type[BaseModel], current: PlainDict, fields: PlainDict, flow: str) -> BaseModel:
    try:
        return kind.model_validate({**current, **fields}, by_alias=False, by_name=True)
    except ValueError as error:
        faults = error.errors() if isinstance(error, ValidationError) else ()
        forbidden = {str(part["loc"][0]) for part in faults if part["loc"]}
        if forbidden and forbidden <= current.keys() - fields.keys():
            # A default that its type forbids (`outline: Outline = None`) is no input.
            others = {name: value for name, value in current.items() if name not in forbidden}
            with suppress(ValueError):
                validated = kind.model_validate({**others, **fields}, by_alias=False, by_name=True)
                vars(validated).update({name: current[name] for name in forbidden})
                return validated
        raise DefinitionError(f"the inputs do not fit the state `{kind.__name__}` of flow `{flow}`: {error}") from error


def assigned(state: BaseModel, name: str, value: object) -> object:
    """Return the result of assigning a value to a field of a copy, because validators may change other fields."""
    copy = state.model_copy()
    type(state).__pydantic_validator__.validate_assignment(copy, name, value)
    return copy.__dict__[name]


class _OfMethod(Generic[T]):
    """A value of the running method, which is read like a context variable."""

    def __init__(self, read: Callable[[Any], T], default: T) -> None:
        self._read, self._default = read, default

    def get(self) -> T:
        """Return the value; a default outside of methods."""
        writer = CURRENT_WRITER.get()
        return self._default if writer is None else self._read(writer)


current_flow_id = _OfMethod[str | None](lambda method: method.run.flow_id, None)
"""The id of the current run, which is the `id` of its state."""

current_flow_request_id = _OfMethod[str | None](lambda method: method.outermost.run.flow_id, None)
"""The id of the outermost run, if a method of one flow kicks off another."""

current_flow_name = _OfMethod[str | None](lambda method: method.run.name, None)
"""The flow's name."""

current_flow_method_name = _OfMethod[str](lambda method: method.method, "unknown")
"""The name of the current method."""

current_flow_defer_trace_finalization = _OfMethod[bool](lambda _: False, False)
"""Always False: each run has its own trace."""
