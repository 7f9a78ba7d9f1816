"""What definitions hold at a moment, to tell later whether any of it has changed."""

from collections.abc import Callable, Iterable, Mapping
from operator import is_, itemgetter
from typing import Any

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
