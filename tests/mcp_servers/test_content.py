"""What servers return, as it is recorded and as a model is shown it."""

from typing import Any

import pytest

from crewgraph.schema import from_json_schema, json_schema
from crewgraph.tools.mcp.tool import read_result
from crewgraph.tools.results import is_blocks, render_blocks


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"content": [text("a"), text("b")]}, "a\nb"),
        ({"content": []}, ""),
        ({"content": [text('{"n": 1}')], "structuredContent": {"n": 1}}, '{"n": 1}'),
        ({"content": [], "structuredContent": {"n": "é"}}, '{"n": "é"}'),
        ({"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}]}, "inside"),
        ({"content": [{"type": "resource_link", "uri": "file:///a", "name": "a"}]}, "a file:///a"),
        (
            {
                "content": [
                    {"type": "resource", "resource": {"uri": "x:b", "blob": "AAAA", "mimeType": "application/pdf"}}
                ]
            },
            "(application/pdf, 3 bytes, x:b: cannot be shown here)",
        ),
        (
            {"content": [{"type": "image", "data": "A" * 8_000_000, "mimeType": "image/png"}]},
            "(image/png, 6000000 bytes: ...",
        ),
    ],
)
def test_what_can_be_read_is_one_text(answer: dict[str, Any], result: str):
    found = read_result(answer)
    assert found == result or (result.endswith("...") and found.startswith(result[:-3]))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        {"type": "resource", "resource": {"uri": "x:b", "blob": "AAAA", "mimeType": "image/png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image", "url": "data:image/png;base64,AAAA"},
    ],
)
def test_images_are_blocks_alongside_the_text(block: dict[str, Any]):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert read_result({"content": [text("a"), block]}) == [text("a"), image]
    assert render_blocks([text("a"), image]) == ("a", [image])


def test_lists_of_data_are_no_blocks():
    assert is_blocks([text("a")])
    assert not any(map(is_blocks, ([], [1], [{"type": "ship"}], [{"text": "a"}], "text", {"type": "text"})))


def test_the_schema_of_a_server_becomes_one_that_providers_take():
    ship = {
        "title": "Ship",
        "type": "object",
        "properties": {"name": {"type": "string"}, "next": {"$ref": "#/definitions/Ship"}},
    }
    given = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"ship": {"$ref": "#/definitions/Ship"}, "_x": {"$ref": "https://h/other"}},
        "definitions": {"Ship": ship},
    }
    model = from_json_schema(given, name="Arguments")
    flat = json_schema(model)
    assert flat["properties"]["ship"]["properties"]["name"] == {"type": "string"}
    assert flat["properties"]["ship"]["properties"]["next"] == {"$ref": "#/$defs/Ship"}
    assert flat["properties"]["_x"] == {"$ref": "https://h/other"}
    assert set(flat) == {"type", "properties", "$defs"} and "title" not in flat["$defs"]["Ship"]
    assert given["definitions"] == {"Ship": ship}
