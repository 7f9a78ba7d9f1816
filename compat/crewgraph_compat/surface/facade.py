"""Stand-in modules for crewai: their names are crewgraph's, looked up on first access."""

import importlib
import opcode
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from threading import RLock
from types import FrameType, ModuleType
from typing import Any

from crewgraph.deprecations import warn_deprecated
from crewgraph_compat.surface.missing import missing_name_message
from crewgraph_compat.surface.names import MODULES, names_of, own_target, target

_importing = RLock()

_FORMER_PACKAGES: dict[str, str] = {"crewai.utilities.events": "crewai.events"}
"""Packages of crewai that newer releases have renamed, each with its replacement."""


class Facade(ModuleType):
    """A module whose names are those of modules of crewgraph."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":  # for `from crewai.flow import *`
            self.__dict__[name] = names_of(self.__name__)
            return self.__dict__[name]
        path = f"{self.__name__}.{name}"
        if path in MODULES and own_target(self.__name__, name) is None:
            return self._submodule(path)
        result = target(self.__name__, name)
        if result is not None:
            module, _, attribute = result.partition(":")
            with _importing:  # concurrent imports of one package's modules may trip Python's import deadlock detection
                value = getattr(importlib.import_module(module), attribute)
            self.__dict__[name] = value
            return value
        if is_named_in_an_import(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            # Raised here because Python replaces the message of an AttributeError with its own.
            raise ImportError(missing_name_message(self.__name__, name), name=self.__name__, path=self.__file__)
        raise AttributeError(missing_name_message(self.__name__, name), name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Facade) and own_target(self.__name__, name) is not None:
            # An imported submodule is set on its package: a name of the package is not hidden by that, as in crewai,
            # whose packages bind their names after their submodules.
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        start = f"{self.__name__}."
        modules = (path.removeprefix(start) for path in MODULES if path.startswith(start))
        return sorted({*self.__dict__, *names_of(self.__name__), *(name for name in modules if "." not in name)})

    def _submodule(self, path: str) -> ModuleType:
        if sys.modules.get(self.__name__) is not self:
            raise AttributeError(
                f"`{path}` cannot be looked up: `{self.__name__}` was imported while crewgraph stood in for crewai, which it no "
                "longer does. Import the module again."
            )
        return importlib.import_module(path)


class FacadeLoader(Loader):
    """Creates the facade modules."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Facade(spec.name, f"crewgraph in place of `{spec.name}`.")

    def exec_module(self, module: ModuleType) -> None:
        for former, replacement in _FORMER_PACKAGES.items():
            if f"{module.__name__}.".startswith(f"{former}."):
                warn_deprecated(f"`{former}`", f"import from `{replacement}`")


def is_named_in_an_import(frame: FrameType) -> bool:
    """Whether the frame is executing the `name` part of a `from module import name`."""
    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and opcode.opname[code[frame.f_lasti]] == "IMPORT_FROM"
