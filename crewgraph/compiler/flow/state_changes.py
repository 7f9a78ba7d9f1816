"""Changes of a flow's state since the last commit, and warnings of values that do not fit the state's model.

A change holds the top-level values that changed, and under "$gone" the names of removed ones. A run starts with "$anew":
values left in the thread by an earlier run are not part of its state.
"""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

import ormsgpack
from pydantic import BaseModel, ValidationError

from crewgraph.compiler.flow.record import is_text, to_record
from crewgraph.definitions.flow.state import assigned, read_with_retries, state_fields, track_writes
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import StorageError
from crewgraph.schema import PlainDict, PlainMapping, fault_text

ANEW = "$anew"
DELETED = "$gone"


def apply_changes(before: dict[str, object] | None, changed: PlainMapping) -> dict[str, object]:
    """Apply changes to a state."""
    deleted: Sequence[str] = changed.get(DELETED, ())
    merged = changed if ANEW in changed else {**(before or {}), **changed}
    return {name: value for name, value in merged.items() if name not in deleted and name not in (ANEW, DELETED)}


def _doubt(state: BaseModel, name: str, value: object) -> str | None:
    """Return what is wrong with the value of a field, if its model would refuse or convert it."""
    kind = type(state)
    if name not in kind.model_fields or kind.model_fields[name].frozen:
        return None
    try:
        result = assigned(state, name, value)
    except ValidationError as error:
        reason = fault_text(error.errors(include_url=False)[0])
    except Exception as error:  # noqa: BLE001 - a validator of the user's, which is not asked for more than its opinion
        reason = str(error)
    else:
        if result is value or result == value:
            return None
        reason = f"it stands for {result!r:.120}"
    return f"`{name}` of `{kind.__name__}` is {value!r:.120}: {reason}"


_SCALARS = (str, int, float, bool, type(None))


class CommittedState:
    """The state of a run as of its last commit.

    Args:
        run: the run.
    """

    def __init__(self, run: Any) -> None:  # a `FlowRun`
        self._run = run
        self._values: dict[str, object] = {}
        """The committed fields: packed, or scalars unchanged; the values themselves if the run is not stored."""

        self._doubted: set[str] = set()
        """The fields with values of other types, of which the program was told."""

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
            StorageError: a value cannot be stored.
        """
        if not self._run.stored:
            fields = state_fields(self._run.state)
            if self._values:
                self._tell_of_types(
                    [name for name, value in fields.items() if self._values.get(name, self) is not value]
                )
            self._values = fields
            return {}
        if not self._values:
            self._watch()
        before, now = self._values, self._packed()
        differing = [name for name, value in now.items() if name not in before or _differ(before[name], value)]
        deleted = [name for name in before if name not in now]
        if not differing and not deleted:
            return {}
        withheld = self._uncommittable([*differing, *deleted], now, done)
        if before:
            self._tell_of_types([name for name in differing if name not in withheld])
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
            if name in set_by_others and type(now.get(name)) is not bytes and type(self._values.get(name)) is not bytes
        }

    def _set_by_others(self, done: Collection[str]) -> set[object]:
        """Return the fields that only executions in flight have set."""
        running: Mapping[str, Any] = self._run.running
        fields: set[object] = set()
        for name, execution in list(running.items()):
            if name not in done:
                fields |= execution.writes
        return fields.difference(*(running[name].writes for name in done if name in running)) if fields else fields

    def _tell_of_types(self, names: Iterable[str]) -> None:
        """Warn once of each field with a value of another type than its model's; it is kept, as CrewAI keeps it."""
        state = self._run.state
        for name in names if isinstance(state, BaseModel) else ():
            doubt = None if name in self._doubted else _doubt(state, name, state_fields(state).get(name))
            if doubt is not None:
                self._doubted.add(name)
                warnings.warn(
                    f"the state of flow `{self._run.name}` has a value of another type, which is kept: {doubt}",
                    stacklevel=user_stacklevel(),
                )

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
        where = f"`{name}` in the state of flow `{self._run.name}`"
        return read_with_retries(lambda: ormsgpack.packb(to_record(value, where, self._run.tag)))


def _differ(before: object, now: object) -> bool:
    return before is not now and (type(before) is not type(now) or before != now)


def _plain(packed: object) -> object:
    return packed if type(packed) is not bytes else ormsgpack.unpackb(packed)
