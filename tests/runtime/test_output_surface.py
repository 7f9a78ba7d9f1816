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
from .sample_run import BONN, USED, SampleRun, Town

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

Row = Callable[[SampleRun], Any]


def _of_a_model(sample: SampleRun) -> bool:
    made = sample.one(BONN)
    made.tasks[0].output_pydantic = Town
    output = sample.mode.kickoff(made)
    with pytest.raises(KeyError):
        output["people"]
    with pytest.raises(ValueError, match="is not JSON"):
        _ = output.json
    assert (output["name"], output.to_dict(), str(output)) == ("Bonn", {"name": "Bonn"}, "name='Bonn'")
    return output.pydantic == Town(name="Bonn")


def _added(sample: SampleRun) -> bool:
    both = UsageMetrics(total_tokens=1, reasoning_tokens=2)
    both.add_usage_metrics(sample.output.token_usage)
    assert both.total_tokens == 61 and both.successful_requests == 2
    return both.delta_since(sample.output.token_usage) == UsageMetrics(total_tokens=1, reasoning_tokens=2)


def _read(sample: SampleRun) -> bool:
    reported = {"input_tokens": 3, "output_tokens": 4}
    expected = UsageMetrics(total_tokens=7, prompt_tokens=3, completion_tokens=4, successful_requests=1)
    return UsageMetrics.from_provider_dict(reported) == expected and UsageMetrics.from_provider_dict({}) is None


def _of_two_requests(name: str) -> Row:
    return lambda sample: sample.output.usage_metrics[name] == 2 * USED[name]


def _failed(sample: SampleRun) -> bool:
    output = sample.mode.kickoff(using_a_broken_tool())
    return output.has_tool_failures and [one.tool_name for one in output.tool_failures] == ["broken"]


WORKS: dict[tuple[str, str], Row] = {
    ("CrewOutput", "has_tool_failures"): _failed,
    ("CrewOutput", "tool_failures"): _failed,
    ("CrewOutput", "json_dict"): lambda sample: sample.output.json_dict == {"name": "Bonn"},
    ("CrewOutput", "pydantic"): _of_a_model,
    ("CrewOutput", "raw"): lambda sample: sample.output.raw == BONN,
    ("CrewOutput", "tasks_output"): lambda sample: (
        [one.raw for one in sample.output.tasks_output] == ["the harbour", BONN]
    ),
    ("CrewOutput", "token_usage"): lambda sample: sample.output.token_usage.successful_requests == 2,
    ("CrewOutput", "__getitem__"): lambda sample: sample.output["name"] == "Bonn",
    ("CrewOutput", "__str__"): lambda sample: (str(sample.output), str(sample.ran("x"))) == ("{'name': 'Bonn'}", "x"),
    ("CrewOutput", "json"): lambda sample: sample.output.json == BONN,
    ("CrewOutput", "model_dump"): lambda sample: (
        json.loads(json.dumps(sample.output.model_dump(mode="json")))["tasks_output"][0]["raw"] == "the harbour"
    ),
    ("CrewOutput", "to_dict"): lambda sample: (
        (sample.output.to_dict(), sample.ran("x").to_dict()) == ({"name": "Bonn"}, {})
    ),
    ("CrewOutput", "usage_metrics"): lambda sample: (
        sample.output.usage_metrics == {**_twice(), "successful_requests": 2}
    ),
    **{("UsageMetrics", name): _of_two_requests(name) for name in USED},
    ("UsageMetrics", "successful_requests"): lambda sample: sample.output.token_usage.successful_requests == 2,
    ("UsageMetrics", "add_usage_metrics"): _added,
    ("UsageMetrics", "delta_since"): _added,
    ("UsageMetrics", "from_provider_dict"): _read,
}


def _twice() -> dict[str, int]:
    return {name: 2 * tokens for name, tokens in USED.items()}


@pytest.fixture
def sample(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleRun:
    monkeypatch.chdir(tmp_path)
    return SampleRun(mode, tmp_path)


def test_every_public_name_works_or_is_listed_with_a_reason_and_none_is_both():
    assert {*WORKS} == NAMES


def test_no_field_of_1_2_1_is_left_out():
    fields = json.loads(OF_1_2_1.read_text("utf-8"))
    assert {(owner, name) for owner in ("CrewOutput", "UsageMetrics") for name in fields[owner]} <= NAMES


def test_every_name_works(sample: SampleRun):
    assert [name for name, works in WORKS.items() if not works(sample)] == []
