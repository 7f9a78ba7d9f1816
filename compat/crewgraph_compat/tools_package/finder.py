"""The import finder of crewai_tools: the installed package, replaced modules, or an installation hint."""

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

from crewgraph_compat.surface.facade import is_named_in_an_import
from crewgraph_compat.tools_package.loader import ToolsLoader, install_hint
from crewgraph_compat.tools_package.old_names import OLD_NAMES, resolve_old_name

REPLACED = {
    # The former location of the base class.
    "crewai_tools.tools.base_tool": "crewgraph.tools.base",
    # Without Docker, the original falls back to running model-written code on this machine.
    "crewai_tools.tools.code_interpreter_tool.code_interpreter_tool": "crewgraph_compat.stand_ins.code_interpreter",
}
"""Modules, each with its replacement."""


class ReplacedLoader(Loader):
    """Fills a module with the names of another one."""

    def exec_module(self, module: ModuleType) -> None:
        ours = importlib.import_module(REPLACED[module.__name__])
        names: list[str] = ours.__all__
        module.__dict__.update({name: getattr(ours, name) for name in names}, __all__=list(names))


def missing_tools_message(path: str) -> str:
    """Return the message for a name or module of the missing package."""
    return f"`{path}` belongs to the package crewai_tools, which is not installed. {install_hint()}"


class _Missing(ModuleType):
    """A stand-in for the missing package."""

    def __getattr__(self, name: str) -> Any:
        if name in OLD_NAMES:
            return resolve_old_name(name)
        message = missing_tools_message(f"{self.__name__}.{name}")
        if is_named_in_an_import(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            raise ImportError(message, name=self.__name__)
        raise AttributeError(message, name=name, obj=self)


class MissingLoader(Loader):
    """Create the stand-in module."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Missing(spec.name, "Not installed; its old names are crewgraph's.")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__all__"] = []


TOOLS = "crewai_tools"
"""The name of the package."""


class ToolsFinder(MetaPathFinder):
    """Finds the installed crewai_tools as Python would, and loads its modules on top of crewgraph."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module; None for modules outside of crewai_tools.

        Raises:
            ModuleNotFoundError: The module is in crewai_tools, which is not installed; the message says how to install it.
        """
        if fullname.partition(".")[0] != TOOLS:
            return None
        if fullname in REPLACED:
            return importlib.util.spec_from_loader(fullname, ReplacedLoader())
        spec = self._theirs(fullname, path, target)
        if spec is None:
            return self._missing(fullname)
        if type(spec.loader) is SourceFileLoader:
            spec.loader = ToolsLoader(spec.loader.name, spec.loader.path)
        return spec

    def _theirs(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is not self and (spec := finder.find_spec(fullname, path, target)) is not None:
                return spec
        return None

    def _missing(self, fullname: str) -> ModuleSpec | None:
        if fullname == TOOLS:
            return ModuleSpec(TOOLS, MissingLoader(), is_package=True)
        package = getattr(sys.modules.get(TOOLS), "__spec__", None)
        if package is not None and isinstance(package.loader, MissingLoader):
            raise ModuleNotFoundError(missing_tools_message(fullname), name=fullname)
        return None
