"""Which method has written which field of the state: noted while it writes.

Fields that are set are noted; what is changed inside of their values (a list that is appended to) cannot be.
"""

from contextvars import ContextVar
from functools import wraps
from threading import Lock
from typing import Any, Protocol, SupportsIndex, cast

from pydantic import BaseModel

__all__ = ["WRITER", "StateDict", "Writer", "flow_at_work", "watched"]


class Writer(Protocol):
    """A method that is running."""

    writes: set[Any]
    """The names of the fields that it has set."""

    @property
    def state(self) -> Any:
        """The state that it works on."""
        ...

    @property
    def flow(self) -> Any:
        """The flow that it is a method of."""
        ...


WRITER: ContextVar[Writer | None] = ContextVar("crewgraph_state_writer", default=None)
"""The method around the running code."""


def flow_at_work() -> Any:
    """The flow whose method is around the running code; None outside of methods."""
    writer = WRITER.get()
    return None if writer is None else writer.flow


def _note(state: Any, *names: Any) -> None:
    """Note that fields are about to be set: before it happens, so that nothing is set that is not noted."""
    writer = WRITER.get()
    if writer is not None and writer.state is state:  # copies, and states of other flows, are nobody's business
        writer.writes.update(names)


class StateDict(dict[Any, Any]):
    """A state without a model: a dict that notes who sets what."""

    def __setitem__(self, key: Any, value: Any) -> None:
        _note(self, key)
        super().__setitem__(key, value)

    def __delitem__(self, key: Any) -> None:
        _note(self, key)
        super().__delitem__(key)

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def update(self, *others: Any, **more: Any) -> None:
        """Set several fields."""
        values: dict[Any, Any] = dict(*others, **more)
        _note(self, *values)
        super().update(values)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value of a field, which is set if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        """Take a field away."""
        _note(self, key)
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        """Take the last field away."""
        key = next(reversed(self), None)
        _note(self, key)
        return super().popitem()

    def clear(self) -> None:
        """Take all fields away."""
        _note(self, *self)
        super().clear()

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:  # elsewhere it is a dict
        return dict, (dict(self),)


_lock = Lock()


def watched(kind: type[BaseModel]) -> None:
    """Let the instances of a model note who sets what. The class stays what it is, to whoever looks at it.

    A class made for that would not do: `type(state)` would be another one, and states would not equal the user's objects.
    """
    with _lock:
        if kind is BaseModel or hasattr(vars(kind).get("__setattr__"), "__crewgraph_watched__"):
            return
        plain = cast("Any", kind.__setattr__)

        @wraps(plain)
        def setting(self: BaseModel, name: str, value: Any) -> None:
            _note(self, name)
            plain(self, name, value)

        vars(setting)["__crewgraph_watched__"] = True
        cast("Any", kind).__setattr__ = setting
