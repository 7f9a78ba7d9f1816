"""The closed table of classes that the values of a flow may have: those named by its modules, methods and state."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from enum import Enum
from inspect import unwrap
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from crewgraph.annotations import annotations_of
from crewgraph.compiler.flow.record import RESERVED
from crewgraph.definitions.flow.definition import FlowTopology
from crewgraph.errors import StorageError


class Classes(Mapping[str, type[object]]):
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

    def __getitem__(self, tag: str) -> type[object]:
        """Return the class with a name in checkpoints.

        Raises:
            KeyError: no class has that name.
            StorageError: several classes have that name.
        """
        if tag in self._full:
            return self._full[tag]
        kinds = self._short[tag]
        if len(kinds) > 1:
            names = ", ".join(f"`{kind.__module__}.{tag}`" for kind in kinds)
            raise StorageError(
                f"the checkpoint holds a `{tag}`, and the flow has several classes of that name: {names}. There was one when "
                "it was written; rename the others, or keep them out of the flow's module, until the run is done."
            )
        return kinds[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._short)

    def __len__(self) -> int:
        return len(self._short)


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
