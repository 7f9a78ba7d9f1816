"""The names of this package, each with its module: for type checkers, and for `__init__.py`, which imports them lazily."""

from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer as SqliteCheckpointer
from crewgraph.storage.checkpoints.strict import TrustedSerializer as TrustedSerializer
from crewgraph.storage.checkpoints.values import StrictSerializer as StrictSerializer

__all__: list[str]
