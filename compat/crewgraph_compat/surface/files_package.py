"""A stand-in for crewai_files if it is not installed: the classes of input files."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from crewgraph_compat.surface.facade import is_named_in_an_import
from crewgraph_compat.surface.names import exports

FILES = "crewai_files"
"""The name of the replaced package."""

_CLASSES = "crewgraph.contrib.files.file"
_SOURCES = "crewgraph.contrib.files.file"

_HOMES: Mapping[str, tuple[str, ...]] = {
    FILES: (_CLASSES, _SOURCES),
    f"{FILES}.core": (_CLASSES, _SOURCES),
    f"{FILES}.core.types": (_CLASSES,),
    f"{FILES}.core.sources": (_SOURCES,),
    f"{FILES}.processing": (_SOURCES,),
    f"{FILES}.processing.exceptions": (_SOURCES,),
}
"""A module of the package to the modules of crewgraph that have its names."""


class _StandIn(ModuleType):
    """A module of the package whose names are looked up on first access."""

    def __getattr__(self, name: str) -> Any:
        home = next((home for home in _HOMES[self.__name__] if name in exports(home)), None)
        if home is not None:
            value = self.__dict__[name] = getattr(importlib.import_module(home), name)
            return value
        message = (
            f"crewgraph has no `{self.__name__}.{name}`: files are shown to models and never uploaded. docs/files.md lists "
            "what is available; install the package itself with: pip install crewai-files"
        )
        if is_named_in_an_import(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            raise ImportError(message, name=self.__name__)
        raise AttributeError(message, name=name, obj=self)


class _Loader(Loader):
    """Create the stand-in modules."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name, f"crewgraph in place of `{spec.name}`.")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__all__"] = sorted(set[str]().union(*map(exports, _HOMES[module.__name__])))


class FilesFinder(MetaPathFinder):
    """Find the installed crewai_files, or else the stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a stand-in module; None for other packages and for an installed crewai_files."""
        if fullname not in _HOMES:
            return None
        if fullname != FILES and not is_stand_in(sys.modules.get(FILES)):
            return None
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        if fullname == FILES and any(other.find_spec(fullname, path, target) is not None for other in others):
            return None
        return ModuleSpec(fullname, _Loader(), is_package=True)


def is_stand_in(module: object) -> bool:
    """Return whether a module belongs to the stand-in."""
    return isinstance(module, _StandIn)
