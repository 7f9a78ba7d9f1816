"""Checkpoints, and runs as streams of frames."""

from crewgraph_compat.surface.table.rows import rows

__all__ = ["MODULES"]

_CONFIG = rows("crewgraph.contrib.snapshots.config", "CheckpointConfig")
_TYPES = rows("crewgraph.contrib.snapshots.config", "CheckpointEventType")
_BASE = rows("crewgraph.contrib.snapshots.providers", "BaseProvider")
_JSON = rows("crewgraph.contrib.snapshots.providers", "JsonProvider")
_SQLITE = rows("crewgraph.contrib.snapshots.providers", "SqliteProvider")
_RECORD = rows("crewgraph.events.event_record", "EdgeType", "EventNode", "EventRecord")

MODULES: dict[str, dict[str, str]] = {
    "crewai.state": {**_CONFIG, **_TYPES, **_JSON, **_SQLITE},
    "crewai.state.checkpoint_config": {
        **_CONFIG,
        **_TYPES,
        **_JSON,
        **_SQLITE,
        **rows("crewgraph.contrib.snapshots.config", "apply_checkpoint"),
    },
    "crewai.state.event_record": _RECORD,
    "crewai.state.provider": {},
    "crewai.state.provider.core": _BASE,
    "crewai.state.provider.json_provider": {**_BASE, **_JSON},
    "crewai.state.provider.sqlite_provider": {**_BASE, **_SQLITE},
    "crewai.state.provider.utils": {**_BASE, **rows("crewgraph.contrib.snapshots.providers", "detect_provider")},
    "crewai.state.runtime": {
        **rows("crewgraph.contrib.snapshots.runtime_state", "RuntimeState"),
        **rows("crewgraph_compat.surface.version", "get_crewai_version"),
    },
}
"""The modules of this area."""
