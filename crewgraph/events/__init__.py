"""Event classes by area, the bus they travel on, and the listener's base class."""

# The names are in `__init__.pyi`, for type checkers and for this file.
# pyright: reportUnsupportedDunderAll=false

from crewgraph.lazy import lazy_exports, stub_names

_MODULES = stub_names(__name__)

__all__ = sorted(_MODULES)

# A run loads the events that it emits, and those that have listeners.
__getattr__ = lazy_exports(__name__, _MODULES)
