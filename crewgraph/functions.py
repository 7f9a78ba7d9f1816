"""Functions that pickle by their name, also where that name is now a tool made of the function."""

from importlib import import_module
from inspect import isfunction
from sys import modules
from typing import Any

from crewgraph.errors import DefinitionError

__all__ = ["by_name", "check_importable"]


class _ByName:
    """Pickles as a reference to a function; loading it gives the function."""

    def __init__(self, module: str, name: str) -> None:
        self._place = (module, name)

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return _function_at, self._place


def by_name(function: Any) -> Any:
    """Return what to pickle for a function: a reference, if its name is now a tool made of it; else the function itself."""
    found = _found(function) if isfunction(function) else function
    return function if found is function or _kept_in(found) is not function else _ByName(*_place(function))


def check_importable(function: Any) -> None:
    """Check that another process can import a function.

    Raises:
        DefinitionError: it cannot, as the function was defined in another function, or its name is now something else.
    """
    if not isfunction(function):
        return
    found = _found(function)
    if found is not function and _kept_in(found) is not function:
        raise DefinitionError(
            f"the function `{function.__qualname__}` of `{function.__module__}` cannot be pickled, as another process could not "
            "import it by that name. Define it at the top level of its module, or use `cloudpickle`."
        )


def _found(function: Any) -> object:
    module, name = _place(function)
    return _at(modules.get(module), name)


def _kept_in(tool: object) -> object:
    return getattr(tool, "func", None)


def _place(function: Any) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _function_at(module: str, name: str) -> object:
    found = _at(import_module(module), name)
    return found if isfunction(found) else _kept_in(found)


def _at(place: object, name: str) -> object:
    for part in name.split("."):
        place = getattr(place, part, None)
    return place
