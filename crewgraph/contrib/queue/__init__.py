"""Runs of crews and flows on many machines: a queue of jobs in the Postgres database that holds their checkpoints.

`crew.enqueue(inputs)` adds a run, `crewgraph worker` executes runs, and a `Job` reports the status of one. The engine is
procrastinate. A job only says "complete the run of this thread": what a killed worker has recorded is in the checkpoints, and
the next worker resumes there.
"""

# The names are in `__init__.pyi`, for type checkers and for this file.
# pyright: reportUnsupportedDunderAll=false

from crewgraph.extras import require
from crewgraph.lazy import lazy_exports, stub_names

_MODULES = stub_names(__name__)

__all__ = sorted(_MODULES)

_export = lazy_exports(__name__, _MODULES)


def __getattr__(name: str) -> object:
    if name in _MODULES:  # the modules need an optional package
        require("procrastinate", extra="queue", purpose=f"`{name}`")
    return _export(name)
