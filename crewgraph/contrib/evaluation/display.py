"""Scores on the console."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.contrib.evaluation.results import (
    AgentAggregatedEvaluationResult,
    AgentEvaluationResult,
    MetricCategory,
    aggregated,
)
from crewgraph.definitions.crew.evaluation import mean
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.observe.table import show
else:
    show = lazy("crewgraph.observe.table:show")

__all__ = ["EvaluationDisplayFormatter", "ExperimentResultsDisplay"]


_Rounds = Mapping[int, Mapping[str, Sequence[AgentEvaluationResult]]]

_NOTHING = "There are no results yet."


class EvaluationDisplayFormatter:
    """Prints the scores of agents on standard output."""

    def display_summary_results(self, iterations_results: _Rounds) -> None:
        """Print the scores of each agent and side, with their means, as a table with a column for each round.

        Args:
            iterations_results: by rounds, then by the agents' roles.
        """
        rounds = sorted(iterations_results)
        parts = [
            self._part(role, [iterations_results[one].get(role, ()) for one in rounds])
            for role in _roles(iterations_results)
        ]
        heads = ["Agent", *(f"Round {number}" for number in rounds), "Average"]
        show("Scores of agents, from 0 to 10", 1, heads, parts, "" if parts else _NOTHING)

    def display_evaluation_with_feedback(self, iterations_results: _Rounds) -> None:
        """Print the scores of each agent and round with their reasons.

        Args:
            iterations_results: by rounds, then by the agents' roles.
        """
        for role in _roles(iterations_results):
            for number in sorted(iterations_results):
                if results := iterations_results[number].get(role):
                    self._told(role, number, results)

    def _told(self, role: str, number: int, results: Sequence[AgentEvaluationResult]) -> None:
        whole = aggregated(results[0].agent_id, role, results)
        rows = [
            [category.title(), score.feedback, _mark(score.score)]
            for category, score in sorted(whole.metrics.items(), key=_by_name)
        ]
        overall = ["Overall", "", _mark(whole.overall_score)]
        show(f"{role}, round {number}", 2, ["Metric", "Feedback", "Score"], [rows, [overall]], whole=True)

    def _part(self, role: str, rounds: Sequence[Sequence[AgentEvaluationResult]]) -> list[list[str]]:
        together = [aggregated(results[0].agent_id, role, results) if results else None for results in rounds]
        categories = sorted(
            {category for one in together if one is not None for category in one.metrics}, key=lambda one: one.value
        )
        rows = [_score_row(role, [None if one is None else one.overall_score for one in together])]
        for category in categories:
            rows.append(_score_row(f"- {category.title()}", [_of(one, category) for one in together]))
        return rows


def _roles(rounds: _Rounds) -> list[str]:
    return sorted({role for results in rounds.values() for role in results})


def _of(one: AgentAggregatedEvaluationResult | None, category: MetricCategory) -> float | None:
    return None if one is None or category not in one.metrics else one.metrics[category].score


def _score_row(name: str, marks: Sequence[float | None]) -> list[str]:
    return [name, *(_mark(one) for one in marks), _mark(mean(marks))]


def _by_name(item: tuple[MetricCategory, object]) -> str:
    return item[0].value


def _mark(mark: float | None) -> str:
    return "N/A" if mark is None else f"{mark:.1f}"


_ALWAYS = {"improved": "Improved", "regressed": "Regressed", "unchanged": "Unchanged"}
_WHERE_THERE_ARE_ANY = {"new_tests": "New", "missing_tests": "Missing"}
_NAMED = 3


class ExperimentResultsDisplay:
    """Prints experiments on standard output."""

    def summary(self, experiment_results: Any) -> None:
        """Print how many cases passed.

        Args:
            experiment_results: an `ExperimentResults`.
        """
        cases = len(experiment_results.results)
        passed = sum(1 for result in experiment_results.results if result.passed)
        rows = [
            ["Cases", str(cases)],
            ["Passed", str(passed)],
            ["Failed", str(cases - passed)],
            ["Success rate", f"{100 * passed / cases:.1f}%" if cases else "N/A"],
        ]
        show("Experiment", 1, ["What", "Value"], [rows])

    def comparison_summary(self, comparison: Mapping[str, Any], baseline_timestamp: str) -> None:
        """Print what has changed since another run.

        Args:
            comparison: see `ExperimentResults.compare_with_baseline`.
            baseline_timestamp: when the other run was.
        """
        rows = [_case_row(name, comparison.get(kind, ())) for kind, name in _ALWAYS.items()]
        rows += [
            _case_row(name, comparison[kind]) for kind, name in _WHERE_THERE_ARE_ANY.items() if comparison.get(kind)
        ]
        title = f"Compared with the run of {baseline_timestamp}"
        show(title, 1, ["Cases", "Which", "Number"], [rows])


def _case_row(name: str, cases: Sequence[str]) -> list[str]:
    more = len(cases) - _NAMED
    shown = ", ".join(cases[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return [name, "" if name == "Unchanged" else shown, str(len(cases))]
