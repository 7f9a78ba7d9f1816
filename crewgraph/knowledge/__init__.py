"""Knowledge of agents: sources of texts, and semantic search in them."""

# The names are in `__init__.pyi`, for type checkers and for this file.
# pyright: reportUnsupportedDunderAll=false

from crewgraph.lazy import lazy_exports, stub_names

_MODULES = stub_names(__name__)

__all__ = sorted(_MODULES)

# Agents and crews are declared without any of these.
__getattr__ = lazy_exports(__name__, _MODULES)
