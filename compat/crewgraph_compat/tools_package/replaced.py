"""Modules of crewai_tools that are crewgraph's here."""

import importlib
from importlib.abc import Loader
from types import ModuleType

__all__ = ["REPLACED", "ReplacedLoader"]

REPLACED = {
    # Where the base of tools stood long ago.
    "crewai_tools.tools.base_tool": "crewgraph.tools.base",
    # Without Docker, the original falls back on running what a model wrote on this machine.
    "crewai_tools.tools.code_interpreter_tool.code_interpreter_tool": "crewgraph_compat.stand_ins.tools.code_interpreter",
}
"""A module to the one that stands in its place."""


class ReplacedLoader(Loader):
    """Fills a module with the names of another."""

    def exec_module(self, module: ModuleType) -> None:
        ours = importlib.import_module(REPLACED[module.__name__])
        names: list[str] = ours.__all__
        module.__dict__.update({name: getattr(ours, name) for name in names}, __all__=list(names))
