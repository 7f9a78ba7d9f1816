"""A stand-in for crewai_files if it is not installed: the classes of input files."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from crewgraph_compat.surface.facade import is_named_in_an_import
from crewgraph_compat.surface.table.rows import rows

__all__ = ["FILES", "FilesFinder", "is_stand_in"]

FILES = "crewai_files"
"""The name of the replaced package."""

_CLASSES = rows(
    "crewgraph.contrib.files.file",
    *("AudioFile", "BaseFile", "File", "FileMode", "ImageFile", "PDFFile", "TextFile", "VideoFile"),
)
_SOURCES = rows(
    "crewgraph.contrib.files.source",
    *("FileBytes", "FilePath", "FileSource", "FileSourceInput", "FileStream", "FileUrl"),
)
_ERRORS = rows(
    "crewgraph.contrib.files.source",
    *("FileProcessingError", "FileTooLargeError", "FileValidationError", "UnsupportedFileTypeError"),
)
_GIVEN = rows("crewgraph.contrib.files.file", "normalize_input_files", "wrap_file_source")

_MODULES: Mapping[str, Mapping[str, str]] = {
    FILES: {**_CLASSES, **_SOURCES, **_ERRORS, **_GIVEN},
    f"{FILES}.core": {**_CLASSES, **_SOURCES},
    f"{FILES}.core.types": _CLASSES,
    f"{FILES}.core.sources": _SOURCES,
    f"{FILES}.processing": _ERRORS,
    f"{FILES}.processing.exceptions": _ERRORS,
}


class _StandIn(ModuleType):
    """A module of the package whose names are looked up on first access."""

    def __getattr__(self, name: str) -> Any:
        result = _MODULES[self.__name__].get(name)
        if result is not None:
            module, _, attribute = result.partition(":")
            value = self.__dict__[name] = getattr(importlib.import_module(module), attribute)
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
        module.__dict__["__all__"] = sorted(_MODULES[module.__name__])


class FilesFinder(MetaPathFinder):
    """Find the installed crewai_files, or else the stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a stand-in module; None for other packages and for an installed crewai_files."""
        if fullname not in _MODULES:
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
