"""Modules that files name: those beside a file come first, and are never taken for others of the same name."""

import importlib
import importlib.util
import sys
from pathlib import Path
from threading import RLock
from types import ModuleType

from crewgraph.errors import DefinitionError

__all__ = ["file_of", "module_of"]

_PATH = RLock()
"""Held while `sys.path` is changed: imports of several threads would take one another's folders out of it."""


def file_of(name: str, root: Path) -> Path | None:
    """The file of a folder that a module's name stands for."""
    path = root.joinpath(*name.split("."))
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


def module_of(name: str, root: Path | None = None) -> ModuleType:
    """A module by its name: of the folder, where it has a file for it; else what Python finds.

    Args:
        name: the name, with dots.
        root: the folder. What its modules import while they are loaded is found there, too.

    Raises:
        ImportError: there is no such module, or it cannot be imported.
        DefinitionError: its file is no Python module.
    """
    if root is None or name == "__main__":
        return importlib.import_module(name)
    path = file_of(name, root)
    with _PATH:
        # Files may be newer than what Python remembers of the folder.
        importlib.invalidate_caches()
        sys.path.insert(0 if path is not None else len(sys.path), str(root))
        try:
            # The module that the program itself would import, unless another one has taken its name.
            if path is None or _origin(name) == path.resolve():
                return importlib.import_module(name)
            return _apart(name, path.resolve())
        finally:
            sys.path.remove(str(root))


def _origin(name: str) -> Path | None:
    """The file that an import would read."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None


def _apart(name: str, path: Path) -> ModuleType:
    """A module under a name that no other file has."""
    unique = f"{name}@{path}"
    if unique not in sys.modules:
        spec = importlib.util.spec_from_file_location(unique, path)
        if spec is None or spec.loader is None:
            raise DefinitionError(f"{path} is no Python module")
        sys.modules[unique] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[unique]
            raise
    return sys.modules[unique]
