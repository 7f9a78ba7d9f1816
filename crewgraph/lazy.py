"""Packages whose names are imported on first use, and references to classes that are imported where they are needed."""

import gc
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

_T = TypeVar("_T")

_FROZEN_BY_A_PROGRAM = 1_000  # Python 3.12 itself freezes some hundred objects at its start


def _imported(module: str) -> ModuleType:
    """Import a module with the garbage collector off: there is hardly any garbage, and collecting takes a sixth of the time."""
    collects = gc.isenabled() and module not in sys.modules
    if collects:
        gc.disable()
    try:
        return import_module(module)
    finally:
        if collects:
            _move_to_oldest_generation()
            gc.enable()


def _move_to_oldest_generation() -> None:
    """Move all objects to the garbage collector's oldest generation, without looking at them.

    What an import makes lives as long as the process. The next collection of the youngest generation would look at all of it,
    which took a tenth of the time of the import.
    """
    if gc.get_freeze_count() < _FROZEN_BY_A_PROGRAM:
        gc.freeze()
        gc.unfreeze()


class Lazy:
    """A reference to a name of a module, which is imported when the reference is loaded or called.

    Args:
        module: The module that has the name.
        attribute: The name.
    """

    __slots__ = ("_attribute", "_module")

    def __init__(self, module: str, attribute: str) -> None:
        self._module, self._attribute = module, attribute

    def load(self) -> Any:
        """Return what it refers to."""
        return getattr(_imported(self._module), self._attribute)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.load()(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<lazy {self._module}:{self._attribute}>"


def loaded(reference: _T) -> _T:
    """Return what a lazy reference refers to, importing its module; anything else as it is."""
    target: Any = reference
    return target.load() if isinstance(target, Lazy) else target


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names and submodules are imported on first access.

    Args:
        package: its `__name__`.
        modules: for each name the module that defines it.
    """

    def find(name: str) -> Any:
        if name in modules:
            value = getattr(_imported(modules[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        submodule = f"{package}.{name}"
        if not name.startswith("_") and find_spec(submodule) is not None:
            return _imported(submodule)
        raise AttributeError(f"module `{package}` has no attribute `{name}`")

    return find


def stub_names(package: str) -> dict[str, str]:
    """Return the module of each name in the stub of a package, for `lazy_exports`.

    The stub, `__init__.pyi`, is the only list of these names: type checkers read it in place of `__init__.py`. Each name has a
    line `from MODULE import NAME as NAME`.

    Args:
        package: its `__name__`; called while its `__init__.py` is imported.
    """
    spec: Any = sys.modules[package].__spec__
    stub: bytes = spec.loader.get_data(f"{spec.origin}i")  # by the loader, as the package may be in a zip file
    lines = (line.split() for line in stub.decode().splitlines())
    return {words[3]: words[1] for words in lines if words[:1] == ["from"]}
