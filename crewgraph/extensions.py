"""Extension points: what lives in `crewgraph.contrib` and is loaded when a definition uses it."""

import importlib
from functools import cache
from typing import Any, Final

__all__ = ["EXTENSIONS", "extension"]

EXTENSIONS: Final[dict[str, str]] = {
    "snapshots.agent_kickoff": "crewgraph.contrib.snapshots.recording:agent_kickoff",
    "snapshots.config": "crewgraph.contrib.snapshots.config:CheckpointConfig",
    "snapshots.crew_observer": "crewgraph.contrib.snapshots.recording:CrewRecording",
    "snapshots.flow_observer": "crewgraph.contrib.snapshots.recording:FlowRecording",
    "snapshots.restore": "crewgraph.contrib.snapshots.restore:restore",
    "snapshots.restore_into": "crewgraph.contrib.snapshots.restore:restore_into",
    "snapshots.saver": "crewgraph.contrib.snapshots.recording:saver_of_runs",
}
"""Where each extension is: "module:attribute"."""


@cache
def extension(name: str) -> Any:
    """An extension, imported when it is first used.

    Args:
        name: its name in `EXTENSIONS`.
    """
    module, _, attribute = EXTENSIONS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
