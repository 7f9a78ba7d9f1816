"""Changes of a flow's state since the last commit, and their validation against the state's model.

A change holds the top-level values that changed, and under "$gone" the names of removed ones. A run starts with "$anew":
values left in the thread by an earlier run are not part of its state.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import ormsgpack
from pydantic import BaseModel, ValidationError

from crewgraph.compiler.flow.record import TAG, is_text, to_record
from crewgraph.definitions.flow.state import Writer, read_with_retries, state_fields, track_writes
from crewgraph.errors import StateInvalid, StorageError
from crewgraph.schema import PlainDict, PlainMapping, fault_text

__all__ = ["ANEW", "DELETED", "CommittedState", "PlainForm", "apply_changes", "validated_field"]


ANEW = "$anew"
DELETED = "$gone"


def apply_changes(before: dict[str, object] | None, changed: PlainMapping) -> dict[str, object]:
    """Apply changes to a state."""
    deleted: Sequence[str] = changed.get(DELETED, ())
    merged = changed if ANEW in changed else {**(before or {}), **changed}
    return {name: value for name, value in merged.items() if name not in deleted and name not in (ANEW, DELETED)}


@dataclass(frozen=True)
class PlainForm:
    """Converts values, including objects in them, to and from the form of checkpoints."""

    value: object
    record: Callable[[object], object]
    """Convert a value to this form."""

    revive: Callable[[object], object]
    """Convert this form back to a value; raises KeyError for an object of an unknown class."""


def validated_field(state: BaseModel, name: str, value: object, plain: PlainForm | None) -> object:
    """Return the validated value of a changed field, as pydantic validates assignments.

    That is the value itself, unless it has another type that can be converted: 5 for "5".

    Args:
        state: the state.
        name: the field.
        value: the value.
        plain: converts it to plain form; None if it holds no objects, or they need no validation.

    Raises:
        StateInvalid: the field may not have such a value.
    """
    kind = type(state)
    if name not in kind.model_fields or kind.model_fields[name].frozen:
        return value
    try:
        result = _assigned(state, name, value if plain is None else _revalidated(value, plain))
    except ValidationError as error:
        raise StateInvalid(_field_problem(error, name, kind, value)) from error
    return value if type(result) is type(value) and result == value else result


def _revalidated(value: object, plain: PlainForm) -> object:
    """Return the value with the objects in it validated; pydantic accepts instances unchecked.

    Raises:
        ValidationError: one of them does not fit its class.
    """
    try:
        revived = plain.revive(plain.value)
    except KeyError:  # it will be restored as a dict of its fields, of any kind
        return value
    return value if plain.record(revived) == plain.value else revived


def _assigned(state: BaseModel, name: str, value: object) -> object:
    """Return the result of assigning a value to a field of a copy, because validators may change other fields."""
    model = type(state)
    copy = model.__new__(model)
    for slot in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
        object.__setattr__(copy, slot, getattr(state, slot))
    object.__setattr__(copy, "__dict__", dict(state.__dict__))
    model.__pydantic_validator__.validate_assignment(copy, name, value)
    return copy.__dict__[name]


def _field_problem(error: ValidationError, name: str, kind: type[BaseModel], value: object) -> str:
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return f"with `{name}` being {value!r:.120}, the state does not fit `{kind.__name__}`: {fault_text(first)}"
    annotation: Any = kind.model_fields[name].annotation
    plain = isinstance(annotation, type) and not getattr(annotation, "__args__", ())
    expected = annotation.__name__ if plain else str(annotation)
    return f"`{name}` must be `{expected}`, but is {value!r:.120}: {_place(first['loc'], name)}{fault_text(first)}"


def _place(steps: tuple[int | str, ...], name: str) -> str:
    inside = steps[1:] if steps[0] == name else steps
    return f"`{'.'.join(map(str, inside))}` in it: " if inside else ""


_SCALARS = (str, int, float, bool, type(None))
_TAG = TAG.encode()


class _Run(Protocol):
    """The parts of a run that state tracking uses."""

    state: Any
    stored: bool

    @property
    def name(self) -> str: ...

    @property
    def running(self) -> Mapping[str, Writer]: ...

    def tag(self, kind: type[object]) -> str: ...

    def revived_strictly(self, value: object) -> object: ...


class CommittedState:
    """The state of a run as of its last commit.

    Args:
        run: the run.
    """

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._values: dict[str, object] = {}
        """The committed fields: packed, or scalars unchanged; the values themselves if the run is not stored."""

        self._refused: set[str] = set()
        """The fields with invalid values; they are committed unchanged."""

    def take(self) -> None:
        """Take the current state as committed."""
        self._watch()
        self._values = self._packed()

    def plain(self) -> PlainDict:
        """The committed state."""
        return {name: _plain(packed) for name, packed in self._values.items()}

    def changes(self, done: Collection[str] = ()) -> PlainDict:
        """Return the fields that differ from the committed ones, in the form of checkpoints, and commit them.

        Fields set only by executions still in flight are left out: those set them again when they rerun.

        Args:
            done: the executions that have ended.

        Raises:
            StateInvalid: a value does not fit the state's model.
            StorageError: a value cannot be stored.
        """
        if not self._run.stored:
            self._check_set_fields(done)
            return {}
        if not self._values:
            self._watch()
        before, now = self._values, self._packed()
        differing = [name for name, value in now.items() if name not in before or _differ(before[name], value)]
        deleted = [name for name in before if name not in now]
        if not differing and not deleted:
            return {}
        withheld = self._uncommittable([*differing, *deleted], now, done)
        if before and isinstance(self._run.state, BaseModel):
            for name in differing:
                if name not in withheld and not self._validate(name, now, done):
                    withheld.add(name)
        for name in withheld:
            now.pop(name, None)
            if name in before:
                now[name] = before[name]
        self._values = now
        changed = {name: _plain(now[name]) for name in differing if name not in withheld}
        deleted = [name for name in deleted if name not in withheld]
        return {**changed, DELETED: deleted} if deleted else changed

    def _watch(self) -> None:
        if isinstance(self._run.state, BaseModel):
            track_writes(type(self._run.state))

    def _uncommittable(self, names: Iterable[str], now: Mapping[str, object], done: Collection[str]) -> set[str]:
        """Return the fields that must not be committed yet.

        Mutable values are committed anyway, since it cannot be known which execution mutated them.
        """
        set_by_others = self._set_by_others(done)
        return {
            name
            for name in names
            if name in self._refused
            or (
                name in set_by_others and type(now.get(name)) is not bytes and type(self._values.get(name)) is not bytes
            )
        }

    def _set_by_others(self, done: Collection[str]) -> set[object]:
        """Return the fields that only executions in flight have set."""
        running = self._run.running
        fields: set[object] = set()
        for name, execution in list(running.items()):
            if name not in done:
                fields |= execution.writes
        return fields.difference(*(running[name].writes for name in done if name in running)) if fields else fields

    def _validate(self, name: str, now: dict[str, object], done: Collection[str]) -> bool:
        """Validate a field and store the result in the state; False if a running execution may still fix it."""
        state: BaseModel = self._run.state
        value = vars(state).get(name)
        packed, form = now[name], None
        if type(packed) is bytes and _TAG in packed:
            form = PlainForm(_plain(packed), lambda item: self._recorded(name, item), self._run.revived_strictly)
        validated = self._validated(name, value, form, done)
        if validated is not None and validated[0] is not value and name not in self._set_by_others(done):
            vars(state)[name] = validated[0]
            now[name] = self._packed_value(name, validated[0])
        return validated is not None

    def _check_set_fields(self, done: Collection[str]) -> None:
        """Validate the fields that were set, if no committed values reveal changes inside of values."""
        state = self._run.state
        if not isinstance(state, BaseModel):
            return
        fields, before = vars(state), self._values
        for name, value in list(fields.items()) if before else ():
            if before.get(name, self) is not value and name not in self._refused:
                validated = self._validated(name, value, None, done)
                if validated is not None and validated[0] is not value and name not in self._set_by_others(done):
                    fields[name] = validated[0]
        self._values = dict(fields)

    def _validated(
        self, name: str, value: object, form: PlainForm | None, done: Collection[str]
    ) -> tuple[object] | None:
        """Return the validated value; None if it is invalid and its execution may still be running."""
        try:
            return (validated_field(self._run.state, name, value, form),)
        except StateInvalid as error:
            running = self._run.running
            writers = [item for item in done if item in running and name in running[item].writes]
            if not writers and any(item not in done for item in running):
                return None
            self._refused.add(name)
            execution = next(iter([*writers, *done]), "")
            raise StateInvalid(
                f"method `{execution.rpartition('#')[0]}` of flow `{self._run.name}` has left a value in the state that does "
                f"not fit: {error}. The state is stored as it was before.",
                execution,
            ) from error.__cause__

    def _recorded(self, name: str, value: object) -> object:
        return to_record(value, f"`{name}` in the state of flow `{self._run.name}`", self._run.tag)

    def _packed(self) -> dict[str, object]:
        packed = {name: self._packed_value(name, value) for name, value in state_fields(self._run.state).items()}
        if len(packed) != len(self._values):
            for name in packed:
                if name not in self._values and (not is_text(name) or name in (ANEW, DELETED)):
                    raise StorageError(
                        f"the state of flow `{self._run.name}` has a field {name!r:.80}, which checkpoints cannot "
                        "use as a name. Put it into a dict in a separate field."
                    )
        return packed

    def _packed_value(self, name: str, value: Any) -> object:
        kind = cast("type[Any]", type(value))
        if kind is bool or value is None or kind is float or (kind is str and value.isascii()):
            return value
        if kind in _SCALARS:
            return to_record(value, name)
        return read_with_retries(lambda: ormsgpack.packb(self._recorded(name, value)))


def _differ(before: object, now: object) -> bool:
    return before is not now and (type(before) is not type(now) or before != now)


def _plain(packed: object) -> object:
    return packed if type(packed) is not bytes else ormsgpack.unpackb(packed)
