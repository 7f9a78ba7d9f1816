"""LangGraph checkpointer on SQLite, and serializers that run no code from a database."""

# The names are in `__init__.pyi`, for type checkers and for this file.
# pyright: reportUnsupportedDunderAll=false

from crewgraph.lazy import lazy_exports, stub_names

_MODULES = stub_names(__name__)

__all__ = sorted(_MODULES)

# A run that keeps nothing reads checkpoints of others strictly, but needs no SQLite.
__getattr__ = lazy_exports(__name__, _MODULES)
