from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from crewgraph.core.messages import ToolSpec
from crewgraph.tools import tool
from crewgraph.tools.adapt import as_tool
from crewgraph.tools.arguments import Refusal, read_arguments
from crewgraph.tools.structured import CrewStructuredTool


class Item(BaseModel):
    name: str
    count: int = 1


@tool
def search(query: str, limit: int = 3, tags: list[str] | None = None) -> str:
    """Search."""
    return query


@tool
def store(item: Item) -> str:
    """Store."""
    return item.name


@tool
def add(numbers: list[int], unit: str = "m") -> int:
    """Add."""
    return sum(numbers)


@tool
def store_all(items: list[Item]) -> int:
    """Store several."""
    return len(items)


class Folder(BaseModel):
    name: str
    folders: list["Folder"] = []


@tool
def file_all(folders: list[Folder]) -> int:
    """File folders, which may hold others."""
    return len(folders)


@tool
def double(number: int) -> int:
    """Double."""
    return 2 * number


@tool
def ping() -> str:
    """Ping."""
    return "pong"


class Only(BaseModel, extra="forbid"):
    a: int


def only_a(a: int) -> int:
    return a


only = CrewStructuredTool.from_function(only_a, name="only", description="Take one.", args_schema=Only)


@tool
def anything(**options: Any) -> Any:
    """Take anything."""
    return options


@pytest.mark.parametrize(
    ("source", "written", "arguments"),
    [
        (search, {"query": "x"}, {"query": "x"}),
        (search, '{"query": "x", "limit": "4"}', {"query": "x", "limit": "4"}),
        (search, "{'query': 'x', 'tags': ['a',]}", {"query": "x", "tags": ["a"]}),
        (search, '```json\n{"query": "x"}\n```', {"query": "x"}),
        (search, '"{\\"query\\": \\"x\\"}"', {"query": "x"}),
        (search, "bare words", {"query": "bare words"}),
        (search, '"quoted words"', {"query": "quoted words"}),
        (search, "[1]", {"query": "[1]"}),
        (search, "42", {"query": "42"}),
        (search, {"query": 42}, {"query": 42}),
        (search, {"query": "x", "limit": None}, {"query": "x"}),
        (search, {"query": "x", "limit": ""}, {"query": "x"}),
        (search, {"query": "x", "tags": '["a", "b"]'}, {"query": "x", "tags": ["a", "b"]}),
        (store, {"item": '{"name": "n"}'}, {"item": {"name": "n"}}),
        (double, "21", {"number": 21}),
        (ping, "", {}),
        (ping, None, {}),
        (ping, "{}", {}),
        (anything, {"a": 1}, {"a": 1}),
        (search, {"query": "x", "colour": "red"}, {"query": "x"}),
        (search, '{"query": "x", "colour": "red", "limit": 4}', {"query": "x", "limit": 4}),
        (ping, {"a": 1}, {}),
        (add, [{"numbers": [1, 2]}], {"numbers": [1, 2]}),
        (add, '[{"numbers": [1, 2], "unit": "km"}]', {"numbers": [1, 2], "unit": "km"}),
        (add, "[1, 2]", {"numbers": [1, 2]}),
        (search, [{"query": "x", "limit": 4}], {"query": "x", "limit": 4}),
        (search, '[{"query": "x"}]', {"query": "x"}),
        (double, [{"number": 21}], {"number": 21}),
        (store, [{"item": {"name": "n"}}], {"item": {"name": "n"}}),
        (store_all, [{"items": [{"name": "n"}]}], {"items": [{"name": "n"}]}),
        (store_all, [{"name": "n"}], {"items": [{"name": "n"}]}),
        (
            file_all,
            [{"name": "n", "folders": [{"name": "m"}]}],
            {"folders": [{"name": "n", "folders": [{"name": "m"}]}]},
        ),
        (ping, "[{}]", {}),
        (anything, [{"a": 1}], {"a": 1}),
    ],
)
def test_arguments_are_parsed_as_models_write_them(source: Any, written: Any, arguments: dict[str, Any]):
    assert as_tool(source).prepare(written) == arguments


def test_a_number_of_a_json_schema_is_read_and_refused_in_one_sentence():
    parameters = {"type": "object", "properties": {"x": {"type": "number"}}}
    spec: ToolSpec = {"name": "measure", "description": "Measures.", "parameters": parameters}
    for written, number in (("3", 3.0), (" 2.5 ", 2.5), (3, 3), (2.5, 2.5), (10**20, 10**20)):
        read = read_arguments(spec, parameters, {"x": written})
        assert isinstance(read, dict) and (read["x"], type(read["x"])) == (number, type(number))
    refused = read_arguments(spec, parameters, {"x": "far"})
    assert isinstance(refused, Refusal) and refused.text.startswith(
        '`measure` was not used: `x`: Input should be a valid number, unable to parse string as a number (given: "far"). '
    )


SEARCH = (
    'It takes: {\n  "query": string\n  "limit": integer  // default 3\n  "tags": [string, ...] or null  // optional\n}'
)


@pytest.mark.parametrize(
    ("source", "written", "text"),
    [
        (search, {}, f"`search` was not used: the argument `query` is missing. {SEARCH}"),
        (search, None, f"`search` was not used: the argument `query` is missing. {SEARCH}"),
        (
            search,
            {"q": "x"},
            f"`search` was not used: the argument `query` is missing; there is no argument `q`. {SEARCH}",
        ),
        (
            search,
            {"query": "x", "limit": "many"},
            "`search` was not used: `limit`: Input should be a valid integer, "
            "unable to parse string as an integer "
            f'(given: "many"). {SEARCH}',
        ),
        (
            store,
            {"item": {"count": "x"}},
            '`store` was not used: `item.name`: Field required (given: {"count": "x"}); '
            "`item.count`: Input should "
            'be a valid integer, unable to parse string as an integer (given: "x"). It takes: {\n'
            '  "item": {\n    "name": string\n    "count": integer  // default 1\n  }\n}',
        ),
        (
            store,
            "a thing",
            '`store` was not used: the arguments must be a JSON object with `item`, not "a thing". '
            "It takes: {\n"
            '  "item": {\n    "name": string\n    "count": integer  // default 1\n  }\n}',
        ),
        (ping, "now", '`ping` was not used: the arguments must be a JSON object, not "now". It takes: no arguments'),
        (
            search,
            "{query: x",
            f'`search` was not used: the arguments must be a JSON object, not "{{query: x". {SEARCH}',
        ),
        (only, {"a": 1, "b": 2}, '`only` was not used: there is no argument `b`. It takes: {\n  "a": integer\n}'),
    ],
)
def test_refusals_name_every_problem(source: Any, written: Any, text: str):
    assert as_tool(source).prepare(written) == Refusal(text)


def test_an_argument_that_a_tool_does_not_have_is_left_out_and_logged(caplog: pytest.LogCaptureFixture):
    assert as_tool(search).prepare({"query": "x", "colour": "red", "size": 3}) == {"query": "x"}
    assert caplog.messages == ["a call of `search` left out what it does not take: `colour`, `size`"]


@given(st.text() | st.dictionaries(st.text(), st.text() | st.integers() | st.none()) | st.integers() | st.none())
def test_whatever_a_model_writes_is_arguments_or_a_refusal(written: Any):
    for arguments in (search, store, double, ping, anything):
        prepared = as_tool(arguments).prepare(written)
        assert isinstance(prepared, (dict, Refusal))
