"""Flows: `from crewgraph.flow import Flow, start, listen, router, and_, or_, persist`."""

# The names are in `__init__.pyi`, for type checkers and for this file.
# pyright: reportUnsupportedDunderAll=false

from crewgraph.lazy import lazy_exports, stub_names

_MODULES = stub_names(__name__)

__all__ = sorted(_MODULES)

__getattr__ = lazy_exports(__name__, _MODULES)
