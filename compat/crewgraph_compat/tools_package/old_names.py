"""Names that crewai_tools once had, and programs still import from it."""

import importlib
import sys
from types import ModuleType
from typing import Any

from crewgraph_compat.surface.facade import is_named_in_an_import

__all__ = ["OLD", "add_old_names", "old_name"]

OLD = {
    "BaseTool": ("crewgraph.tools.base", "`from crewai.tools import BaseTool`"),
    "CodeInterpreterTool": (
        "crewgraph_compat.stand_ins.tools.code_interpreter",
        "`from crewgraph.tools.code import CodeInterpreterTool`",
    ),
    "Tool": ("crewgraph.tools.base", "`from crewai.tools.base_tool import Tool`"),
    "tool": ("crewgraph.tools.base", "`from crewai.tools import tool`"),
}
"""A name to its module here, and what to write instead."""


def old_name(name: str) -> Any:
    """What an old name means, with one warning in a process that says what to write instead."""
    module, instead = OLD[name]
    found = getattr(importlib.import_module(module), name)
    outdated = importlib.import_module("crewgraph.outdated")
    outdated.tell_outdated(f"`from crewai_tools import {name}` is of an older crewai_tools", f"write {instead}")
    return found


def add_old_names(package: ModuleType) -> None:
    """Let an installed crewai_tools have the names that it no longer has."""

    def getattr_(name: str) -> Any:
        if name in OLD:
            return old_name(name)
        told = f"The installed crewai_tools ({version}) has no `{name}`."
        if is_named_in_an_import(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            raise ImportError(told, name=package.__name__, path=package.__file__)
        raise AttributeError(told, name=name, obj=package)

    version = getattr(package, "__version__", "of an unknown version")
    if not hasattr(package, "__getattr__"):
        package.__dict__["__getattr__"] = getattr_
