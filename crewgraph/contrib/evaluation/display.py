"""Prints evaluation scores and experiments."""

from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.contrib.evaluation.results import (
    AgentAggregatedEvaluationResult,
    AgentEvaluationResult,
    MetricCategory,
    aggregate_results,
)
from crewgraph.definitions.crew.evaluation import mean
from crewgraph.schema import PlainMapping

__all__ = ["EvaluationDisplayFormatter", "ExperimentResultsDisplay"]


_Iterations = Mapping[int, Mapping[str, Sequence[AgentEvaluationResult]]]

_NOTHING = "There are no results yet."


class EvaluationDisplayFormatter:
    """Prints scores of agents to standard output."""

    def display_summary_results(self, iterations_results: _Iterations) -> None:
        """Print a table of the scores by agent and metric, with a column for each iteration and their mean.

        Args:
            iterations_results: Results by iteration and agent role.
        """
        rounds = sorted(iterations_results)
        parts = [
            self._part(role, [iterations_results[number].get(role, ()) for number in rounds])
            for role in _roles(iterations_results)
        ]
        headers = ["Agent", *(f"Round {number}" for number in rounds), "Average"]
        from crewgraph.observe.table import show_table

        show_table("Scores of agents, from 0 to 10", 1, headers, parts, "" if parts else _NOTHING)

    def display_evaluation_with_feedback(self, iterations_results: _Iterations) -> None:
        """Print the scores by agent and iteration with their feedback.

        Args:
            iterations_results: Results by iteration and agent role.
        """
        for role in _roles(iterations_results):
            for number in sorted(iterations_results):
                if results := iterations_results[number].get(role):
                    self._show_feedback(role, number, results)

    def _show_feedback(self, role: str, number: int, results: Sequence[AgentEvaluationResult]) -> None:
        aggregate = aggregate_results(results[0].agent_id, role, results)
        rows = [
            [category.title(), score.feedback, _score_text(score.score)]
            for category, score in sorted(aggregate.metrics.items(), key=_by_name)
        ]
        overall = ["Overall", "", _score_text(aggregate.overall_score)]
        from crewgraph.observe.table import show_table

        show_table(f"{role}, round {number}", 2, ["Metric", "Feedback", "Score"], [rows, [overall]], wrap=True)

    def _part(self, role: str, rounds: Sequence[Sequence[AgentEvaluationResult]]) -> list[list[str]]:
        aggregates = [aggregate_results(results[0].agent_id, role, results) if results else None for results in rounds]
        categories = sorted(
            {category for aggregate in aggregates if aggregate is not None for category in aggregate.metrics},
            key=lambda category: category.value,
        )
        rows = [_score_row(role, [None if aggregate is None else aggregate.overall_score for aggregate in aggregates])]
        for category in categories:
            rows.append(
                _score_row(f"- {category.title()}", [_metric_score(aggregate, category) for aggregate in aggregates])
            )
        return rows


def _roles(rounds: _Iterations) -> list[str]:
    return sorted({role for results in rounds.values() for role in results})


def _metric_score(aggregate: AgentAggregatedEvaluationResult | None, category: MetricCategory) -> float | None:
    return None if aggregate is None or category not in aggregate.metrics else aggregate.metrics[category].score


def _score_row(name: str, scores: Sequence[float | None]) -> list[str]:
    return [name, *(_score_text(score) for score in scores), _score_text(mean(scores))]


def _by_name(item: tuple[MetricCategory, object]) -> str:
    return item[0].value


def _score_text(score: float | None) -> str:
    return "N/A" if score is None else f"{score:.1f}"


_ALWAYS = {"improved": "Improved", "regressed": "Regressed", "unchanged": "Unchanged"}
_IF_ANY = {"new_tests": "New", "missing_tests": "Missing"}
_MAX_NAMES = 3


class ExperimentResultsDisplay:
    """Prints experiments to standard output."""

    def summary(self, experiment_results: Any) -> None:
        """Print how many cases passed.

        Args:
            experiment_results: An `ExperimentResults`.
        """
        cases = len(experiment_results.results)
        passed = sum(1 for result in experiment_results.results if result.passed)
        rows = [
            ["Cases", str(cases)],
            ["Passed", str(passed)],
            ["Failed", str(cases - passed)],
            ["Success rate", f"{100 * passed / cases:.1f}%" if cases else "N/A"],
        ]
        from crewgraph.observe.table import show_table

        show_table("Experiment", 1, ["What", "Value"], [rows])

    def comparison_summary(self, comparison: PlainMapping, baseline_timestamp: str) -> None:
        """Print the changes since another run.

        Args:
            comparison: The result of `ExperimentResults.compare_with_baseline`.
            baseline_timestamp: The time of the other run.
        """
        rows = [_case_row(name, comparison.get(kind, ())) for kind, name in _ALWAYS.items()]
        rows += [_case_row(name, comparison[kind]) for kind, name in _IF_ANY.items() if comparison.get(kind)]
        title = f"Compared with the run of {baseline_timestamp}"
        from crewgraph.observe.table import show_table

        show_table(title, 1, ["Cases", "Which", "Number"], [rows])


def _case_row(name: str, cases: Sequence[str]) -> list[str]:
    more = len(cases) - _MAX_NAMES
    names = ", ".join(cases[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
    return [name, "" if name == "Unchanged" else names, str(len(cases))]
