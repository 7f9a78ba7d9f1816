import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewgraph.tools.structured import find_tool, model_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("search", "search"),
        ("Search the web!", "Search_the_web"),
        ("Résumé-reader", "Resume-reader"),
        ("a.b/c", "a_b_c"),
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
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", model_name(title))


def test_a_tool_is_found_by_what_a_model_writes():
    tools = {"Search_the_web": 1, "read-file": 2}
    for written in [
        "Search_the_web",
        "Search the web",
        "search the web",
        "`Search_the_web`",
        '"searchTheWeb" ',
    ]:
        assert find_tool(written, tools) == 1
    assert find_tool("Read File", tools) == 2
    assert find_tool("write", tools) is None
    assert find_tool("readfile", {"read_file": 1, "read-file": 2}) is None
