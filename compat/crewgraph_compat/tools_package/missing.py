"""What crewai_tools is where it is not installed: two old names, and a message for all others."""

import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from crewgraph_compat.surface.facade import is_named_in_an_import
from crewgraph_compat.tools_package.old_names import OLD, old_name
from crewgraph_compat.tools_package.pip_line import pip_line

__all__ = ["MissingLoader", "no_tools"]


def no_tools(path: str) -> str:
    """The message for a name or module of the package that is not installed."""
    return f"`{path}` is in the package crewai_tools, which is not installed. {pip_line()}"


class _Missing(ModuleType):
    """The package that is not installed."""

    def __getattr__(self, name: str) -> Any:
        if name in OLD:
            return old_name(name)
        told = no_tools(f"{self.__name__}.{name}")
        if is_named_in_an_import(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            raise ImportError(told, name=self.__name__)
        raise AttributeError(told, name=name, obj=self)


class MissingLoader(Loader):
    """Makes the module that stands where the package would be."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Missing(spec.name, "Not installed; its old names are crewgraph's.")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__all__"] = []
