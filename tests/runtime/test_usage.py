"""Usage: what a run reports is what the provider reported, every attempt included."""

from typing import Any

import pytest
from modes import Mode
from pydantic import BaseModel
from servers.openai_api import OpenAIServer, calls, text

from crewgraph import Crew, ScriptedLLM, TaskOutput, UsageMetrics
from crewgraph.tools import tool

from .parts import agent, crew, served, task


def tokens(prompt: int, completion: int, cached: int = 0, reasoning: int = 0) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


class Number(BaseModel):
    n: int


def busy(url: str, **more: Any) -> Crew:
    """A tool call, a guardrail that refuses once, and a conversion that has to ask."""

    @tool
    def look(i: int) -> str:
        """Look at something."""
        return f"<{i}>"

    def long_enough(output: TaskOutput) -> tuple[bool, str]:
        return (len(output.raw) > 5, output.raw if len(output.raw) > 5 else "longer")

    worker = agent(served(url, **more), tools=[look])
    return crew(
        task("guarded", worker, guardrail=long_enough),
        task("converted", agent(worker.llm, role="converter"), output_json=Number),
    )


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_usage_is_the_sum_of_what_the_provider_reported(mode: Mode, stream: bool):
    looking = calls(("look", {"i": 1}))
    script = [
        type(looking)(message=looking.message, usage=tokens(100, 10, cached=64)),
        text("short", usage=tokens(200, 20, reasoning=8)),
        text("long enough", usage=tokens(400, 40)),
        text("it is three", usage=tokens(1000, 100)),
        text("no JSON here", usage=tokens(2000, 200)),
        text('{"n": 3}', usage=tokens(4000, 400)),
    ]
    with OpenAIServer(script) as server:
        made = busy(server.url, stream=stream)
        result = mode.kickoff(made)
        assert len(server.requests) == 6
    assert result.json_dict == {"n": 3}
    assert result.token_usage == UsageMetrics(
        total_tokens=8470,
        prompt_tokens=7700,
        cached_prompt_tokens=64,
        completion_tokens=770,
        reasoning_tokens=8,
        successful_requests=6,
    )
    assert [one.usage.total_tokens for one in result.tasks_output] == [770, 7700]
    assert made.usage_metrics == made.token_usage == result.token_usage


def test_a_run_that_was_resumed_reports_what_all_of_its_parts_cost(mode: Mode):
    used = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
    llm = ScriptedLLM(["one", RuntimeError("down"), "two"], usage=used)
    worker = agent(llm)
    made = crew(task("first", worker), task("second", worker))
    with pytest.raises(RuntimeError, match="down"):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").token_usage == UsageMetrics(
        total_tokens=22, prompt_tokens=20, completion_tokens=2, successful_requests=2
    )


def test_usage_is_reported_by_model_by_agent_and_by_task(mode: Mode):
    spent = {"prompt_tokens": 10, "completion_tokens": 5}
    writer, reader = ScriptedLLM(["no JSON", "two"], usage=spent), ScriptedLLM(['{"n": 3}'], usage=spent)
    writer.model, reader.model = "writes", "reads"
    worker = agent(writer, role="worker {x}", function_calling_llm=reader)
    made = crew(task("one", worker, output_json=Number), task("two", agent(writer, role="other")))
    result = mode.kickoff(made, {"x": 1})
    once = UsageMetrics(total_tokens=15, prompt_tokens=10, completion_tokens=5, successful_requests=1)
    assert result.tasks_output[0].usage_by_model == {"writes": once, "reads": once}
    assert result.usage_by_model == {"writes": once + once, "reads": once}
    assert result.usage_by_agent == {"worker 1": once + once, "other": once}
    assert result.usage_by_task == {"one": once + once, "two": once}
    assert result.cost is None  # nobody told the prices
    assert mode.resume(made, str(result.thread_id)).usage_by_model == result.usage_by_model
