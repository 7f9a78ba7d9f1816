import asyncio
import json
import logging
import uuid
import warnings
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from crewgraph_compat.stand_ins.console.terminal import (
    PRINTER,
    ColoredText,
    Logger,
    Printer,
    suppress_logging,
    suppress_warnings,
)
from crewgraph_compat.stand_ins.constants import CODING_AGENT_ENV_MARKERS, NOT_SPECIFIED, RUNTIME_CONTEXT_ENV_MARKERS
from crewgraph_compat.stand_ins.models.calls import TokenCalcHandler, TokenProcess
from crewgraph_compat.stand_ins.projects.exports import interpolate_only, process_config
from crewgraph_compat.stand_ins.storage import files
from crewgraph_compat.stand_ins.storage.files import (
    CrewTrainingHandler,
    FileHandler,
    PickleHandler,
    db_storage_path,
    get_project_directory_name,
)
from crewgraph_compat.stand_ins.storage.outputs import (
    DatabaseError,
    DatabaseOperationError,
    aggregate_raw_outputs_from_task_outputs,
    aggregate_raw_outputs_from_tasks,
)
from crewgraph_compat.stand_ins.storage.serialization import (
    CrewJSONEncoder,
    create_literals_from_strings,
    to_serializable,
    to_string,
)
from crewgraph_compat.stand_ins.tools.fields import (
    ImportedDefinition,
    InvalidRefError,
    OptionalDependencyError,
    SerializableCallable,
    callable_to_string,
    import_and_validate_definition,
    require_field,
    resolve_class_ref,
    resolve_ref,
    sanitize_tool_name,
    slugify,
    string_to_callable,
    validate_import_path,
)
from crewgraph_compat.stand_ins.tools.usage import ToolResultArtifactStore
from pydantic import BaseModel, TypeAdapter, ValidationError

from crewgraph import Agent, ScriptedLLM, Task, TaskOutput
from crewgraph.errors import StorageError


class Colour(Enum):
    RED = "red"


class Inner(BaseModel):
    a: int = 1


class Outer(BaseModel):
    x: str = "x"
    inner: Inner = Inner()


@dataclass
class Point:
    a: int = 1


class Thing:
    def __repr__(self) -> str:
        return "<Thing>"


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


@pytest.mark.parametrize(
    ("text", "made"), [("Hello World", "hello_world"), (" x  y ", "x_y"), ("A_b-c!d", "a_b_c_d"), ("", "")]
)
def test_a_text_is_made_a_name(text: str, made: str):
    assert slugify(text) == made
    assert slugify(text, "-") == made.replace("_", "-")


@pytest.mark.parametrize(
    ("text", "inputs", "filled"),
    [
        ("a {x} b", {"x": 1}, "a 1 b"),
        (None, {"x": 1}, ""),
        ("no", {}, "no"),
        ("{x.y} {x[0]} {}", {"x": 1}, "{x.y} {x[0]} {}"),
        ('{"a": {x}}', {"x": [1, {"a": None}]}, "{\"a\": [1, {'a': None}]}"),
        ("{x-y} {x_1}", {"x-y": 3, "x_1": 4}, "3 4"),
        ("{x}{x}", {"x": "{y}", "y": 2}, "{y}{y}"),
    ],
)
def test_placeholders_of_a_text_are_filled(text: str | None, inputs: dict[str, Any], filled: str):
    assert interpolate_only(text, inputs) == filled


@pytest.mark.parametrize(
    ("text", "inputs", "kind"),
    [("{x} {y}", {"x": 1}, KeyError), ("{x}", {}, ValueError), ("{x}", {"x": object()}, ValueError)],
)
def test_a_placeholder_without_a_value_that_can_be_shown_is_an_error(text: str, inputs: Any, kind: type[Exception]):
    with pytest.raises(kind):
        interpolate_only(text, inputs)


def test_raw_texts_of_outputs_are_joined():
    outputs = [TaskOutput(description="d", agent="a", raw=raw) for raw in ("one", "", "two")]
    assert aggregate_raw_outputs_from_task_outputs(outputs) == "one\n\n----------\n\n\n\n----------\n\ntwo"
    agent = Agent(role="r", goal="g", backstory="b", llm=ScriptedLLM(["tide"]))
    task = Task(description="d", expected_output="e", agent=agent)
    assert aggregate_raw_outputs_from_tasks([task]) == ""
    task.execute_sync()
    assert aggregate_raw_outputs_from_tasks([task]) == "tide"
    assert aggregate_raw_outputs_from_tasks(NOT_SPECIFIED) == ""


def test_a_literal_is_made_of_texts():
    assert create_literals_from_strings(["a", "b", "a"]) == Literal["a", "b"]
    with pytest.raises(ValueError, match="at least one"):
        create_literals_from_strings([])


class Configured(BaseModel):
    config: dict[str, Any] | None = None
    x: str | None = None
    y: dict[str, int] | None = None


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"x": "1"}, {"x": "1"}),
        ({"config": {"x": "2", "q": 1}}, {"x": "2"}),
        ({"config": {"x": "2"}, "x": "1"}, {"x": "1"}),
        ({"config": {"y": {"b": 2}}, "y": {"a": 1}}, {"y": {"a": 1}}),
        ({"config": {"y": {"b": 2}}, "y": None}, {"y": {"b": 2}}),
        ({"config": None}, {"config": None}),
        ({"config": {}}, {"config": {}}),
    ],
)
def test_a_config_fills_what_was_not_given(given: dict[str, Any], made: dict[str, Any]):
    assert process_config(given, Configured) == made


def test_markers_of_the_environment_are_those_of_crewai():
    assert [name for name, _ in CODING_AGENT_ENV_MARKERS][:3] == ["claude_code", "codex", "cline"]
    assert dict(RUNTIME_CONTEXT_ENV_MARKERS)["paas"] == ("DYNO", "WEBSITE_INSTANCE_ID")
    assert repr(NOT_SPECIFIED) == "NOT_SPECIFIED"
    assert NOT_SPECIFIED


def test_the_description_of_a_database_holds_what_it_said():
    cause = ValueError("full")
    assert DatabaseError.format_error(DatabaseError.SAVE_ERROR, cause).endswith(": full")
    assert DatabaseOperationError("m", cause).original_error is cause


# ---------------------------------------------------------------- printing and logging
@pytest.mark.parametrize(
    ("colour", "printed"),
    [(None, "hi\x1b[0m\n"), ("red", "\x1b[91mhi\x1b[0m\n"), ("bold_blue", "\x1b[1m\x1b[94mhi\x1b[0m\n")],
)
def test_texts_are_printed_in_colours(colour: Any, printed: str, capsys: pytest.CaptureFixture[str]):
    Printer.print("hi", color=colour)
    assert capsys.readouterr().out == printed


def test_pieces_have_each_their_colour(capsys: pytest.CaptureFixture[str]):
    PRINTER.print([ColoredText("a", "red"), ColoredText("b", None)], sep="|", end="!")
    assert capsys.readouterr().out == "\x1b[91ma\x1b[0mb\x1b[0m!"


def test_a_logger_prints_where_it_is_verbose(capsys: pytest.CaptureFixture[str]):
    Logger().log("info", "hello")
    assert capsys.readouterr().out == ""
    Logger(verbose=True).log("warn", "hello", color="red")
    assert capsys.readouterr().out.endswith("\x1b[93m[WARN]: \x1b[0m\x1b[91mhello\x1b[0m\n")


def test_entries_are_added_to_a_text_file(tmp_path: Path):
    handler = FileHandler(str(tmp_path / "log"))
    handler.log(task_name="t", status="started")
    handler.log(task_name="t", output="o")
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        'task_name="t", status="started"',
        'task_name="t", output="o"',
    ]


def test_entries_are_added_to_a_list_in_json(tmp_path: Path):
    handler = FileHandler(str(tmp_path / "log.json"))
    handler.log(agent="a")
    handler.log(metadata={"n": 1})
    first, second = json.loads((tmp_path / "log.json").read_text())
    assert list(first) == ["timestamp", "agent"]
    assert second["metadata"] == {"n": 1}


@pytest.mark.parametrize("path", [False, 3])
def test_a_log_file_has_a_name(path: Any):
    with pytest.raises(ValueError, match="logs.txt"):
        FileHandler(path)


def test_a_json_file_of_something_else_is_left_alone(tmp_path: Path):
    (tmp_path / "log.json").write_text('{"a": 1}')
    with pytest.raises(ValueError, match="cannot be written"):
        FileHandler(str(tmp_path / "log.json")).log(agent="a")
    assert (tmp_path / "log.json").read_text() == '{"a": 1}'


def test_loggers_and_warnings_are_silenced_for_a_while():
    logger = logging.getLogger("harbour")
    logger.setLevel(logging.DEBUG)
    with suppress_logging("harbour", "ERROR"):
        assert logger.level == logging.ERROR
    assert logger.level == logging.DEBUG
    with suppress_warnings():
        warnings.warn("not heard", UserWarning, stacklevel=1)


# ---------------------------------------------------------------- data
@pytest.mark.parametrize("name", ["lessons", "lessons.pkl", "lessons.json"])
def test_data_is_kept_as_json_whatever_the_file_is_called(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    handler = PickleHandler(name)
    assert handler.load() == {}
    handler.save({"a": {1: 2}, "at": date(2020, 1, 2)})
    assert handler.load() == {"a": {1: 2}, "at": "2020-01-02"}
    handler.initialize_file()
    assert handler.load() == {}
    assert [one.name for one in tmp_path.iterdir()] == ["lessons.json"]


def test_a_pickle_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("lessons.json").write_bytes(b"\x80\x04N.")
    with pytest.raises(StorageError, match="pickles are not opened"):
        PickleHandler("lessons.json").load()


def test_what_people_said_is_kept_by_agent_and_round(tmp_path: Path):
    handler = CrewTrainingHandler(str(tmp_path / "said.pkl"))
    handler.clear()
    for number, agent, said in [(0, "a", {"x": 1}), (1, "a", {"x": 2}), (0, "b", "z"), (0, "a", {"x": 3})]:
        handler.append(number, agent, said)
    assert handler.load() == {"a": {0: {"x": 3}, 1: {"x": 2}}, "b": {0: "z"}}
    handler.save_trained_data("a", {"s": [1]})
    assert handler.load() == {"a": {"s": [1]}, "b": {0: "z"}}
    handler.clear()
    assert handler.load() == {}


@pytest.mark.parametrize(
    ("thing", "plain"),
    [
        (None, None),
        ((1, Thing()), [1, "<Thing>"]),
        ({1}, [1]),
        ({"a": Thing(), 2: 3}, {"a": "<Thing>", "2": 3}),
        (datetime(2020, 1, 2, 3, 4), "2020-01-02T03:04:00"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Decimal("1.5"), "Decimal('1.5')"),
        (Outer(), {"x": "x", "inner": {"a": 1}}),
        (Point(), {"a": 1}),
        ([[[[[[[1]]]]]]], [[[[["[[1]]"]]]]]),
    ],
)
def test_anything_is_made_plain_data(thing: Any, plain: Any):
    assert to_serializable(thing) == plain
    assert to_string(thing) == (None if thing is None else json.dumps(plain))


def test_a_model_is_made_plain_as_its_json_unless_a_field_has_none():
    class Sale(BaseModel):
        colour: Colour = Colour.RED
        price: Decimal = Decimal("1.5")
        buyer: Any = None

    assert to_serializable([Sale()]) == [{"colour": Colour.RED.value, "price": "1.5", "buyer": None}]
    assert to_serializable(Sale(buyer=Thing())) == {
        "colour": repr(Colour.RED),
        "price": "Decimal('1.5')",
        "buyer": repr(Thing()),
    }


def test_plain_data_leaves_out_names_and_ends_at_a_depth():
    assert to_serializable({"a": 1, "b": {"a": 2}}, {"a"}) == {"b": {}}
    assert to_serializable(Outer(), {"x"}) == {"inner": {"a": 1}}
    assert to_serializable({"a": {"b": [1]}}, max_depth=1) == {"a": "{'b': [1]}"}
    round_: list[Any] = [1]
    round_.append(round_)
    assert to_serializable(round_) == [1, "<circular_ref:list>"]


@pytest.mark.parametrize(
    ("thing", "written"),
    [
        (datetime(2020, 1, 2, 3, 4), '"2020-01-02T03:04:00"'),
        (uuid.UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        (Decimal("1.5"), '"1.5"'),
        (Colour.RED, '"Colour.RED"'),
        (Outer(), '{"x": "x", "inner": {"a": 1}}'),
        (b"x", '"eA=="'),
    ],
)
def test_json_is_written_of_what_tasks_hold(thing: Any, written: str):
    assert json.dumps(thing, cls=CrewJSONEncoder) == written


def test_json_of_anything_else_is_refused():
    with pytest.raises(TypeError):
        json.dumps(Thing(), cls=CrewJSONEncoder)


# ---------------------------------------------------------------- imports by name
def test_a_path_leads_to_what_it_names():
    assert validate_import_path("json.dumps") is json.dumps
    assert import_and_validate_definition("json.JSONEncoder") is json.JSONEncoder
    assert require_field("json", purpose="The test") is json
    assert require_field("json", purpose="The test", attr="loads") is json.loads

    class Held(BaseModel):
        made: ImportedDefinition

    assert Held(made="json.dumps").made is json.dumps


@pytest.mark.parametrize("path", ["json", "", ".x", "x.", "nowhere_at_all.x", "json.nope"])
def test_a_path_that_leads_nowhere_is_reported(path: str):
    with pytest.raises(ValueError):
        validate_import_path(path)
    with pytest.raises(ValidationError):
        import_and_validate_definition(path)


def test_a_missing_package_is_reported_with_what_it_is_for():
    with pytest.raises(OptionalDependencyError, match="The chart needs the package `nowhere_at_all`"):
        require_field("nowhere_at_all.x", purpose="The chart")
    with pytest.raises(AttributeError):
        require_field("json", purpose="The test", attr="nope")


@pytest.mark.parametrize("ref", ["json", "json:", "nowhere_at_all:x", "json:nope", ":x", "json.dumps", ""])
def test_a_reference_that_leads_nowhere_is_reported(ref: str):
    with pytest.raises(InvalidRefError, match="`state`"):
        resolve_ref(ref, field="state")


def test_a_reference_leads_to_what_it_names():
    assert resolve_ref("json:JSONEncoder.encode", field="f") is json.JSONEncoder.encode
    assert resolve_class_ref("json:JSONEncoder", field="f", base_class=json.JSONEncoder) is json.JSONEncoder
    with pytest.raises(InvalidRefError, match="not a class"):
        resolve_class_ref("json:dumps", field="f")
    with pytest.raises(InvalidRefError, match="not a subclass of `JSONEncoder`"):
        resolve_class_ref("json:JSONDecoder", field="f", base_class=json.JSONEncoder)


def test_functions_are_reported_by_their_paths(monkeypatch: pytest.MonkeyPatch):
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
    stored: TypeAdapter[Any] = TypeAdapter(SerializableCallable)
    assert stored.validate_python(len) is len
    assert stored.dump_json(len) == b'"builtins.len"' and stored.json_schema() == {"type": "string"}


# ---------------------------------------------------------------- counts, locks and what is held
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


def test_files_are_held_for_a_while():
    run, task = uuid.uuid4(), uuid.uuid4()
    files.store_files(run, {"a": "x", "b": "y"})
    asyncio.run(files.astore_task_files(task, {"a": "z"}))
    assert files.get_files(run) == {"a": "x", "b": "y"}
    assert asyncio.run(files.aget_all_files(run, task)) == {"a": "z", "b": "y"}
    files.clear_files(run)
    assert files.get_all_files(run, task) == {"a": "z"}
    asyncio.run(files.aclear_task_files(task))
    assert files.get_all_files(run, task) is None
    files.store_files(run, {"a": "x"}, ttl=0)
    assert asyncio.run(files.aget_files(run)) is None


def test_long_results_are_kept_in_files(tmp_path: Path):
    store = ToolResultArtifactStore(tmp_path)
    stored = store.store("\n".join(f"line {number}" for number in range(30)), 99)
    assert (stored.line_count, stored.estimated_token_count, stored.preview_truncated) == (30, 99, True)
    assert stored.preview.splitlines()[-1] == "line 9"
    assert stored.file_path == stored.directory / stored.relative_path
    assert stored.file_path.read_text().endswith("line 29")
    short = store.store("tide", 1)
    assert (short.preview, short.preview_truncated) == ("tide", False)
    store.cleanup()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_what_is_kept_is_crewgraphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CREWGRAPH_STORAGE_DIR", str(tmp_path / "kept"))
    assert db_storage_path() == str(tmp_path / "kept")
    assert (tmp_path / "kept").is_dir()
    monkeypatch.setenv("CREWAI_STORAGE_DIR", "named")
    assert get_project_directory_name() == "named"
    monkeypatch.delenv("CREWAI_STORAGE_DIR")
    monkeypatch.chdir(tmp_path)
    assert get_project_directory_name() == tmp_path.name
