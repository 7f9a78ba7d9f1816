"""What is derived from definitions, such as their graphs, and what they held at that moment, which tells whether they changed."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from operator import is_, itemgetter
from threading import Lock
from typing import Any, Self

from crewgraph.definitions.base import Definition, run_fields
from crewgraph.schema import is_object


class Revision:
    """The fields of some definitions, and the items of the lists, dicts and sets among them, at a moment.

    Objects count by identity: a change inside a model or a tool is none. Neither is what runs write: results, and texts
    with their placeholders filled.

    Args:
        definitions: agents, tasks and crews.
    """

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._held: list[_Held] = []
        for definition in definitions:
            fields = _fields(definition)
            read = itemgetter(
                *sorted(fields.keys() & (type(definition).model_fields.keys() - run_fields(type(definition))))
            )
            values: tuple[Any, ...] = read(fields)
            containers: list[tuple[Any, _Values]] = [
                (value, _items(value)) for value in values if isinstance(value, (list, dict, set))
            ]
            filled = (definition.__pydantic_private__ or {}).get("_permanent")
            if filled is not None:
                containers.append((filled, _items(filled)))
            self._held.append((definition, type(definition), read, values, containers))

    def is_current(self) -> bool:
        """Whether the definitions still hold the same."""
        for definition, kind, read, values, containers in self._held:
            if type(definition) is not kind or not all(map(is_, read(_fields(definition)), values)):
                return False
            for container, items in containers:
                if container or items:
                    now = _items(container)
                    if len(now) != len(items) or not all(map(is_, now, items)):
                        return False
        return True


_Fields = Mapping[str, Any]
_Values = tuple[Any, ...]
_Held = tuple[Definition, type[Definition], Callable[[_Fields], _Values], _Values, list[tuple[Any, _Values]]]


def _fields(definition: Definition) -> _Fields:
    private = definition.__pydantic_private__
    templates: _Fields | None = private.get("_templates") if private else None
    return {**vars(definition), **templates} if templates else vars(definition)


def _items(container: Any) -> _Values:
    if is_object(container):
        return *container, *container.values()
    return tuple(container)


_MAX_ENTRIES = 8


class DerivedCache:
    """A small cache of objects derived from a definition, such as its graph; the least recently used is evicted.

    Thread-safe. A copy of the definition, also one that was pickled, starts with an empty cache.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._items: OrderedDict[Hashable, object] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """Return the object stored under a key, or None."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def put(self, key: Hashable, value: Any) -> None:
        """Store an object, evicting the least recently used one if the cache is full."""
        with self._lock:
            self._items[key] = value
            if len(self._items) > _MAX_ENTRIES:
                self._items.popitem(last=False)

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()
