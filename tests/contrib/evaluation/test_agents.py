import asyncio
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from modes import Mode

from contrib.evaluation.parts import Fixed, Judge, clerk, crew_of, named
from crewgraph import Agent, ScriptedLLM, Task, ToolUse
from crewgraph.contrib.evaluation import (
    AgentEvaluationResult,
    AgentEvaluator,
    AggregationStrategy,
    EvaluationScore,
    EvaluationTraceCallback,
    GoalAlignmentEvaluator,
    MetricCategory,
    create_default_evaluator,
    create_evaluation_callbacks,
)
from crewgraph.contrib.evaluation.results import aggregate_results
from crewgraph.events import (
    AgentEvaluationCompletedEvent,
    AgentEvaluationFailedEvent,
    AgentEvaluationStartedEvent,
)
from crewgraph.storage.checkpoints import SqliteCheckpointer
from crewgraph.testing import record_events
from crewgraph.tools.base import tool

GOAL, QUALITY, SELECTION = (
    MetricCategory.GOAL_ALIGNMENT,
    MetricCategory.SEMANTIC_QUALITY,
    MetricCategory.TOOL_SELECTION,
)


def scores(evaluator: AgentEvaluator, role: str = "Clerk") -> list[dict[str, float | None]]:
    results = evaluator.get_evaluation_results().get(role, [])
    return [{category.value: mark.score for category, mark in result.metrics.items()} for result in results]


def test_an_agent_of_a_crew_is_judged_by_what_it_did(mode: Mode):
    agent, judge = clerk(ToolUse("broken", {"term": "6"}), ToolUse("calculator", {"term": "6*7"}), "It is 42."), Judge()
    evaluator = create_default_evaluator([agent], llm=judge)
    output = mode.kickoff(crew_of(agent), {"term": "6*7"})
    assert scores(evaluator) == [{category.value: 8.0 for category in MetricCategory}]
    assert evaluator.get_evaluation_results()["Clerk"][0].complexity == 5
    assert output.token_usage.successful_requests == 3  # judging is not the crew's
    goal, quality, selection, arguments, calls, way = judge.asked
    assert all("How much is 6*7?" in one and "It is 42." in one for one in judge.asked)
    assert "broken" not in goal + quality
    assert "- calculator: Work out a term." in selection and "- broken [failed: usage_error]" in selection
    assert '- calculator({"term": "6*7"})' in arguments
    assert "-> 42" in calls and "1 of 2 calls failed (50 %)" in calls
    assert "3 requests to its model" in way and "Action: calculator" in way


def test_an_agent_that_is_kicked_off_alone_is_judged_by_what_it_was_asked(mode: Mode):
    agent, judge = clerk(), Judge()
    evaluator = AgentEvaluator([agent], [GoalAlignmentEvaluator(llm=judge)])
    mode.run(agent.kickoff, agent.akickoff, "How much is 6*7?")
    (result,) = evaluator.get_evaluation_results()["Clerk"]
    assert (result.task_id, result.metrics[GOAL].score, result.metrics[GOAL].feedback) == (
        "lite_task",
        8.0,
        "Complete.",
    )
    assert "How much is 6*7?" in judge.asked[0] and "It is 42." in judge.asked[0]


def test_what_has_no_use_of_tools_is_not_asked_for():
    agent, bare, judge = clerk("42"), clerk("42", role="Bare", tools=[]), Judge()
    evaluator = create_default_evaluator([agent, bare], llm=judge)
    crew_of(agent, bare).kickoff({"term": "6*7"})
    assert len(judge.asked) == 4
    (result,), (other,) = evaluator.get_evaluation_results().values()
    assert [mark.score for mark in result.metrics.values()] == [8, 8, None, None, None, None]
    assert result.metrics[SELECTION].feedback == "The agent has tools and used none."
    assert other.metrics[SELECTION].feedback == "The agent has no tools."


def test_without_a_model_of_its_own_a_metric_asks_that_of_the_agent():
    agent = clerk("It is 42.", '{"score": 6.5}')
    evaluator = AgentEvaluator([agent], [GoalAlignmentEvaluator()])
    crew_of(agent).kickoff({"term": "6*7"})
    assert scores(evaluator) == [{"goal_alignment": 6.5}]


def test_a_side_that_cannot_be_judged_is_reported_and_the_others_are_judged(
    mode: Mode, caplog: pytest.LogCaptureFixture
):
    agent = clerk("42")
    with record_events() as events:
        evaluator = AgentEvaluator([agent], [Fixed(ValueError("no light")), Fixed(7, of=QUALITY)])
        crew = crew_of(agent)
        mode.kickoff(crew, {"term": "6*7"})
    assert scores(evaluator) == [{"semantic_quality": 7.0}]
    emitted = [event for event in events if event.type.startswith("agent_evaluation")]
    who = (str(agent.id), "Clerk", str(crew.tasks[0].id), 1)
    assert {(one.agent_id, one.agent_role, one.task_id, getattr(one, "iteration", 0)) for one in emitted} == {who}
    began, failed, _, done = emitted
    assert isinstance(began, AgentEvaluationStartedEvent)
    assert isinstance(failed, AgentEvaluationFailedEvent) and failed.error == "no light"
    assert isinstance(done, AgentEvaluationCompletedEvent)
    assert (done.metric_category, done.score.score, failed.started_event_id) == (QUALITY, 7.0, began.event_id)
    assert "Goal Alignment of agent `Clerk` could not be evaluated: no light" in caplog.text


def test_only_the_agents_that_were_given_are_judged():
    agent, other = clerk("42"), clerk("43", role="Other")
    evaluator = AgentEvaluator([other], [Fixed(5)])
    crew_of(agent, other).kickoff({"term": "6*7"})
    assert list(evaluator.get_evaluation_results()) == ["Other"]


def test_the_trace_holds_what_was_asked_answered_and_called():
    agent, fixed = clerk(), Fixed(5)
    evaluator = AgentEvaluator([agent], [fixed])
    crew = crew_of(agent)
    crew.kickoff({"term": "6*7"})
    evaluator.finish()
    ((trace, output, task),) = fixed.given
    assert named(trace["tool_uses"]) == [("calculator", {"term": "6*7"}, True)]
    assert [call["response"] for call in trace["llm_calls"]][1] == "It is 42."
    assert [len(call["messages"]) for call in trace["llm_calls"]] == [2, 4]
    assert all(call["total_tokens"] > 0 and call["start_time"] <= call["end_time"] for call in trace["llm_calls"])
    assert trace["start_time"] <= trace["end_time"] and trace["final_output"] == "It is 42."
    assert (output.raw, task) == ("It is 42.", crew.tasks[0])
    latest_trace = create_evaluation_callbacks().get_trace(agent.id, crew.tasks[0].id)
    assert latest_trace is not None and latest_trace["tool_uses"] == trace["tool_uses"]


def test_parallel_runs_keep_their_traces_apart():
    @tool
    async def slow(term: str) -> str:
        """Work out a term, slowly."""
        await asyncio.sleep(0.02)
        return term

    def answered(messages: Any) -> Any:
        term = str(messages[1]["content"]).split("How much is ")[1].partition("?")[0]
        return f"It is {term}." if len(messages) > 2 else ToolUse("slow", {"term": term})

    agent, fixed = Agent(role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(answered), tools=[slow]), Fixed(5)
    evaluator = AgentEvaluator([agent], [fixed])
    asyncio.run(crew_of(agent).akickoff_for_each([{"term": "1"}, {"term": "2"}]))
    evaluator.finish()
    results = sorted(
        (output.raw, trace["llm_calls"][1]["response"], named(trace["tool_uses"])) for trace, output, _ in fixed.given
    )
    assert results == [(f"It is {n}.", f"It is {n}.", [("slow", {"term": n}, True)]) for n in "12"]


def test_what_happens_can_be_written_down_by_hand():
    agent, callback = clerk(), EvaluationTraceCallback()
    task = Task(description="Add.", expected_output="A number", agent=agent)
    assert callback is create_evaluation_callbacks()
    callback.on_agent_start(agent, task)
    callback.on_llm_call_start("What?")
    callback.on_llm_call_end("What?", "42")
    callback.on_tool_use("calculator", "{", "bad", success=False, error_type="validation_error")
    callback.on_agent_finish(agent, task, "42")
    callback.on_tool_use("calculator", {}, "too late")
    trace = callback.get_trace(str(agent.id), str(task.id))
    assert trace is not None
    assert [(call["messages"], call["response"]) for call in trace["llm_calls"]] == [("What?", "42")]
    assert [(use["result"], use["error_type"]) for use in trace["tool_uses"]] == [("bad", "validation_error")]
    assert (trace["final_output"], callback.current_agent_id) == ("42", None)


def test_results_are_kept_by_rounds(capsys: pytest.CaptureFixture[str]):
    agent = clerk("42")
    evaluator, crew = AgentEvaluator([agent], [Fixed(6, 9)]), crew_of(agent)
    for number in (1, 2):
        evaluator.set_iteration(number)
        crew.kickoff({"term": "6*7"})
    assert scores(evaluator) == [{"goal_alignment": 9.0}]
    together = evaluator.get_agent_evaluation()["Clerk"]
    assert (together.task_count, together.overall_score, together.task_results) == (1, 9.0, [str(crew.tasks[0].id)])
    shown = capsys.readouterr().out
    assert [cell.strip() for cell in _line(shown, "- Goal Alignment").split("│")[1:-1]][1:] == ["6.0", "9.0", "7.5"]
    assert "Clerk, round 2" in shown and "It is worth 9." in shown
    evaluator.reset_iterations_results()
    assert evaluator.get_evaluation_results() == {}
    evaluator.display_results_with_iterations()
    assert "There are no results yet." in capsys.readouterr().out


def _line(text: str, part: str) -> str:
    return next(line for line in text.splitlines() if part in line)


@pytest.mark.parametrize(
    ("strategy", "score"),
    [("simple_average", 5.0), ("weighted_by_complexity", 6.5), ("best_performance", 8.0), ("worst_performance", 2.0)],
)
def test_marks_of_several_tasks_become_one(strategy: str, score: float):
    def result(mark: float | None, steps: int) -> AgentEvaluationResult:
        metrics = {GOAL: EvaluationScore(score=mark, feedback=f"{mark}")}
        return AgentEvaluationResult(agent_id="1", task_id="t", metrics=metrics, complexity=steps)

    results = [result(2, 1), result(8, 3), result(None, 9)]
    found = aggregate_results("1", "Clerk", results, AggregationStrategy(strategy))
    assert (found.metrics[GOAL].score, found.overall_score, found.task_count) == (score, score, 3)
    assert found.metrics[GOAL].feedback == "Feedback 1: 2\n\nFeedback 2: 8\n\nFeedback 3: None"
    assert aggregate_results("1", "Clerk", []).overall_score is None


def test_who_is_closed_or_no_longer_held_judges_no_more():
    agent, fixed, other = clerk("42"), Fixed(5), Fixed(5)
    crew = crew_of(agent)
    with AgentEvaluator([agent], [fixed]) as evaluator:
        crew.kickoff({"term": "6*7"})
    dropped = AgentEvaluator([agent], [other])
    gone = weakref.ref(dropped)
    del dropped
    gc.collect()
    assert gone() is None
    crew.kickoff({"term": "6*7"})
    assert (len(fixed.given), len(other.given), len(scores(evaluator))) == (1, 0, 1)


def test_in_a_running_loop_results_are_waited_for_when_they_are_asked_for():
    async def judged() -> int:
        agent = clerk("42")
        evaluator = AgentEvaluator([agent], [Fixed(5)])
        crew_of(agent).kickoff({"term": "6*7"})
        return len(scores(evaluator))

    assert asyncio.run(judged()) == 1


def test_a_run_that_continues_after_a_failure_is_judged_by_all_that_was_done(mode: Mode, tmp_path: Path):
    script = (
        ToolUse("calculator", {"term": "6*7"}),
        ToolUse("broken", {"term": "6"}),
        RuntimeError("down"),
        "It is 42.",
    )
    agent, fixed = clerk(*script, max_retry_limit=0), Fixed(5)
    crew, saver = crew_of(agent), SqliteCheckpointer(tmp_path / "runs.db")
    with AgentEvaluator([agent], [fixed]) as evaluator:
        with pytest.raises(RuntimeError, match="down"):
            mode.kickoff(crew, {"term": "6*7"}, thread_id="1", checkpointer=saver)
        assert scores(evaluator) == []
        create_evaluation_callbacks().traces.clear()  # as in a new process
        mode.resume(crew, "1", checkpointer=saver)
    ((trace, output, _),) = fixed.given
    assert (output.raw, len(trace["llm_calls"])) == ("It is 42.", 3)
    assert named(trace["tool_uses"]) == [("calculator", {"term": "6*7"}, True), ("broken", {"term": "6"}, False)]
    saver.close()


@pytest.mark.parametrize("granularity", ["task", "step"])
def test_what_was_done_before_a_guardrails_refusal_is_judged_too(mode: Mode, granularity: str):
    def only_good(output: Any) -> tuple[bool, Any]:
        return output.raw == "good", output.raw

    agent, fixed = clerk(ToolUse("calculator", {"term": "6*7"}), "bad", "good"), Fixed(5)
    crew = crew_of(agent)
    crew.tasks[0].guardrail = only_good
    with AgentEvaluator([agent], [fixed]):
        for _ in range(2):  # the second run begins with nothing, its first answer is good
            mode.kickoff(crew, {"term": "6*7"}, granularity=granularity)
    results = [
        ([call["response"] for call in trace["llm_calls"]][1:], named(trace["tool_uses"])) for trace, *_ in fixed.given
    ]
    assert results == [(["bad", "good"], [("calculator", {"term": "6*7"}, True)]), ([], [])]
    assert [(trace["final_output"], "end_time" in trace) for trace, *_ in fixed.given] == [("good", True)] * 2


def test_what_was_done_before_and_after_a_persons_feedback_is_judged(mode: Mode):
    agent, fixed = (
        clerk(ToolUse("calculator", {"term": "6*7"}), "one", ToolUse("broken", {"term": "6"}), "two"),
        Fixed(5),
    )
    crew, saver = crew_of(agent), InMemorySaver()
    crew.tasks[0].human_input = True
    with AgentEvaluator([agent], [fixed]):
        mode.kickoff(crew, {"term": "6*7"}, thread_id="1", checkpointer=saver)
        for answer in ("more", ""):
            mode.resume(crew, "1", answer=answer, checkpointer=saver)
    ((trace, output, _),) = fixed.given
    assert [call["response"] for call in trace["llm_calls"]][1::2] == ["one", "two"]
    assert (output.raw, len(trace["llm_calls"])) == ("two", 4)
    assert named(trace["tool_uses"]) == [("calculator", {"term": "6*7"}, True), ("broken", {"term": "6"}, False)]


def test_judging_is_no_part_of_a_run_that_is_streamed():
    agent = clerk("42")
    evaluator = AgentEvaluator([agent], [GoalAlignmentEvaluator(llm=Judge())])
    items = [*crew_of(agent).stream({"term": "6*7"})]
    assert scores(evaluator) == [{"goal_alignment": 8.0}]
    assert [type(item).__name__ for item in items].count("ModelFinished") == 1
