"""Python that the JSON files of a project name: modules and tools in the project's own folder."""

import importlib
import importlib.util
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from crewgraph.errors import DefinitionError
from crewgraph.tools.base import BaseTool

__all__ = ["PythonNames"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
            own = self._file(package) is not None
            made = getattr(self._module(package, where) if own else importlib.import_module(package), last)
        except (ImportError, AttributeError) as error:
            raise DefinitionError(
                f"{where}: the tool {name!r} is looked for in the module `{package}`, but {error}. Write 'module:Class' for a "
                "tool of another package, or 'custom:name' for the tool in tools/name.py beside the file."
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

    def _file(self, module: str) -> Path | None:
        path = self._root.joinpath(*module.split("."))
        return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)

    def _module(self, name: str, where: str) -> ModuleType:
        path = self._file(name)
        if path is None or not path.resolve().is_relative_to(self._root):
            raise DefinitionError(f"{where}: there is no module `{name}` in {self._root}")
        sys.path.insert(0, str(self._root))
        try:
            # The module that the program itself would import, unless another one has taken its name.
            return importlib.import_module(name) if _origin(name) == path.resolve() else _apart(name, path)
        finally:
            sys.path.remove(str(self._root))


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
