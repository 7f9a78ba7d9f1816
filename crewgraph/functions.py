"""Functions that pickle by their name, also where that name is now a tool made of the function."""

import copyreg
from importlib import import_module
from inspect import isfunction
from sys import modules
from typing import Any

from crewgraph.errors import DefinitionError


class ByName:
    """Pickles as a reference to a function, or to a tool made of it; loading it gives that.

    Args:
        function: the function, whose name leads to it or to the tool.
        of_tool: whether the tool is meant.
    """

    def __init__(self, function: Any, *, of_tool: bool = False) -> None:
        self.place = (function.__module__, function.__qualname__, of_tool)

    def __reduce__(self) -> tuple[Any, tuple[str, str, bool]]:
        return _object_at, self.place


class _Unimportable(type):
    """The type of classes that hold a function which pickle cannot refer to: pickle refuses them, `cloudpickle` copies them."""

    held: Any
    where: str


def _refuse_function(holder: _Unimportable) -> Any:
    raise DefinitionError(_cannot_be_imported(holder.held, holder.where))


copyreg.pickle(_Unimportable, _refuse_function)


def by_name(function: Any, where: str = "") -> Any:
    """Return what to pickle for a function; `restored` returns the function after loading.

    It is the function itself, a reference if its name is now a tool made of it, or an object that only `cloudpickle` accepts if
    no name leads to it.

    Args:
        function: the function; other values are returned as they are.
        where: what it is used for, for the error of pickle.
    """
    if not isfunction(function):
        return function
    if found_by_name(function) is function:
        return function
    if is_importable(function):
        return ByName(function)
    return _Unimportable(function.__name__, (), {"held": staticmethod(function), "where": where})


def restored(loaded: Any) -> Any:
    """Return the function for what `by_name` returned, after loading or in a shallow copy."""
    if isinstance(loaded, ByName):
        return _object_at(*loaded.place)
    return loaded.held if isinstance(loaded, _Unimportable) else loaded


def check_importable(function: Any) -> None:
    """Check that another process can import a function.

    Raises:
        DefinitionError: it cannot, as the function was defined in another function, or its name is now something else.
    """
    if not is_importable(function):
        raise DefinitionError(_cannot_be_imported(function))


def is_importable(function: Any) -> bool:
    """Whether another process can import a function, if it is one: its name leads to it, or to a tool made of it."""
    if not isfunction(function):
        return True
    found = found_by_name(function)
    return function in (found, *_functions_of(found))


def found_by_name(value: Any) -> object:
    """Return what the name of a function or class leads to; None for nothing."""
    return _attribute_at(modules.get(value.__module__), value.__qualname__)


def _cannot_be_imported(function: Any, where: str = "") -> str:
    place = f"`{function.__module__}`, the {where}," if where else f"`{function.__module__}`"
    return (
        f"the function `{function.__qualname__}` of {place} cannot be pickled, as another process could not import it by that "
        "name. Define it at the top level of its module, or use `cloudpickle`."
    )


def _functions_of(tool: object) -> tuple[object, object]:
    return getattr(tool, "func", None), getattr(tool, "coroutine", None)


def _object_at(module: str, name: str, of_tool: bool) -> object:
    found = _attribute_at(import_module(module), name)
    if of_tool or isfunction(found):
        return found
    func, coroutine = _functions_of(found)
    return func or coroutine


def _attribute_at(place: object, name: str) -> object:
    for part in name.split("."):
        place = getattr(place, part, None)
    return place
