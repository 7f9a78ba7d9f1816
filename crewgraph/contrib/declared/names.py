"""Names in declarations and crew files: validation of identifiers, and resolution of modules, objects and tools."""

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

_PATH = RLock()
"""Held while `sys.path` is changed, so that concurrent imports do not remove each other's folders."""


def module_file(name: str, root: Path) -> Path | None:
    """Return the file in a folder that a module name refers to."""
    path = root.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def load_module(name: str, root: Path | None = None) -> ModuleType:
    """Import a module by name, from the folder if it has a file for it, else from `sys.path`.

    Args:
        name: The dotted name.
        root: The folder; imports that its modules make while loading are also resolved there.

    Raises:
        ImportError: If there is no such module, or it fails to import.
        DefinitionError: If its file is not a Python module.
    """
    if root is None or name == "__main__":
        return importlib.import_module(name)
    path = module_file(name, root)
    with _PATH:
        # The folder may contain files that are newer than the import caches.
        importlib.invalidate_caches()
        sys.path.insert(0 if path is not None else len(sys.path), str(root))
        try:
            # Share the module with the program, unless another file already has its name.
            if path is None or _module_file(name) == path.resolve():
                return importlib.import_module(name)
            return _load_separately(name, path.resolve())
        finally:
            sys.path.remove(str(root))


def _module_file(name: str) -> Path | None:
    """Return the file that importing the name would read."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None


def _load_separately(name: str, path: Path) -> ModuleType:
    """Load a module under a name that is unique to its file."""
    unique = f"{name}@{path}"
    if unique not in sys.modules:
        spec = importlib.util.spec_from_file_location(unique, path)
        if spec is None or spec.loader is None:
            raise DefinitionError(f"{path} is not a Python module")
        sys.modules[unique] = module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:  # whatever the imported module raises
            del sys.modules[unique]
            raise
    return sys.modules[unique]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"[^./\\\0]+(\.[^./\\\0]+)*")
"""The dotted name of a module; a path could lead out of the folder."""


def validate_name(name: str, label: str) -> str:
    """Return the name if it is valid.

    Raises:
        ValueError: If it is not an identifier that expressions can use.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not valid as {label}; use letters, digits and `_`, not starting with a digit")
    return name


def import_reference(ref: str, where: str, root: Path | None = None) -> Any:
    """Import the object that "module:name" refers to; declarations are trusted like code.

    Args:
        ref: The reference; the part after the colon may have dots, as in "shop:Desk.answer".
        where: Its place in the declaration, for error messages.
        root: A folder whose modules take precedence.

    Raises:
        DefinitionError: If it is malformed or cannot be resolved.
    """
    module, colon, name = ref.partition(":")
    if not (_MODULE.fullmatch(module) and colon and name):
        raise DefinitionError(f'{where}: {ref!r} is not of the form "module:name"')
    try:
        return attrgetter(name)(load_module(module, root))
    except (ImportError, AttributeError) as error:
        raise DefinitionError(f"{where}: {ref!r} cannot be resolved: {error}") from error


def reference_of(value: Any) -> str | None:
    """Return the "module:name" of a class or function; None if no such reference resolves to it."""
    name, module = getattr(value, "__qualname__", None), getattr(value, "__module__", None)
    return f"{module}:{name}" if isinstance(name, str) and isinstance(module, str) and "<" not in name else None


class PythonNames:
    """Resolves names in a project's files; only tools may come from outside the project's folder."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def attribute(self, name: str, where: str) -> Any:
        """Return the object that "module.attribute" refers to in a module of the project.

        Raises:
            DefinitionError: If the project has no such module, or the module no such attribute.
        """
        module, _, attribute = name.rpartition(".")
        if not module or not all(map(_NAME.fullmatch, name.split("."))):
            raise DefinitionError(f"{where}: {name!r} is not of the form `module.attribute`")
        source = self._module(module, where)
        try:
            return getattr(source, attribute)
        except AttributeError:
            raise DefinitionError(f"{where}: the module `{module}` has no `{attribute}`") from None

    def tool(self, name: str, where: str) -> Any:
        """Return the tool that a name refers to: "custom:depth" in tools/depth.py, "module:Class", or a class of crewai_tools.

        Raises:
            DefinitionError: If there is no such tool.
        """
        module, _, last = name.rpartition(":")
        if module == "custom":
            return self._custom_tool(last, where)
        package = module or "crewai_tools"
        try:
            is_local = module_file(package, self._root) is not None
            tool = getattr(self._module(package, where) if is_local else importlib.import_module(package), last)
        except (ImportError, AttributeError) as error:
            raise DefinitionError(
                f"{where}: cannot load the tool {name!r} from the module `{package}`: {error}. Write 'module:Class' for a "
                "tool of another package, or 'custom:name' for the tool in tools/name.py next to the file."
            ) from error
        return tool() if inspect.isclass(tool) else tool

    def _custom_tool(self, name: str, where: str) -> object:
        if not _NAME.fullmatch(name):
            raise DefinitionError(
                f"{where}: 'custom:{name}': the part after the colon must be the name of a file in tools/"
            )
        path = self._root / "tools" / f"{name}.py"
        if not path.is_file():
            raise DefinitionError(f"{where}: there is no file {path} for the tool 'custom:{name}'")
        module = self._module(f"tools.{name}", where)
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, BaseTool) and value.__module__ == module.__name__:
                return cast(Any, value)()
            if isinstance(value, BaseTool):
                return value
        raise DefinitionError(
            f"{where}: {path} contains no tool: neither a subclass of `BaseTool` nor a function decorated with `@tool`"
        )

    def _module(self, name: str, where: str) -> ModuleType:
        path = module_file(name, self._root)
        if path is None or not path.resolve().is_relative_to(self._root):
            raise DefinitionError(f"{where}: there is no module `{name}` in {self._root}")
        return load_module(name, self._root)
