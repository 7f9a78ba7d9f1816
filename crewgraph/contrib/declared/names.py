"""Names in declarations and in files of crews: of methods and steps, of modules, and of things of Python."""

import importlib
import importlib.util
import inspect
import re
import sys
from operator import attrgetter
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any, cast

from crewgraph.errors import DefinitionError
from crewgraph.tools.base import BaseTool

__all__ = ["PythonNames", "checked_name", "file_of", "module_of", "named_python", "reference_of"]

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


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_name(name: str, what: str) -> str:
    """The name.

    Raises:
        ValueError: it is none that expressions can say.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is {what}; write letters, digits and `_`, and no digit first")
    return name


def named_python(ref: str, where: str, root: Path | None = None) -> Any:
    """What "module:name" stands for. It is imported: declarations are as trusted as programs.

    Args:
        ref: the name; behind the colon there may be dots, as in "shop:Desk.answer".
        where: where it stands, for messages.
        root: a folder whose modules may be named, too; they come first.

    Raises:
        DefinitionError: it is no such name, or leads nowhere.
    """
    module, colon, name = ref.partition(":")
    if not (module and colon and name):
        raise DefinitionError(f'{where}: {ref!r} is no name of the form "module:name"')
    try:
        return attrgetter(name)(module_of(module, root))
    except (ImportError, AttributeError) as error:
        raise DefinitionError(f"{where}: {ref!r} leads nowhere: {error}") from error


def reference_of(value: Any) -> str | None:
    """The "module:name" of a class or function; None where it has none that leads to it."""
    name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    return f"{module}:{name}" if isinstance(name, str) and isinstance(module, str) and "<" not in name else None


class PythonNames:
    """What names in a project's files stand for; nothing outside of its folder is imported but a tool's own package."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def attribute(self, name: str, where: str) -> Any:
        """What "module.attribute" names, in a module of the project.

        Raises:
            DefinitionError: there is no such module in the project, or it has no such attribute.
        """
        module, _, attribute = name.rpartition(".")
        if not module or not all(map(_NAME.fullmatch, name.split("."))):
            raise DefinitionError(f"{where}: {name!r} is no name of the form `module.attribute`")
        loaded = self._module(module, where)
        try:
            return getattr(loaded, attribute)
        except AttributeError:
            raise DefinitionError(f"{where}: the module `{module}` has no `{attribute}`") from None

    def tool(self, name: str, where: str) -> Any:
        """The tool that a name stands for: "custom:depth" in tools/depth.py, "module:Class", or a class of crewai_tools.

        Raises:
            DefinitionError: there is no such tool.
        """
        module, _, last = name.rpartition(":")
        if module == "custom":
            return self._own_tool(last, where)
        package = module or "crewai_tools"
        try:
            own = file_of(package, self._root) is not None
            made = getattr(self._module(package, where) if own else importlib.import_module(package), last)
        except (ImportError, AttributeError) as error:
            raise DefinitionError(
                f"{where}: the tool {name!r} is looked for in the module `{package}`, but {error}. Write 'module:Class' for a "
                "tool of another package, or 'custom:name' for the tool in tools/structured.py beside the file."
            ) from error
        return made() if inspect.isclass(made) else made

    def _own_tool(self, name: str, where: str) -> Any:
        if not _NAME.fullmatch(name):
            raise DefinitionError(
                f"{where}: 'custom:{name}': what stands behind the colon is the name of a file in tools/"
            )
        path = self._root / "tools" / f"{name}.py"
        if not path.is_file():
            raise DefinitionError(f"{where}: there is no file {path} for the tool 'custom:{name}'")
        module = self._module(f"tools.{name}", where)
        for found in vars(module).values():
            if inspect.isclass(found) and issubclass(found, BaseTool) and found.__module__ == module.__name__:
                return cast(Any, found)()
            if isinstance(found, BaseTool):
                return found
        raise DefinitionError(
            f"{where}: {path} holds no tool: neither a subclass of `BaseTool` nor a function under `@tool`"
        )

    def _module(self, name: str, where: str) -> ModuleType:
        path = file_of(name, self._root)
        if path is None or not path.resolve().is_relative_to(self._root):
            raise DefinitionError(f"{where}: there is no module `{name}` in {self._root}")
        return module_of(name, self._root)
