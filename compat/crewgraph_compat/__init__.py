"""`from crewai import ...` means crewgraph, on demand.

    import crewgraph_compat

    crewgraph_compat.install()          # before anything imports crewai
    from crewai import Agent            # crewgraph.Agent

Nothing of this is active until `install()`. Unmodified programs run with `crewgraph run script.py`, notebooks with
`%load_ext crewgraph` in their first cell, test suites with `pytest --crewgraph`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crewgraph_compat.notebook import load_ipython_extension, unload_ipython_extension
    from crewgraph_compat.surface.installation import CrewaiImported, install, installed, is_installed, uninstall

__all__ = [
    "CrewaiImported",
    "install",
    "installed",
    "is_installed",
    "load_ipython_extension",
    "uninstall",
    "unload_ipython_extension",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # pytest imports this package at every start for its plugin, so importing it must not import crewgraph.
        if name not in __all__:
            raise AttributeError(f"module `crewgraph_compat` has no attribute `{name}`")
        module = "notebook" if name.endswith("_ipython_extension") else "surface.installation"
        return getattr(import_module(f"crewgraph_compat.{module}"), name)
