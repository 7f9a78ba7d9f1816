"""Results of experiments, and their comparison with a baseline."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.contrib.evaluation.display import ExperimentResultsDisplay
from crewgraph.disk import replace_file
from crewgraph.schema import Metadata, PlainDict, PlainMapping

__all__ = ["ExperimentResult", "ExperimentResults", "append_run", "compare_runs", "latest_baseline"]


class ExperimentResult(BaseModel):
    """The result of one case."""

    identifier: str
    """The case's name, the same in every run."""

    inputs: PlainDict
    """Inputs of the crew or the agent."""

    score: float | dict[str, float]
    """The score, or a score per metric if there are several."""

    expected_score: float | dict[str, float]
    """The minimum score, or minimums per metric."""

    passed: bool
    """Whether the score reached the minimum."""

    agent_evaluations: PlainDict | None = None
    """`AgentAggregatedEvaluationResult` by agent role; None if the case could not be run."""


class ExperimentResults:
    """The results of an experiment.

    Args:
        results: The results of its cases.
        metadata: JSON data that describes the experiment.
    """

    def __init__(self, results: list[ExperimentResult], metadata: Metadata | None = None) -> None:
        self.results = results
        self.metadata: Metadata = metadata or {}
        self.timestamp = datetime.now(UTC)
        """Time of the experiment."""
        self.display = ExperimentResultsDisplay()

    def to_json(self, filepath: str | None = None) -> PlainDict:
        """Return the experiment as JSON data, without the evaluations of agents.

        Args:
            filepath: A file to which it is also written.
        """
        data = {
            "timestamp": self.timestamp.isoformat(),
            "metadata": self.metadata,
            "results": [result.model_dump(mode="json", exclude={"agent_evaluations"}) for result in self.results],
        }
        if filepath is not None:
            replace_file(filepath, json.dumps(data, indent=2, ensure_ascii=False))
        return data

    def compare_with_baseline(
        self, baseline_filepath: str, save_current: bool = True, print_summary: bool = False
    ) -> PlainDict:
        """Compare with the latest run in a file.

        Args:
            baseline_filepath: A JSON file, created if it does not exist.
            save_current: Whether to append this run to the file.
            print_summary: Whether to print the difference.

        Returns:
            The names of cases under `improved`, `regressed`, `unchanged`, `new_tests` and `missing_tests`, the number of compared
            cases (`total_compared`) and the time of the baseline (`baseline_timestamp`). Without a baseline, `is_baseline` is
            True and `changes` is empty.

        Raises:
            ValueError: If the file does not contain runs; it is left unchanged.
            OSError: If it cannot be read or written.
        """
        path = Path(baseline_filepath)
        baseline = latest_baseline(path)
        if save_current:
            append_run(path, self.to_json())
        if baseline is None:
            return {"is_baseline": True, "changes": {}}
        comparison = compare_runs(baseline, {result.identifier: result.passed for result in self.results})
        if print_summary:
            self.display.comparison_summary(comparison, comparison["baseline_timestamp"])
        return comparison


def latest_baseline(path: Path) -> PlainDict | None:
    """Return the latest run in a file, or None.

    Raises:
        ValueError: If the file does not contain runs.
        OSError: If it cannot be read.
    """
    runs = _runs(path)
    return runs[-1] if runs else None


def append_run(path: Path, run: PlainMapping) -> None:
    """Append a run to a file, replacing the file atomically.

    Raises:
        ValueError: If the file does not contain runs.
        OSError: If it cannot be read or written.
    """
    runs = [*_runs(path), run]
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, json.dumps(runs, indent=2, ensure_ascii=False))


def compare_runs(baseline: PlainMapping, now: Mapping[str, bool]) -> PlainDict:
    """Compare the cases of two runs.

    Args:
        baseline: The earlier run.
        now: Whether each case passes now, by name.
    """
    then = {str(case["identifier"]): bool(case["passed"]) for case in baseline["results"]}
    both = [name for name in now if name in then]
    return {
        "improved": [name for name in both if now[name] and not then[name]],
        "regressed": [name for name in both if then[name] and not now[name]],
        "unchanged": [name for name in both if now[name] == then[name]],
        "new_tests": [name for name in now if name not in then],
        "missing_tests": [name for name in then if name not in now],
        "total_compared": len(both),
        "baseline_timestamp": str(baseline.get("timestamp", "")),
    }


def _runs(path: Path) -> list[PlainDict]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return []
    try:
        data: Any = json.loads(text) if text.strip() else []
    except ValueError as error:
        raise _not_runs(path, f"it is not JSON: {error}") from error
    runs: list[Any] = cast("list[Any]", data if isinstance(data, list) else [data] if data else [])
    for run in runs:
        results: Any = cast("PlainDict", run).get("results") if isinstance(run, dict) else None
        if not isinstance(results, list) or not all(_is_case(case) for case in cast("list[Any]", results)):
            raise _not_runs(path, "a run is an object whose `results` each have `identifier` and `passed`")
    return runs


def _is_case(value: Any) -> bool:
    return isinstance(value, dict) and "identifier" in value and "passed" in value


def _not_runs(path: Path, reason: str) -> ValueError:
    return ValueError(
        f"`{path}` does not contain runs of an experiment ({reason}). Remove it, or pass another `baseline_filepath`"
    )
