"""Names whose modules are imported on first use, while type checkers see the real ones.

    if TYPE_CHECKING:
        from crewgraph.runtime.crew.kickoff import kickoff
    else:
        kickoff = lazy("crewgraph.runtime.crew.kickoff:kickoff_crew")

Declaring a crew must not import LangGraph, and using it must. The branch that type checkers read gives every use the real
signature; the other one gives the program a reference that imports the module when it is called.
"""

import gc
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

__all__ = ["Lazy", "lazy", "lazy_exports", "lazy_module", "loaded", "stub_names"]


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
    """A reference to a module, or to one of its names, that imports the module on first use.

    It can be called and passed on like the function or class it refers to, used with `isinstance` and `issubclass`, pickled,
    and read: it has the attributes of its target. The name is looked up in the module on each use, so that a patch of
    the module is seen here, too.
    """

    __slots__ = ("__weakref__", "_attribute", "_loaded", "_module")

    def __init__(self, module: str, attribute: str | None) -> None:
        self._module, self._attribute = module, attribute
        self._loaded: ModuleType | None = None

    def _target(self) -> Any:
        """Return the module or name it refers to.

        Raises:
            ImportError: the module cannot be imported.
            AttributeError: the module has no such name.
        """
        module = self._loaded
        if module is None:
            module = self._loaded = _imported(self._module)
        if self._attribute is None:
            return module
        try:
            return getattr(module, self._attribute)
        except AttributeError as error:
            raise AttributeError(
                f'`lazy("{self._module}:{self._attribute}")` refers to nothing: module `{self._module}` has no attribute '
                f"`{self._attribute}`"
            ) from error

    @property
    def __wrapped__(self) -> Any:
        """The module or name it refers to; `inspect.signature` follows this attribute."""
        return self._target()

    @property
    def __name__(self) -> str:
        return self._attribute or self._module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._target()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # code that scans all names of a module must not import their targets
            raise AttributeError(f"{self!r} has no attribute `{name}`")
        return getattr(self._target(), name)

    def __instancecheck__(self, instance: object) -> bool:
        # While the module that defines a class is not loaded, there are no instances of it, and no subclasses.
        module = sys.modules.get(self._module)
        return module is not None and isinstance(instance, getattr(module, str(self._attribute)))

    def __subclasscheck__(self, subclass: type) -> bool:
        module = sys.modules.get(self._module)
        return module is not None and issubclass(subclass, getattr(module, str(self._attribute)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Lazy, (self._module, self._attribute)

    def __repr__(self) -> str:
        return f"<lazy {self._module}{f':{self._attribute}' if self._attribute else ''}>"


def lazy(reference: str) -> Any:
    """Return a reference to a function or class whose module is imported on first use.

    Args:
        reference: "package.module:name".

    Raises:
        ValueError: it has another form.
    """
    module, colon, attribute = reference.partition(":")
    if not (module and colon and attribute.isidentifier()):
        raise ValueError(f'`{reference}` is not a lazy reference; write "package.module:name"')
    return Lazy(module, attribute)


def lazy_module(module: str) -> Any:
    """Return a reference to a module that is imported when one of its attributes is first used."""
    return Lazy(module, None)


def loaded(reference: _T) -> _T:
    """Return what a lazy reference refers to, importing its module; anything else as it is."""
    target: Any = reference
    return target.__wrapped__ if isinstance(target, Lazy) else target


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
