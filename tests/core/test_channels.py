"""The channel of a graph's result."""

from typing import Any

import pytest
from langgraph._internal._typing import MISSING

from crewgraph.core.channels import ResultChannel


@pytest.mark.parametrize(
    "value",
    [
        None, True, 1, 0.5, "", "text", "a\0b", float("inf"), [1], {}, {"a": 1}, {"$boxed": "a"},
        {"$boxed": {"$boxed": "a\0b"}},
    ],
    ids=repr,
)  # fmt: skip
def test_a_value_is_the_same_after_a_checkpoint(value: Any):
    channel = ResultChannel(Any)
    assert channel.from_checkpoint(channel.checkpoint()).checkpoint() is MISSING
    channel.update([value])
    assert channel.from_checkpoint(channel.checkpoint()).get() == value
    assert channel.copy().get() == value


def test_only_what_json_in_a_database_may_not_hold_is_put_in_a_box():
    channel = ResultChannel(Any)
    for value, is_boxed in [("text", False), (0.5, False), ({"a": "\0"}, False), ("a\0b", True), (float("-inf"), True)]:
        channel.update([value])
        assert channel.checkpoint() == ({"$boxed": value} if is_boxed else value)
