"""What an experiment found out."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from crewgraph.evaluation.baseline import added, changes, latest
from crewgraph.evaluation.experiment_display import ExperimentResultsDisplay

__all__ = ["ExperimentResult", "ExperimentResults"]


class ExperimentResult(BaseModel):
    """One case of an experiment."""

    identifier: str
    """Its name, the same from run to run."""

    inputs: dict[str, Any]
    """What the crew or the agent was given."""

    score: float | dict[str, float]
    """The score; one for each metric where there are several."""

    expected_score: float | dict[str, float]
    """What it had to reach."""

    passed: bool
    """Whether it did."""

    agent_evaluations: dict[str, Any] | None = None
    """An `AgentAggregatedEvaluationResult` for each agent's role; None where the case could not be run."""


class ExperimentResults:
    """All cases of an experiment.

    Args:
        results: the cases.
        metadata: what is to be known of the experiment, JSON data.
    """

    def __init__(self, results: list[ExperimentResult], metadata: dict[str, Any] | None = None) -> None:
        self.results = results
        self.metadata: dict[str, Any] = metadata or {}
        self.timestamp = datetime.now(UTC)
        """When it was done."""
        self.display = ExperimentResultsDisplay()

    def to_json(self, filepath: str | None = None) -> dict[str, Any]:
        """The experiment as JSON data, without the evaluations of agents.

        Args:
            filepath: a file that it is written to, too.
        """
        told = {
            "timestamp": self.timestamp.isoformat(),
            "metadata": self.metadata,
            "results": [result.model_dump(mode="json", exclude={"agent_evaluations"}) for result in self.results],
        }
        if filepath is not None:
            Path(filepath).write_text(json.dumps(told, indent=2, ensure_ascii=False), "utf-8")
        return told

    def compare_with_baseline(
        self, baseline_filepath: str, save_current: bool = True, print_summary: bool = False
    ) -> dict[str, Any]:
        """Compare with the run that was added last to a file.

        Args:
            baseline_filepath: a JSON file; one that is not there is made.
            save_current: whether this run is added to it, also where there was none to compare with.
            print_summary: whether the difference is printed.

        Returns:
            The names of cases that are `improved`, `regressed`, `unchanged`, `new_tests`, `missing_tests`; how many were compared
            (`total_compared`), and when that run was (`baseline_timestamp`). Where there is none to compare with, `is_baseline`
            is True, and `changes` is empty.

        Raises:
            ValueError: the file holds something else; it is left as it is.
            OSError: it cannot be read or written.
        """
        path = Path(baseline_filepath)
        before = latest(path)
        if save_current:
            added(path, self.to_json())
        if before is None:
            return {"is_baseline": True, "changes": {}}
        found = changes(before, {result.identifier: result.passed for result in self.results})
        if print_summary:
            self.display.comparison_summary(found, found["baseline_timestamp"])
        return found
