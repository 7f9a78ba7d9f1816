"""Unparsable tool arguments, rewritten by `function_calling_llm`."""

from typing import Any

import pytest
from compiler.body_runner import BodyRun, agent, run_task, task

from crewgraph import ScriptedLLM


def count(folder: str, depth: int) -> str:
    """Count the files in a folder."""
    return f"7 in {folder}, {depth} deep"


RIGHT = '{"folder": "/a", "depth": 2}'


def reader(*script: Any, **more: Any) -> ScriptedLLM:
    return ScriptedLLM(list(script), model="reader", **more)


def counting(given: str, special: ScriptedLLM | None, **crews: Any) -> BodyRun:
    script = f"Thought: count\nAction: count\nAction Input: {given}", "Final Answer: done"
    return run_task(task(agent(*script, tools=[count], function_calling_llm=special)), **crews)


@pytest.mark.parametrize(
    "given", ["folder /a, two levels", '{"folder": "/a"}', '{"dir": "/a", "depth": 2}', "", '{"folder']
)
def test_unparsable_arguments_are_rewritten_by_function_calling_llm(given: str):
    special = reader(RIGHT)
    run = counting(given, special)
    assert run.messages()[-1] == ("user", "Observation: 7 in /a, 2 deep")
    (request,) = special.requests
    assert given in request.text
    assert "Count the files in a folder." in request.text
    assert run.effects == ["scope", "model", "model", "tools", "model"]


def test_valid_arguments_cause_no_request():
    special = reader()
    assert counting(RIGHT, special).messages()[-1][1] == "Observation: 7 in /a, 2 deep"
    assert special.requests == []


@pytest.mark.parametrize("answer", ["I cannot say.", '{"folder": "/a"}', "[]", "", ConnectionError("no line")])
def test_if_it_fails_too_the_agent_gets_the_error(answer: Any):
    special = reader(answer)
    run = counting('{"folder": "/a"}', special)
    assert "`count` was not used: the argument `depth` is missing" in run.messages()[-1][1]
    assert len(special.requests) == 1


def test_agents_without_one_use_the_crews_function_calling_llm():
    special = reader(RIGHT)
    assert counting("?", None, function_calling_llm=special).messages()[-1][1] == "Observation: 7 in /a, 2 deep"


@pytest.mark.parametrize("place", ["agent", "crew"])
def test_a_model_that_nobody_asks_needs_no_key(place: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    special: Any = "anthropic/claude-sonnet-4-5"
    run = counting(RIGHT, special) if place == "agent" else counting(RIGHT, None, function_calling_llm=special)
    assert run.messages()[-1][1] == "Observation: 7 in /a, 2 deep"
