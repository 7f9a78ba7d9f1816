"""Python that the JSON files of a project name: modules and tools in the project's own folder."""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from crewgraph.definitions.declared.modules import file_of, module_of
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
