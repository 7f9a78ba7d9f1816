"""Load the modules of an installed crewai_tools on top of crewgraph."""

import builtins
import importlib
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any


def install_hint() -> str:
    """Return a sentence with the command that installs crewai_tools."""
    return (
        "It works with crewgraph and without crewai: `pip install --no-deps crewai-tools`, and "
        '`pip install "crewgraph[crewai-tools]"` for the packages that it needs itself.'
    )


_PLATFORM = "crewai_tools.tools.crewai_platform_tools"

_OPTIONAL = {
    "crewai_tools.adapters.crewai_rag_adapter": ("qdrant_client",),
    "crewai_tools.rag.core": ("chromadb", "litellm"),
    "crewai_tools.tools.brightdata_tool.brightdata_dataset": ("aiohttp",),
    _PLATFORM: ("crewai_core",),
    f"{_PLATFORM}.integrations_client": ("crewai_core",),
}
"""Modules, each with the packages that it imports although few or none of its tools use them."""

_AFTERWARDS = {
    "crewai_tools": "old_names:add_old_names",
    "crewai_tools.tools.rag.rag_tool": "old_names:accept_old_config",
}
"""Modules, each with the function that adapts it once it is loaded."""


class ToolsLoader(SourceFileLoader):
    """Loads a module of crewai_tools unmodified; packages that hardly any of it needs may be missing."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module.

        Raises:
            ModuleNotFoundError: A required package is missing; a note says how to install it.
        """
        name = module.__name__
        if optional := _OPTIONAL.get(name):
            # A private `__import__`: imports by other modules are unaffected.
            module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import_without(optional)}
        try:
            super().exec_module(module)
        except ModuleNotFoundError as error:
            if not _is_explained(error):
                error.add_note(install_hint())
            raise
        if afterwards := _AFTERWARDS.get(name):
            _ours(afterwards)(module)


def _import_without(optional: tuple[str, ...]) -> Callable[..., Any]:
    def import_(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        try:
            return builtins.__import__(name, globals, locals, fromlist, level)
        except ModuleNotFoundError as error:
            package = name.partition(".")[0]
            if level or package not in optional or error.name != package:
                raise
            return _ours("lacking:MissingPackage")(name if fromlist else package)

    return import_


def _ours(path: str) -> Callable[..., Any]:
    """Import what only crewai_tools needs and takes a while to import."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"{__package__}.{module}"), name)


def _is_explained(error: ModuleNotFoundError) -> bool:
    package = str(error.name).partition(".")[0]
    return package in ("crewai", "crewai_tools") or bool(getattr(error, "__notes__", ()))
