"""Guardrails that a model carries out: as a text, as an object, in a list with functions, and called directly."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import HallucinationGuardrail, LLMGuardrail, ScriptedLLM, TaskOutput
from crewgraph.errors import OutputInvalid
from crewgraph.events import (
    LLMCallStartedEvent,
    LLMGuardrailCompletedEvent,
    LLMGuardrailFailedEvent,
    LLMGuardrailStartedEvent,
)
from crewgraph.llm.errors import MissingKey
from crewgraph.testing import record_events

from .parts import agent, asked, crew, task

GOOD = json.dumps({"valid": True, "feedback": None})
OUTPUT = TaskOutput(description="Tell of the sea", agent="worker", raw="The sea is calm.")


def refusal(why: str) -> str:
    return json.dumps({"valid": False, "feedback": why})


def faith(score: float, verdict: str = "FAITHFUL", reasons: str = "") -> str:
    return json.dumps({"score": score, "verdict": verdict, "reasons": reasons})


def test_a_text_is_judged_by_the_agents_model_and_a_refusal_sends_the_agent_back(mode: Mode):
    model = ScriptedLLM(["rude", refusal("too rude"), "kind", GOOD])
    one = task("letter", agent(model), guardrail="Be kind")
    with record_events() as events:
        output = mode.kickoff(crew(one, checkpointer=False)).tasks_output[0]
    assert (output.raw, one.retry_count, output.usage.successful_requests) == ("kind", 1, 4)
    assert "Be kind" in str(model.requests[1].messages[0]["content"])
    assert "rude" in asked(model)[1] and "too rude" in asked(model)[2]
    assert [type(event).__name__ for event in events if "Guardrail" in type(event).__name__] == [
        "LLMGuardrailStartedEvent",
        "LLMGuardrailCompletedEvent",
    ] * 2
    started = [event for event in events if isinstance(event, LLMGuardrailStartedEvent)]
    completed = [event for event in events if isinstance(event, LLMGuardrailCompletedEvent)]
    assert [event.guardrail for event in started] == ["Be kind", "Be kind"]
    assert [(event.success, event.error, event.result, event.retry_count) for event in completed] == [
        (False, "too rude", None, 0),
        (True, None, "kind", 1),
    ]
    assert len([event for event in events if isinstance(event, LLMCallStartedEvent)]) == 4


@pytest.mark.parametrize(
    "written",
    [
        f"Final Answer: {GOOD}",
        f"I think so.\n```json\n{GOOD}\n```\nYes.",
        "{'valid': True, 'feedback': None}",
        '{"valid": "true", "feedback": ["nothing", "at all"]}',
        f"Thought: it is fine\nFinal Answer: {GOOD}",
    ],
)
def test_a_verdict_is_read_whatever_is_around_it(written: str):
    assert LLMGuardrail("Be kind", ScriptedLLM([written]))(OUTPUT) == (True, "The sea is calm.")


def test_prose_is_asked_for_again_once(mode: Mode):
    model = ScriptedLLM(["text", "It looks fine to me.", GOOD])
    one = task("letter", agent(model), guardrail="Be kind")
    assert mode.kickoff(crew(one, checkpointer=False)).raw == "text"
    roles = [message["role"] for message in model.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    assert "it holds no JSON" in asked(model)[-1]


def test_a_judge_that_never_gives_a_verdict_fails_the_task_and_a_resume_continues_with_another(mode: Mode):
    model = ScriptedLLM(["text"])
    one = task("letter", agent(model), guardrail=LLMGuardrail("Be kind", ScriptedLLM(["fine", "really fine"])))
    made = crew(one, checkpointer=InMemorySaver())
    with record_events() as events, pytest.raises(OutputInvalid) as caught:
        mode.kickoff(made, thread_id="t")
    assert str(caught.value) == (
        "the guardrail `Be kind` got no verdict from the model `scripted`, even after a retry: it holds no JSON. Its last reply: "
        "'really fine'. Use a model that writes JSON as the judge: `LLMGuardrail(..., llm=...)`."
    )
    assert caught.value.__notes__[0] == "in task `letter` of agent `worker`"
    assert len([event for event in events if isinstance(event, LLMGuardrailFailedEvent)]) == 1
    one.guardrail = LLMGuardrail("Be kind", ScriptedLLM([GOOD], model="another"))
    assert mode.resume(made, "t").raw == "text"
    assert len(model.requests) == 1


def test_a_verdict_is_kept_and_not_asked_for_again(mode: Mode):
    judge = ScriptedLLM([GOOD])
    reported: list[str] = []

    def callback(output: TaskOutput) -> None:
        reported.append(output.raw)
        if len(reported) == 1:
            raise RuntimeError("busy")

    made = crew(
        task("letter", agent(ScriptedLLM(["text"])), guardrail=LLMGuardrail("Be kind", judge), callback=callback),
        checkpointer=InMemorySaver(),
    )
    with pytest.raises(RuntimeError, match="busy"):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "text"
    assert len(judge.requests) == 1


def test_a_missing_key_of_a_judge_is_told_before_anybody_works(mode: Mode):
    model = ScriptedLLM(["text"])
    made = crew(task("letter", agent(model), guardrail=LLMGuardrail("Be kind", "openai/gpt-4o")), checkpointer=False)
    with pytest.raises(MissingKey):
        mode.kickoff(made)
    assert model.requests == []


def test_a_guardrail_is_called_directly(mode: Mode):
    judge = LLMGuardrail("Be kind", ScriptedLLM([refusal("rude"), GOOD]))
    assert mode.run(judge, judge.acall, OUTPUT) == (False, "rude")
    assert mode.run(judge, judge.acall, OUTPUT) == (True, "The sea is calm.")


@pytest.mark.parametrize(("score", "accepted"), [(6.5, False), (7, True), ("8/10", True)])
def test_with_a_threshold_the_score_decides(score: Any, accepted: bool):
    judge = HallucinationGuardrail("The sea.", ScriptedLLM([faith(score, "hallucinated", "colour")]), threshold=7)
    reported = (
        (True, "The sea is calm.") if accepted else (False, "HALLUCINATED, 6.5 of 10, at least 7 are asked for: colour")
    )
    assert judge(OUTPUT) == reported


def test_in_a_task_the_context_is_what_the_task_was_told_unless_one_is_given(mode: Mode):
    model = ScriptedLLM(["three boats", "four boats", faith(2, "HALLUCINATED", "there are three"), "three", faith(10)])
    worker = agent(model)
    look = task("look", worker)
    tell = task("tell", worker, guardrail=HallucinationGuardrail())
    assert mode.kickoff(crew(look, tell, checkpointer=False)).raw == "three"
    assert "three boats" in asked(model)[2]
    assert "there are three" in asked(model)[3]
