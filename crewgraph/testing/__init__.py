"""Tools for the tests of programs that use crews and flows: models with scripts, recordings, events.

    from crewgraph.testing import ScriptedLLM, forbid_model_requests, record_events, record_models

The pytest plugin gives them as fixtures: `crewgraph_events`, `model_recording`, `forbid_model_requests`.
"""

from crewgraph.llm.scripted import ScriptedLLM, ToolUse
from crewgraph.testing.events import EventLog, record_events
from crewgraph.testing.models import (
    ModelRecording,
    ModelRequestForbidden,
    RecordingMismatch,
    forbid_model_requests,
    record_models,
)

__all__ = [
    "EventLog",
    "ModelRecording",
    "ModelRequestForbidden",
    "RecordingMismatch",
    "ScriptedLLM",
    "ToolUse",
    "forbid_model_requests",
    "record_events",
    "record_models",
]
