import json

import pytest

from crewgraph.tools.cache import CacheHandler
from crewgraph.tools.handler import ToolCalling, ToolsHandler

calls: list[tuple[int, int]] = []


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


# ---------------------------------------------------------------- the loop


# ---------------------------------------------------------------- tools


def test_a_handler_keeps_what_it_is_told():
    handler = ToolsHandler(cache=CacheHandler())
    handler.on_tool_use(ToolCalling(tool_name="s", arguments={"a": 1}), "out")
    handler.on_tool_use(ToolCalling(tool_name="t", arguments=None), "not kept", should_cache=False)
    assert handler.cache is not None
    assert (handler.cache.read("s", json.dumps({"a": 1})), handler.cache.read("t", "")) == ("out", None)
    assert handler.last_used_tool is not None
    assert handler.last_used_tool.tool_name == "t"


# ---------------------------------------------------------------- words
