import json
from typing import Any

import pytest
from crewgraph_compat.stand_ins.console.terminal import Printer
from crewgraph_compat.stand_ins.tools.fields import (
    SerializableCallable,
    callable_to_string,
    sanitize_tool_name,
    string_to_callable,
)
from pydantic import TypeAdapter


# ---------------------------------------------------------------- names and texts
@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Search the Web", "search_the_web"),
        ("getWeather", "get_weather"),
        ("HTTPServer", "http_server"),
        ("a--b__c", "a_b_c"),
        ("Ünïcode Näme", "unicode_name"),
        ("日本", ""),
        ("9lives", "9lives"),
        ("aB1C2d", "a_b1c2d"),
        ("parseJSON2XML", "parse_json2xml"),
        ("tool.name/x", "tool_name_x"),
        ("_x_", "x"),
        ("'quoted' \"q\"", "quoted_q"),
        ("a" * 70, "a" * 55 + "_6bd5e503"),
        ("x" * 63 + "_y", "x" * 55 + "_f3634aba"),
    ],
)
def test_a_tools_name_is_made_as_crewai_makes_it(name: str, made: str):
    assert sanitize_tool_name(name) == made


def test_a_long_name_keeps_its_start_and_ends_in_digits():
    assert sanitize_tool_name("Search the Web for everything", 20) == "search_the_297f0f68"


# ---------------------------------------------------------------- printing and logging
@pytest.mark.parametrize(
    ("colour", "printed"),
    [(None, "hi\x1b[0m\n"), ("red", "\x1b[91mhi\x1b[0m\n"), ("bold_blue", "\x1b[1m\x1b[94mhi\x1b[0m\n")],
)
def test_texts_are_printed_in_colours(colour: Any, printed: str, capsys: pytest.CaptureFixture[str]):
    Printer.print("hi", color=colour)
    assert capsys.readouterr().out == printed


# ---------------------------------------------------------------- data


# ---------------------------------------------------------------- imports by name


def test_functions_are_told_by_their_paths(monkeypatch: pytest.MonkeyPatch):
    assert callable_to_string(len) == "builtins.len"
    assert callable_to_string(json.JSONEncoder.encode) == "json.encoder.JSONEncoder.encode"
    assert callable_to_string(lambda: 1) is None
    assert string_to_callable(len) is len
    with pytest.raises(ValueError, match="CREWAI_DESERIALIZE_CALLBACKS=1"):
        string_to_callable("json.dumps")
    monkeypatch.setenv("CREWAI_DESERIALIZE_CALLBACKS", "1")
    assert string_to_callable("json.JSONEncoder.encode") is json.JSONEncoder.encode
    for wrong in ("json", "json.nope", "nowhere_at_all.x", "", 5, None):
        with pytest.raises(ValueError):
            string_to_callable(wrong)


def test_a_function_in_a_field_is_its_path_in_json():
    kept: TypeAdapter[Any] = TypeAdapter(SerializableCallable)
    assert kept.validate_python(len) is len
    assert kept.dump_json(len) == b'"builtins.len"' and kept.json_schema() == {"type": "string"}


# ---------------------------------------------------------------- counts, locks and what is held
