import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from modes import Mode

from contrib.evaluation.parts import Judge, clerk, crew_of
from crewgraph import Agent, ScriptedLLM
from crewgraph.contrib.evaluation import (
    AgentAggregatedEvaluationResult,
    EvaluationScore,
    ExperimentResult,
    ExperimentResults,
    ExperimentRunner,
    MetricCategory,
    assert_experiment_no_regression,
    assert_experiment_successfully,
    run_experiment,
)
from crewgraph.contrib.evaluation.experiment import is_passing, mean_scores


def case(name: str, passed: bool = True) -> ExperimentResult:
    return ExperimentResult(identifier=name, inputs={"n": name}, score=7.0, expected_score=5.0, passed=passed)


def results(**passed: bool) -> ExperimentResults:
    return ExperimentResults([case(name, result) for name, result in passed.items()])


def test_a_crew_is_run_on_each_case_and_judged(mode: Mode):
    def judged(messages: Any) -> str:
        return json.dumps({"score": 9 if "How much is 1?" in str(messages[1]["content"]) else 4})

    agent = clerk("It is so.")
    cases: list[dict[str, Any]] = [
        {"identifier": "one", "inputs": {"term": "1"}, "expected_score": 8},
        {"identifier": "two", "inputs": {"term": "2"}, "expected_score": {"goal_alignment": 3, "semantic_quality": 8}},
        {"inputs": {"term": "2"}, "expected_score": {"goal_alignment": 3, "tool_selection": 1}},
    ]
    runner, judge = ExperimentRunner(cases), ScriptedLLM(judged)
    experiment = mode.run(
        lambda: runner.run(crew=crew_of(agent), llm=judge), lambda: runner.arun(crew=crew_of(agent), llm=judge)
    )
    assert [(result.identifier, result.passed) for result in experiment.results[:2]] == [("one", True), ("two", False)]
    assert experiment.results[0].score == {"goal_alignment": 9.0, "semantic_quality": 9.0}
    assert not experiment.results[2].passed and len(experiment.results[2].identifier) == 32
    assert experiment.results[1].agent_evaluations["Clerk"].overall_score == 4.0


def test_agents_are_run_by_themselves_with_the_arguments_of_their_kickoff(capsys: pytest.CaptureFixture[str]):
    agent, judge = clerk("It is 42."), Judge()
    cases = [{"inputs": {"messages": "How much is 6*7?"}, "expected_score": 7.5}]
    experiment = run_experiment(cases, agents=[agent], verbose=True, llm=judge)
    assert [result.passed for result in experiment.results] == [True]
    assert "How much is 6*7?" in judge.asked[0]
    assert "Goal Alignment" in (shown := capsys.readouterr().out) and "100.0%" in shown


def test_a_case_that_cannot_be_run_has_no_points_and_the_others_are_run(caplog: pytest.LogCaptureFixture):
    agent = clerk("It is 42.")
    cases = [
        {"identifier": name, "inputs": inputs, "expected_score": 5}
        for name, inputs in (("bad", {"x": "1"}), ("good", {"term": "1"}))
    ]
    experiment = run_experiment(cases, crew=crew_of(agent), llm=Judge())
    assert [(result.identifier, result.score, result.passed) for result in experiment.results][0] == ("bad", 0.0, False)
    assert (experiment.results[0].agent_evaluations, experiment.results[1].passed) == (None, True)
    assert "the case `bad` could not be run: MissingInput" in caplog.text


def test_a_metric_without_a_mark_is_not_passed_by_the_only_one_that_has_one():
    def judged(messages: Any) -> str:
        return '{"score": 9}' if "goal" in str(messages[0]["content"]).lower() else "I cannot say."

    cases = [
        {"inputs": {"term": "1"}, "expected_score": {metric: 9}}
        for metric in (MetricCategory.GOAL_ALIGNMENT, "semantic_quality")
    ]
    experiment = run_experiment(cases, crew=crew_of(clerk("It is 1.")), llm=ScriptedLLM(judged))
    assert [(result.score, result.passed) for result in experiment.results] == [(9.0, True), (9.0, False)]


def test_a_crew_that_streams_is_run_to_its_end(mode: Mode):
    crew = crew_of(clerk("It is 42."), stream=True)
    runner = ExperimentRunner([{"identifier": 1, "inputs": {"term": "6*7"}, "expected_score": 7}])
    experiment = mode.run(lambda: runner.run(crew=crew, llm=Judge()), lambda: runner.arun(crew=crew, llm=Judge()))
    assert [(result.identifier, result.passed) for result in experiment.results] == [("1", True)]


def test_a_case_that_waits_for_an_answer_has_not_passed(mode: Mode, caplog: pytest.LogCaptureFixture):
    crew = crew_of(clerk("It is 42."))
    crew.tasks[0].human_input = True
    runner = ExperimentRunner([{"identifier": "one", "inputs": {"term": "6*7"}, "expected_score": 7}])
    experiment = mode.run(lambda: runner.run(crew=crew, llm=Judge()), lambda: runner.arun(crew=crew, llm=Judge()))
    assert [(result.score, result.passed) for result in experiment.results] == [(0.0, False)]
    assert "the case `one` could not be run: RunError: crew `crew` waits for an answer" in caplog.text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"expected_score": {"nonsense": 5, "goal_alignment": 5}},
            "expects a score of nonsense; the metrics are goal_al",
        ),
        ({"expected_score": "high"}, "cannot be run: `expected_score`"),
        ({"inputs": "6*7"}, "cannot be run: `inputs`"),
    ],
)
def test_a_case_that_no_run_could_pass_is_reported_before_anything_is_run(wrong: dict[str, Any], message: str):
    asked: list[Any] = []
    agent = Agent(
        role="Clerk", goal="g", backstory="b", llm=ScriptedLLM(lambda messages: asked.append(messages) or "42")
    )
    case: dict[str, Any] = {"inputs": {"term": "1"}, "expected_score": 5}
    with pytest.raises(ValueError, match=rf"dataset\[1\] {message}"):
        ExperimentRunner([case, {**case, **wrong}]).run(crew=crew_of(agent), llm=Judge())
    assert asked == []


def test_what_an_experiment_lacks_is_reported_before_anything_is_run():
    with pytest.raises(ValueError, match="pass `crew` or `agents`"):
        ExperimentRunner([]).run()
    incomplete: list[tuple[dict[str, Any], str]] = [
        ({"expected_score": 1}, "inputs"),
        ({"inputs": {}}, "expected_score"),
    ]
    for result, lacking in incomplete:
        with pytest.raises(KeyError, match=rf"dataset\[0\] has no `{lacking}`"):
            ExperimentRunner([result]).run(agents=[clerk("x")])


@pytest.mark.parametrize(
    ("expected", "scores", "reached"),
    [
        (5, {"a": 9.0, "b": 3.0}, True),
        (7, {"a": 9.0, "b": 3.0}, False),
        (5, {"a": 5.0}, True),
        (5, {}, False),
        ({"a": 5}, {"b": 9.0}, False),
        ({"a": 5}, {"a": 4.9}, False),
        ({"a": 5, "b": 2}, {"a": 5.0}, False),
        ({"a": 5}, {"a": 5.0, "b": 0.0}, True),
    ],
)
def test_a_score_reaches_what_was_expected(expected: Any, scores: Any, reached: bool):
    assert is_passing(expected, scores) is reached


def test_the_scores_of_agents_are_one_for_each_metric():
    def marks(**given: float | None) -> AgentAggregatedEvaluationResult:
        return AgentAggregatedEvaluationResult(
            metrics={MetricCategory(name): EvaluationScore(score=mark) for name, mark in given.items()}
        )

    both = {"A": marks(goal_alignment=9, tool_selection=3), "B": marks(goal_alignment=2, semantic_quality=None)}
    assert mean_scores(both) == {"goal_alignment": 5.5, "tool_selection": 3.0}
    assert mean_scores({"A": marks(goal_alignment=9)}) == {"goal_alignment": 9.0}
    assert mean_scores({}) == {}


def test_runs_are_kept_in_a_file_and_compared_with_the_last_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "kept" / "base.json"
    first = results(a=True, b=False, c=True)
    assert first.compare_with_baseline(str(path)) == {"is_baseline": True, "changes": {}}
    second = results(a=False, b=True, d=True)
    changes: Mapping[str, Any] = {
        "improved": ["b"],
        "regressed": ["a"],
        "unchanged": [],
        "new_tests": ["d"],
        "missing_tests": ["c"],
        "total_compared": 2,
        "baseline_timestamp": first.timestamp.isoformat(),
    }
    assert second.compare_with_baseline(str(path), save_current=False, print_summary=True) == changes
    assert "Regressed" in capsys.readouterr().out
    assert second.compare_with_baseline(str(path)) == changes
    assert second.compare_with_baseline(str(path))["unchanged"] == ["a", "b", "d"]
    assert len(json.loads(path.read_text("utf-8"))) == 3
    assert [result.name for result in path.parent.iterdir()] == ["base.json"]
    assert second.to_json(str(tmp_path / "one.json")) == json.loads((tmp_path / "one.json").read_text("utf-8"))


@pytest.mark.parametrize("text", ["no json", "5", '[{"a": 1}]', '{"results": [{"identifier": "a"}]}'])
def test_a_file_with_something_else_is_left_as_it_is(text: str, tmp_path: Path):
    path = tmp_path / "notes.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"does not contain runs of an experiment .*another `baseline_filepath`"):
        results(a=True).compare_with_baseline(str(path))
    assert path.read_text("utf-8") == text


def test_a_test_asserts_that_cases_pass_and_still_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert_experiment_successfully(results(a=True, b=True))
    (baseline,) = tmp_path.iterdir()
    assert baseline.name == "test_a_test_asserts_that_cases_pass_and_still_do_results.json"
    with pytest.raises(AssertionError, match="1 of 2 cases failed:\n- b: 7.0 where 5.0 was expected"):
        assert_experiment_successfully(results(a=True, b=False))
    assert len(json.loads(baseline.read_text("utf-8"))) == 1
    with pytest.warns(UserWarning, match="are missing: b") as caught:
        assert_experiment_successfully(results(a=True), str(baseline))
    assert caught[0].filename == __file__
    with pytest.raises(AssertionError, match="passed before, and fail now: x, y"):
        assert_experiment_no_regression({"regressed": ["x", "y"]})
    assert_experiment_no_regression({"improved": ["x"], "new_tests": ["y"]})
