"""Guardrails that a model carries out: as a text, as an object, in a list with functions, and called directly."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from compiler.body_runner import BodyRun, run_body
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from crewgraph import HallucinationGuardrail, LLMGuardrail, ScriptedLLM, Task, TaskOutput
from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.compiler.task.body import task_body
from crewgraph.core.effects import Effect, ModelCall
from crewgraph.errors import GuardrailFailed, OutputInvalid
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


# ------------------------------------------------------------------------------------------------------- in a task
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


def test_a_guardrails_own_model_judges_and_is_counted_with_the_task(mode: Mode):
    judge = ScriptedLLM([refusal("too short"), GOOD])
    model = ScriptedLLM(["a", "ab"])
    one = task("letter", agent(model), guardrail=LLMGuardrail("Two letters", judge))
    output = mode.kickoff(crew(one, checkpointer=False)).tasks_output[0]
    assert (output.raw, len(judge.requests), len(model.requests)) == ("ab", 2, 2)
    assert output.usage.successful_requests == 4


def test_texts_and_functions_stand_in_one_list_each_with_its_own_retries(mode: Mode):
    def long(output: TaskOutput) -> tuple[bool, str]:
        return len(output.raw) > 1, "too short"

    model = ScriptedLLM(["a", "ab", refusal("no"), "abc", refusal("no again"), "abcd", GOOD])
    one = task("letter", agent(model), guardrails=[long, "Be kind"], guardrail_max_retries=2)
    assert mode.kickoff(crew(one, checkpointer=False)).raw == "abcd"
    assert one.retry_count == 3


def test_the_one_that_refused_is_named_by_its_text(mode: Mode):
    def any_text(output: TaskOutput) -> tuple[bool, Any]:
        return True, output

    model = ScriptedLLM(["a", refusal("never")])
    one = task("letter", agent(model), guardrails=[any_text, "Be kind"], guardrail_max_retries=0)
    with pytest.raises(
        GuardrailFailed, match=r"Last error: never. In task `letter`, the guardrail 1 \(`Be kind`\) refused"
    ):
        mode.kickoff(crew(one, checkpointer=False))


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


def test_a_rule_as_text_is_named_as_programs_write_it(mode: Mode):
    one = task("letter", agent(ScriptedLLM(["text", "fine", "really fine"])), guardrail="Be kind")
    with pytest.raises(OutputInvalid, match=r"`LLMGuardrail\(\.\.\., llm=\.\.\.\)`"):
        mode.kickoff(crew(one, checkpointer=False))


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


def test_a_judge_that_is_down_fails_the_task_and_a_resume_continues_with_it(mode: Mode):
    judge = ScriptedLLM([ConnectionError("no line"), refusal("shorter"), GOOD])
    model = ScriptedLLM(["text", "better"])
    made = crew(task("letter", agent(model), guardrail=LLMGuardrail("Be kind", judge)), checkpointer=InMemorySaver())
    with record_events() as events, pytest.raises(ConnectionError, match="no line"):
        mode.kickoff(made, thread_id="t")
    assert [event.error for event in events if isinstance(event, LLMGuardrailFailedEvent)] == [
        "ConnectionError: no line"
    ]
    assert mode.resume(made, "t").raw == "better"
    assert (len(model.requests), len(judge.requests)) == (2, 3)


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


class Stages(BodyRun):
    def perform(self, effect: Effect) -> Any:
        if isinstance(effect, ModelCall):
            self.effects.append(effect.stage)
        return super().perform(effect)


def test_the_judges_requests_belong_to_the_guardrails_step():
    one = task("letter", agent(ScriptedLLM(["text", "prose", GOOD])), guardrail="Be kind")
    (assignment,) = bind_tasks(crew(one, checkpointer=False))
    seen = run_body(task_body(assignment, {"inputs": {}}), Stages)
    assert seen.effects == ["scope", "model", "model", "scope", "guardrail", "model", "guardrail", "model"]


def test_a_missing_key_of_a_judge_is_told_before_anybody_works(mode: Mode):
    model = ScriptedLLM(["text"])
    made = crew(task("letter", agent(model), guardrail=LLMGuardrail("Be kind", "openai/gpt-4o")), checkpointer=False)
    with pytest.raises(MissingKey):
        mode.kickoff(made)
    assert model.requests == []


def test_a_custom_call_is_called_as_a_function(mode: Mode):
    class Lenient(LLMGuardrail):
        def __call__(self, task_output: TaskOutput) -> tuple[bool, Any]:
            return True, task_output.raw.upper()

    one = task("letter", agent(ScriptedLLM(["text"])), guardrail=Lenient("Be kind"))
    assert mode.kickoff(crew(one, checkpointer=False)).raw == "TEXT"


def test_a_text_guards_a_task_that_is_executed_on_its_own(mode: Mode):
    one = task("letter", agent(ScriptedLLM(["rude", refusal("no"), "kind", GOOD])), guardrail="Be kind")
    assert mode.run(one.execute_sync, one.aexecute_sync).raw == "kind"


# -------------------------------------------------------------------------------------------------- called directly
def test_a_guardrail_is_called_directly(mode: Mode):
    judge = LLMGuardrail("Be kind", ScriptedLLM([refusal("rude"), GOOD]))
    assert mode.run(judge, judge.acall, OUTPUT) == (False, "rude")
    assert mode.run(judge, judge.acall, OUTPUT) == (True, "The sea is calm.")


def test_it_takes_any_model_and_works_inside_a_running_loop():
    async def cell() -> tuple[bool, Any]:
        return LLMGuardrail("Be kind", FakeListChatModel(responses=[GOOD]))(OUTPUT)

    assert asyncio.run(cell()) == (True, "The sea is calm.")


def test_called_inside_another_guardrail_its_verdict_is_a_part_of_the_run(mode: Mode, tmp_path: Path):
    model, fails = ScriptedLLM([GOOD]), [True]

    def both(output: TaskOutput) -> tuple[bool, Any]:
        verdict = LLMGuardrail("Be kind", model)(output)
        if fails.pop():
            fails.append(False)
            raise RuntimeError("busy")
        return verdict

    made = crew(task("letter", agent(ScriptedLLM(["text"])), guardrail=both), checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError, match="busy"):
        mode.kickoff(made, thread_id="t")
    assert mode.resume(made, "t").raw == "text"
    assert len(model.requests) == 1


# ----------------------------------------------------------------------------------------------------- faithfulness
def test_an_output_is_held_to_a_context(mode: Mode):
    model = ScriptedLLM([faith(4, "HALLUCINATED", "nobody said it was calm"), faith(10)])
    judge = HallucinationGuardrail(context="The sea is rough.", llm=model, tool_response="Waves: 3 m")
    assert mode.run(judge, judge.acall, OUTPUT) == (False, "HALLUCINATED, 4 of 10: nobody said it was calm")
    assert mode.run(judge, judge.acall, OUTPUT) == (True, "The sea is calm.")
    assert all(part in asked(model)[0] for part in ("The sea is rough.", "Waves: 3 m", "The sea is calm."))


@pytest.mark.parametrize(("score", "accepted"), [(6.5, False), (7, True), ("8/10", True)])
def test_with_a_threshold_the_score_decides(score: Any, accepted: bool):
    judge = HallucinationGuardrail("The sea.", ScriptedLLM([faith(score, "hallucinated", "colour")]), threshold=7)
    reported = (
        (True, "The sea is calm.") if accepted else (False, "HALLUCINATED, 6.5 of 10, at least 7 are asked for: colour")
    )
    assert judge(OUTPUT) == reported


def test_a_score_beyond_ten_is_asked_for_again():
    model = ScriptedLLM([faith(95), faith(9)])
    assert HallucinationGuardrail("The sea.", model)(OUTPUT)[0] is True
    assert "less than or equal to 10" in asked(model)[1]


def test_a_threshold_is_a_score():
    with pytest.raises(ValueError, match="a score from 0 to 10, not 11"):
        HallucinationGuardrail("c", threshold=11)


def test_in_a_task_the_context_is_what_the_task_was_told_unless_one_is_given(mode: Mode):
    model = ScriptedLLM(["three boats", "four boats", faith(2, "HALLUCINATED", "there are three"), "three", faith(10)])
    worker = agent(model)
    look = task("look", worker)
    tell = task("tell", worker, guardrail=HallucinationGuardrail())
    assert mode.kickoff(crew(look, tell, checkpointer=False)).raw == "three"
    assert "three boats" in asked(model)[2]
    assert "there are three" in asked(model)[3]


def test_outside_of_a_task_a_context_is_needed(mode: Mode):
    judge = HallucinationGuardrail(llm=ScriptedLLM([]))
    with pytest.raises(ValueError, match="needs `context=`"):
        mode.run(judge, judge.acall, OUTPUT)


def test_a_guardrail_tells_what_it_demands():
    assert repr(LLMGuardrail("Be kind")) == "LLMGuardrail('Be kind')"
    assert HallucinationGuardrail("c").description == "the output says nothing that its context does not back"
    assert Task(description="d", expected_output="e", guardrail=LLMGuardrail("Be kind")).all_guardrails
