"""CrewAI's A2UI 0.8 extensions and messages."""

import asyncio
from typing import Any

import pytest
from crewgraph_compat.stand_ins.a2ui.extensions import (
    A2UI_EXTENSION_URI,
    A2UIClientExtension,
    A2UIServerExtension,
    ExtensionContext,
)
from crewgraph_compat.stand_ins.a2ui.messages import A2UIValidationError, validate_a2ui_event, validate_a2ui_message

from crewgraph.contrib.a2a import A2AClientConfig

BEGIN = {"beginRendering": {"surfaceId": "s", "root": "r"}}


def update(component: dict[str, Any]) -> dict[str, Any]:
    return {"surfaceUpdate": {"surfaceId": "s", "components": [{"id": "a", "component": component}]}}


def test_a_message_is_of_exactly_one_kind():
    read = validate_a2ui_message(BEGIN)
    assert read.begin_rendering is not None and read.begin_rendering.surface_id == "s"
    for wrong in ({}, {**BEGIN, "deleteSurface": {"surfaceId": "s"}}, {"x": 1}):
        with pytest.raises(A2UIValidationError) as caught:
            validate_a2ui_message(wrong)
        assert len(caught.value.errors) == 1


def test_components_are_not_held_to_a_catalog():
    assert validate_a2ui_message(update({"Text": {}})).surface_update is not None
    with pytest.raises(NotImplementedError, match="validate_catalog"):
        validate_a2ui_message(update({"Text": {}}), validate_catalog=True)


def test_events_are_read():
    action: dict[str, Any] = {"name": "n", "surfaceId": "s", "sourceComponentId": "b", "timestamp": "t", "context": {}}
    read = validate_a2ui_event({"userAction": action})
    assert read.user_action is not None and read.user_action.source_component_id == "b"
    with pytest.raises(A2UIValidationError):
        validate_a2ui_event({"userAction": {"name": "n"}})


def test_a_client_shows_surfaces():
    extension = A2UIClientExtension()
    assert A2AClientConfig(endpoint="http://x", client_extensions=[extension]).client_extensions == [extension]
    said = {"role": "agent", "parts": [{"kind": "data", "data": BEGIN}]}
    state = extension.extract_state_from_history([said])
    assert state is not None and state.is_ready() and extension.extract_state_from_history([]) is None
    assert extension.process_response("plain", None) == "plain"
    answer = extension.process_response('see {"beginRendering": {"surfaceId": "s", "root": "r"}} there', None)
    assert answer.a2ui_messages == [BEGIN]


def test_a_server_shows_surfaces_to_those_who_ask():
    extension, text = A2UIServerExtension(), '{"deleteSurface": {"surfaceId": "s"}}'
    asks = ExtensionContext(metadata={}, client_extensions={A2UI_EXTENSION_URI})
    other = ExtensionContext(metadata={}, client_extensions=set())
    assert asyncio.run(extension.on_response(asks, text)).a2ui_messages == [{"deleteSurface": {"surfaceId": "s"}}]
    assert asyncio.run(extension.on_response(other, text)) == text
