"""Every public name of `CrewOutput` and `UsageMetrics` that programs may use: each works here, or is listed with a reason.

The names are those of CrewAI 1.2.1 and 1.15.30, and of the specification's tables.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from crewgraph import UsageMetrics

from .parts import using_a_broken_tool
from .sample_run import BONN, USED, Seen, Town

CREW_OUTPUT = """
json_dict pydantic raw tasks_output token_usage
__getitem__ __str__ has_tool_failures json model_dump to_dict tool_failures usage_metrics
"""
USAGE_METRICS = """
cache_creation_tokens cached_prompt_tokens completion_tokens prompt_tokens reasoning_tokens successful_requests total_tokens
add_usage_metrics delta_since from_provider_dict
"""
NAMES = {
    *(("CrewOutput", name) for name in CREW_OUTPUT.split()),
    *(("UsageMetrics", name) for name in USAGE_METRICS.split()),
}
OF_1_2_1 = Path(__file__).parents[1] / "definitions" / "fields.json"

Row = Callable[[Seen], Any]


def _of_a_model(seen: Seen) -> bool:
    made = seen.one(BONN)
    made.tasks[0].output_pydantic = Town
    output = seen.mode.kickoff(made)
    with pytest.raises(KeyError):
        output["people"]
    with pytest.raises(ValueError, match="is not JSON"):
        _ = output.json
    assert (output["name"], output.to_dict(), str(output)) == ("Bonn", {"name": "Bonn"}, "name='Bonn'")
    return output.pydantic == Town(name="Bonn")


def _added(seen: Seen) -> bool:
    both = UsageMetrics(total_tokens=1, reasoning_tokens=2)
    both.add_usage_metrics(seen.output.token_usage)
    assert both.total_tokens == 61 and both.successful_requests == 2
    return both.delta_since(seen.output.token_usage) == UsageMetrics(total_tokens=1, reasoning_tokens=2)


def _read(seen: Seen) -> bool:
    reported = {"input_tokens": 3, "output_tokens": 4}
    expected = UsageMetrics(total_tokens=7, prompt_tokens=3, completion_tokens=4, successful_requests=1)
    return UsageMetrics.from_provider_dict(reported) == expected and UsageMetrics.from_provider_dict({}) is None


def _of_two_requests(name: str) -> Row:
    return lambda seen: seen.output.usage_metrics[name] == 2 * USED[name]


def _failed(seen: Seen) -> bool:
    output = seen.mode.kickoff(using_a_broken_tool())
    return output.has_tool_failures and [one.tool_name for one in output.tool_failures] == ["broken"]


WORKS: dict[tuple[str, str], Row] = {
    ("CrewOutput", "has_tool_failures"): _failed,
    ("CrewOutput", "tool_failures"): _failed,
    ("CrewOutput", "json_dict"): lambda seen: seen.output.json_dict == {"name": "Bonn"},
    ("CrewOutput", "pydantic"): _of_a_model,
    ("CrewOutput", "raw"): lambda seen: seen.output.raw == BONN,
    ("CrewOutput", "tasks_output"): lambda seen: [one.raw for one in seen.output.tasks_output] == ["the harbour", BONN],
    ("CrewOutput", "token_usage"): lambda seen: seen.output.token_usage.successful_requests == 2,
    ("CrewOutput", "__getitem__"): lambda seen: seen.output["name"] == "Bonn",
    ("CrewOutput", "__str__"): lambda seen: (str(seen.output), str(seen.ran("x"))) == ("{'name': 'Bonn'}", "x"),
    ("CrewOutput", "json"): lambda seen: seen.output.json == BONN,
    ("CrewOutput", "model_dump"): lambda seen: (
        json.loads(json.dumps(seen.output.model_dump(mode="json")))["tasks_output"][0]["raw"] == "the harbour"
    ),
    ("CrewOutput", "to_dict"): lambda seen: (seen.output.to_dict(), seen.ran("x").to_dict()) == ({"name": "Bonn"}, {}),
    ("CrewOutput", "usage_metrics"): lambda seen: seen.output.usage_metrics == {**_twice(), "successful_requests": 2},
    **{("UsageMetrics", name): _of_two_requests(name) for name in USED},
    ("UsageMetrics", "successful_requests"): lambda seen: seen.output.token_usage.successful_requests == 2,
    ("UsageMetrics", "add_usage_metrics"): _added,
    ("UsageMetrics", "delta_since"): _added,
    ("UsageMetrics", "from_provider_dict"): _read,
}


def _twice() -> dict[str, int]:
    return {name: 2 * tokens for name, tokens in USED.items()}


@pytest.fixture
def seen(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    monkeypatch.chdir(tmp_path)
    return Seen(mode, tmp_path)


def test_every_public_name_works_or_is_listed_with_a_reason_and_none_is_both():
    assert {*WORKS} == NAMES


def test_no_field_of_1_2_1_is_left_out():
    fields = json.loads(OF_1_2_1.read_text("utf-8"))
    assert {(owner, name) for owner in ("CrewOutput", "UsageMetrics") for name in fields[owner]} <= NAMES


def test_every_name_works(seen: Seen):
    assert [name for name, works in WORKS.items() if not works(seen)] == []
