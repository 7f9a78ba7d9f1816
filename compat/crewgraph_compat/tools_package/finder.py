"""Where Python is told what crewai_tools is."""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType

from crewgraph_compat.tools_package.loader import ToolsLoader
from crewgraph_compat.tools_package.missing import MissingLoader, no_tools
from crewgraph_compat.tools_package.replaced import REPLACED, ReplacedLoader

__all__ = ["TOOLS", "ToolsFinder"]

TOOLS = "crewai_tools"
"""The package whose modules are watched."""


class ToolsFinder(MetaPathFinder):
    """Finds the installed crewai_tools as Python would, and lets its modules be loaded on crewgraph."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module comes from; None for modules that are not crewai_tools'.

        Raises:
            ModuleNotFoundError: it is below crewai_tools, which is not installed; the message says how to install it.
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
            raise ModuleNotFoundError(no_tools(fullname), name=fullname)
        return None
