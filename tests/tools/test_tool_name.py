import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewgraph.text import model_name
from crewgraph.tools.structured import find_tool


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("search", "search"),
        ("Search the web!", "search_the_web"),
        ("MySearchTool", "my_search_tool"),
        ("HTTPServer", "http_server"),
        ("Read a file's content", "read_a_files_content"),
        ("Foo\u2019s \u201cbar\u201d", "foos_bar"),
        ("Résumé-reader", "resume_reader"),
        ("a.b/c", "a_b_c"),
        ("__init__", "init"),
        ("Tool (v2)", "tool_v2"),
    ],
)
def test_a_title_becomes_a_name_that_every_provider_takes(title: str, name: str):
    assert model_name(title) == name


def test_titles_that_lose_letters_stay_different():
    assert model_name("搜索") != model_name("查找")
    assert re.fullmatch(r"tool_[0-9a-f]{8}", model_name("搜索"))
    assert model_name("x" * 80) != model_name("x" * 81)
    assert len(model_name("x" * 80)) == 64


@given(st.text())
def test_every_name_is_valid(title: str):
    name = model_name(title)
    assert re.fullmatch(r"[a-z0-9_]{1,64}", name)
    assert model_name(name) == name


def test_a_tool_is_found_by_what_a_model_writes():
    tools = {"Search_the_web": 1, "read-file": 2}
    for written in ["Search_the_web", "Search the web", "search the web", "`Search_the_web`", '"searchTheWeb" ']:
        assert find_tool(written, tools) == 1
    assert find_tool("Read File", tools) == 2
    assert find_tool("write", tools) is None
    assert find_tool("readfile", {"read_file": 1, "read-file": 2}) is None
