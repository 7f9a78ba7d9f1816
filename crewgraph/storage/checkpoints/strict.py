"""Reading of any checkpointer without running code from its database.

LangGraph's serializer imports and calls what the stored bytes name, unless it has an allow-list. Such a saver is used through a
view: with the same connections, locks and settings, but serializers restricted to LangGraph's list of plain types, messages and
its own types, which is all that graphs of crews and flows store. The saver itself is unchanged, so other graphs that share it
read as before. The view of a Postgres saver also checks the claims of runs.
"""

import threading
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from crewgraph.errors import StorageError
from crewgraph.storage.checkpoints.values import StrictSerializer
from crewgraph.storage.claims.keepers import is_on_postgres

_Saver = BaseCheckpointSaver[Any]


class TrustedSerializer(SerializerProtocol):
    """Marks a custom serializer as safe for the runs of crews and flows.

    crewgraph reads with LangGraph's serializers only if they have an allow-list, and refuses unknown serializers. It uses one in
    this wrapper unchanged: either it constructs nothing that the bytes name, or only you can write to the database.
    """

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value to its kind and its bytes."""
        return self._serde.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Deserialize a value."""
        return self._serde.loads_typed(data)


_SERIALIZERS = (JsonPlusSerializer, EncryptedSerializer)

# A view holds its saver, so the saver's id is not reused while the view exists.
_views: WeakValueDictionary[int, _Saver] = WeakValueDictionary()
_lock = threading.Lock()


def saver_of_host(saver: _Saver) -> _Saver:
    """Return the saver of the graph's host (such as LangGraph's server), reading strictly if its serializer is known.

    The host reads the same rows with it, so refusing an unknown serializer would protect nothing.
    """
    try:
        return strictly_reading(saver)
    except StorageError:
        return _viewed(saver, ()) if is_on_postgres(saver) else saver


def strictly_reading(saver: _Saver) -> _Saver:
    """Return a saver that runs no code from its database: the given one if it does not, otherwise a view of it.

    A saver on PostgreSQL always has a view, which repeats what a lost connection did not do. A saver has one view while it
    is in use.

    Raises:
        StorageError: the saver has a serializer of a class that crewgraph does not know.
    """
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    if isinstance(saver, _SaverView) or (
        isinstance(saver, SqliteCheckpointer) and type(saver.serde) is StrictSerializer
    ):
        return saver
    view = _views.get(id(saver))
    if view is not None:
        return view
    names = _names_of_readers(saver)
    return _viewed(saver, names) if names or is_on_postgres(saver) else saver


def _viewed(saver: _Saver, names: tuple[str, ...]) -> _Saver:
    with _lock:
        view = _views.get(id(saver))
        if view is None:
            view = _views[id(saver)] = _view_of(saver, names)
        return view


def _names_of_readers(saver: _Saver) -> tuple[str, ...]:
    """Return the attributes of a saver that construct what the bytes name: its serializers, and savers that it wraps."""
    names = [
        "serde",
        *(name for name, value in vars(saver).items() if isinstance(value, (*_SERIALIZERS, BaseCheckpointSaver))),
    ]
    return tuple(
        name for name in dict.fromkeys(names) if _strict_serializer(value := getattr(saver, name), saver) is not value
    )


def _strict_serializer(value: Any, saver: _Saver) -> Any:
    if isinstance(value, BaseCheckpointSaver):
        return strictly_reading(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, (StrictSerializer, TrustedSerializer)):
        return value
    if type(value) is JsonPlusSerializer:
        return StrictSerializer.like(value)
    if type(value) is EncryptedSerializer:
        inner = _strict_serializer(value.serde, saver)
        return value if inner is value.serde else EncryptedSerializer(value.cipher, inner)
    raise StorageError(
        f"the {type(saver).__name__} reads with a {type(value).__name__}, which may run code that a stored row "
        "names. Give the saver `serde=StrictSerializer()` (`EncryptedSerializer(cipher, StrictSerializer())` to encrypt), or "
        f"`serde=TrustedSerializer(...)` around the {type(value).__name__} if it constructs nothing or only you can write to "
        "the database; both are in `crewgraph.storage.checkpoints`."
    )


def _view_of(saver: _Saver, names: tuple[str, ...]) -> _Saver:
    from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

    if isinstance(saver, SqliteCheckpointer):
        return saver.with_serde(_strict_serializer(saver.serde, saver))
    view: Any = object.__new__(_view_class(type(saver), names, is_on_postgres(saver)))
    view.__dict__ = saver.__dict__  # shared, so the view sees what the saver opens or counts later
    view.claim, view.connection, view.synced, view.viewed, view.readers = None, None, False, saver, {}
    return view


class _SaverView:
    """Marks a view of a saver."""

    __slots__ = ()


@lru_cache(maxsize=64)
def _view_class(kind: type[_Saver], names: tuple[str, ...], on_postgres: bool) -> type[_Saver]:
    fields: dict[str, Any] = {name: _reader(name) for name in names}
    fields |= {
        "__slots__": ("claim", "connection", "readers", "synced", "viewed"),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
    }
    metaclass: Any = type(kind)
    parts: tuple[type[Any], ...] = ()
    if on_postgres:
        from crewgraph.storage.checkpoints.on_postgres import OnPostgres

        parts = (OnPostgres,)
    return metaclass(kind.__name__, (_SaverView, *parts, kind), fields)


def _reader(name: str) -> property:
    """Return a property of a view that overrides the saver's attribute, and follows when that is set."""

    def get(view: Any) -> Any:
        value = getattr(view.viewed, name)
        source, strict = view.readers.get(name, (None, None))
        if source is not value:
            strict = _strict_serializer(value, view.viewed)
            view.readers = {**view.readers, name: (value, strict)}
        return strict

    def put(view: Any, value: Any) -> None:
        # LangGraph's strict mode sets the serializer of a copy of the view; the saver keeps its own.
        view.readers = {**view.readers, name: (getattr(view.viewed, name), _strict_serializer(value, view.viewed))}

    return property(get, put)
