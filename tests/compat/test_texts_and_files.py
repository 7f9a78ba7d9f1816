import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from crewgraph_compat.stand_ins.console import ColoredText, Printer
from crewgraph_compat.stand_ins.files import db_storage_path
from crewgraph_compat.stand_ins.models import TokenCalcHandler, TokenProcess
from crewgraph_compat.stand_ins.tools import SerializableCallable, sanitize_tool_name
from pydantic import BaseModel, TypeAdapter, ValidationError

from crewgraph.text import model_name


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("Search the Web", "search_the_web"),
        ("getWeather", "get_weather"),
        ("HTTPServer", "http_server"),
        ("Ünïcode Näme", "unicode_name"),
        ("parseJSON2XML", "parse_json2xml"),
        ("Search a PDF's content", "search_a_pdfs_content"),
        ("Search a DOCX\u2019s \u201cIDs\u201d", "search_a_doc_xs_i_ds"),
        ("a" * 70, "a" * 55 + "_6bd5e503"),
    ],
)
def test_a_tools_name_is_made_as_crewai_makes_it(name: str, made: str):
    assert sanitize_tool_name(name) == made
    assert model_name(name) == made  # which models see


def test_a_long_name_keeps_its_start_and_ends_in_digits():
    assert sanitize_tool_name("Search the Web for everything", 20) == "search_the_297f0f68"


class Configured(BaseModel):
    config: dict[str, Any] | None = None
    x: str | None = None
    y: dict[str, int] | None = None


@pytest.mark.parametrize(
    ("colour", "printed"),
    [(None, "hi\x1b[0m\n"), ("red", "\x1b[91mhi\x1b[0m\n"), ("bold_blue", "\x1b[1m\x1b[94mhi\x1b[0m\n")],
)
def test_texts_are_printed_in_colours(colour: Any, printed: str, capsys: pytest.CaptureFixture[str]):
    Printer.print("hi", color=colour)
    assert capsys.readouterr().out == printed


def test_pieces_have_each_their_colour(capsys: pytest.CaptureFixture[str]):
    Printer.print([ColoredText("a", "red"), ColoredText("b", None)], sep="|", end="!")
    assert capsys.readouterr().out == "\x1b[91ma\x1b[0mb\x1b[0m!"


def test_a_path_in_a_field_is_its_function_where_that_is_allowed(monkeypatch: pytest.MonkeyPatch):
    stored: TypeAdapter[Any] = TypeAdapter(SerializableCallable)
    with pytest.raises(ValidationError, match="CREWAI_DESERIALIZE_CALLBACKS=1"):
        stored.validate_python("json.dumps")
    monkeypatch.setenv("CREWAI_DESERIALIZE_CALLBACKS", "1")
    assert stored.validate_python("json.JSONEncoder.encode") is json.JSONEncoder.encode
    for wrong in ("json", "json.nope", "nowhere_at_all.x", "", 5, None):
        with pytest.raises(ValidationError):
            stored.validate_python(wrong)


def test_a_function_in_a_field_is_its_path_in_json():
    stored: TypeAdapter[Any] = TypeAdapter(SerializableCallable)
    assert stored.validate_python(len) is len
    assert stored.dump_json(len) == b'"builtins.len"' and stored.json_schema() == {"type": "string"}


def test_tokens_are_added_up():
    counts = TokenProcess()
    usage = SimpleNamespace(
        prompt_tokens=3, completion_tokens=4, prompt_tokens_details=SimpleNamespace(cached_tokens=1)
    )
    TokenCalcHandler(counts).log_success_event({}, {"usage": usage}, 0, 1)
    TokenCalcHandler(counts).log_success_event({}, {"usage": None}, 0, 1)
    TokenCalcHandler(None).log_success_event({}, {"usage": usage}, 0, 1)
    made = counts.get_summary()
    assert (made.total_tokens, made.prompt_tokens, made.cached_prompt_tokens) == (7, 3, 1)
    assert (made.completion_tokens, made.successful_requests) == (4, 1)


def test_the_folder_of_what_is_kept_is_crewgraphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path / "kept"))
    assert db_storage_path() == str(tmp_path / "kept")
    assert (tmp_path / "kept").is_dir()
