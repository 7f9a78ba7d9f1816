"""Unparsable tool arguments, rewritten by `function_calling_llm`."""

from typing import Any

import pytest
from compiler.body_runner import BodyRun, agent, run_task, task

from crewgraph import ScriptedLLM, ToolUse


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


def test_its_reply_may_contain_more_than_the_arguments():
    assert counting("?", reader(f"Thought: I see\nFinal Answer: ```json\n{RIGHT}\n```")).messages()[-1] == (
        "user",
        "Observation: 7 in /a, 2 deep",
    )


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


def test_without_such_a_model_the_agent_gets_the_error_at_once():
    assert "the argument `depth` is missing" in counting('{"folder": "/a"}', None).messages()[-1][1]


def test_agents_without_one_use_the_crews_function_calling_llm():
    special = reader(RIGHT)
    assert counting("?", None, function_calling_llm=special).messages()[-1][1] == "Observation: 7 in /a, 2 deep"


def test_arguments_for_an_unknown_tool_are_not_rewritten():
    special = reader()
    worker = agent(ToolUse("cuont"), "Final Answer: x", tools=[count], function_calling_llm=special)
    assert "There is no tool `cuont`" in run_task(task(worker)).messages()[-1][1]


def test_native_calls_are_corrected_by_the_agent_itself():
    special = reader()
    worker = agent([ToolUse("count", {"folder": "/a"})], "x", native=True, tools=[count], function_calling_llm=special)
    assert "the argument `depth` is missing" in run_task(task(worker)).messages()[-1][1]
    assert special.requests == []


def test_the_step_shows_the_original_arguments_and_the_request_is_counted():
    steps: list[Any] = []
    special = reader(RIGHT, usage={"prompt_tokens": 100, "completion_tokens": 1})
    model = ScriptedLLM(["Action: count\nAction Input: ?", "Final Answer: x"], usage={})
    worker = agent("x", llm=model, tools=[count], function_calling_llm=special, step_callback=steps.append)
    run = run_task(task(worker))
    assert (steps[0].tool_input, steps[0].result) == ("?", "7 in /a, 2 deep")
    assert (run.result["usage"]["prompt_tokens"], run.result["usage"]["successful_requests"]) == (100, 3)


def test_the_step_shows_the_arguments_of_a_native_call_as_text():
    steps: list[Any] = []
    uses: list[Any] = [[ToolUse("count", {"folder": "/ä", "depth": 2})], "x"]
    run_task(task(agent(*uses, native=True, tools=[count], step_callback=steps.append)))
    assert steps[0].tool_input == '{"folder": "/ä", "depth": 2}'


@pytest.mark.parametrize("place", ["agent", "crew"])
def test_a_model_that_nobody_asks_needs_no_key(place: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    special: Any = "anthropic/claude-sonnet-4-5"
    run = counting(RIGHT, special) if place == "agent" else counting(RIGHT, None, function_calling_llm=special)
    assert run.messages()[-1][1] == "Observation: 7 in /a, 2 deep"
