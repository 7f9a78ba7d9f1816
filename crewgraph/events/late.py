"""The classes of events, imported only once somebody listens: `late.TaskStartedEvent`. A run without listeners needs none."""

from typing import Any

from crewgraph.lazy import Lazy


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    reference = globals()[name] = Lazy("crewgraph.events", name)
    return reference
