"""Experiments in tests."""

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.deprecations import user_stacklevel
from crewgraph.evaluation.experiment import ExperimentRunner
from crewgraph.evaluation.experiment_result import ExperimentResults

__all__ = ["assert_experiment_no_regression", "assert_experiment_successfully", "run_experiment"]


def run_experiment(
    dataset: Sequence[Mapping[str, Any]],
    crew: Any = None,
    agents: Sequence[Any] | None = None,
    verbose: bool = False,
    *,
    llm: Any = None,
) -> ExperimentResults:
    """Run an experiment; see `ExperimentRunner.run`.

    Args:
        dataset: the cases.
        crew: what is run.
        agents: whose work is judged.
        verbose: whether the scores are printed.
        llm: the model that judges.
    """
    return ExperimentRunner(dataset).run(crew=crew, agents=agents, print_summary=verbose, llm=llm)


def assert_experiment_successfully(experiment_results: ExperimentResults, baseline_filepath: str | None = None) -> None:
    """Assert that every case passed, and that none did so in the run before that does not now; then keep this run.

    Args:
        experiment_results: what was found out.
        baseline_filepath: where runs are kept; the file "<name of the calling function>_results.json" where None.

    Raises:
        AssertionError: a case did not pass.
        ValueError: the file holds something else.
    """
    failed = [one for one in experiment_results.results if not one.passed]
    if failed:
        lines = [f"- {one.identifier}: {one.score} where {one.expected_score} was expected" for one in failed]
        raise AssertionError("\n".join([f"{len(failed)} of {len(experiment_results.results)} cases failed:", *lines]))
    path = baseline_filepath or f"{sys._getframe(1).f_code.co_name}_results.json"  # pyright: ignore[reportPrivateUsage]
    assert_experiment_no_regression(experiment_results.compare_with_baseline(baseline_filepath=path))


def assert_experiment_no_regression(comparison_result: Mapping[str, Any]) -> None:
    """Assert that no case passed before and does not now; cases that are missing now are warned of.

    Args:
        comparison_result: see `ExperimentResults.compare_with_baseline`.

    Raises:
        AssertionError: one did.
    """
    if regressed := comparison_result.get("regressed"):
        raise AssertionError(f"These cases passed before, and fail now: {', '.join(regressed)}")
    if missing := comparison_result.get("missing_tests"):
        warnings.warn(f"These cases of the run before are missing: {', '.join(missing)}", stacklevel=user_stacklevel())
