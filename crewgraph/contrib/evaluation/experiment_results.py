"""What experiments give, and how that compares with a baseline."""

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from crewgraph.contrib.evaluation.display import ExperimentResultsDisplay

__all__ = ["ExperimentResult", "ExperimentResults", "added", "changes", "latest"]


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


def latest(path: Path) -> dict[str, Any] | None:
    """The run that was added last; None where there is none.

    Raises:
        ValueError: the file holds something else.
        OSError: it cannot be read.
    """
    runs = _runs(path)
    return runs[-1] if runs else None


def added(path: Path, run: Mapping[str, Any]) -> None:
    """Add a run; the file is whole at any time.

    Raises:
        ValueError: the file holds something else.
        OSError: it cannot be read or written.
    """
    runs = [*_runs(path), run]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(json.dumps(runs, indent=2, ensure_ascii=False), "utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def changes(before: Mapping[str, Any], now: Mapping[str, bool]) -> dict[str, Any]:
    """What has become of each case.

    Args:
        before: an earlier run.
        now: whether each case passes, by name.
    """
    then = {str(one["identifier"]): bool(one["passed"]) for one in before["results"]}
    both = [name for name in now if name in then]
    return {
        "improved": [name for name in both if now[name] and not then[name]],
        "regressed": [name for name in both if then[name] and not now[name]],
        "unchanged": [name for name in both if now[name] == then[name]],
        "new_tests": [name for name in now if name not in then],
        "missing_tests": [name for name in then if name not in now],
        "total_compared": len(both),
        "baseline_timestamp": str(before.get("timestamp", "")),
    }


def _runs(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return []
    try:
        found: Any = json.loads(text) if text.strip() else []
    except ValueError as error:
        raise _foreign(path, f"it is no JSON: {error}") from error
    runs: list[Any] = cast("list[Any]", found if isinstance(found, list) else [found] if found else [])
    for run in runs:
        results: Any = cast("dict[str, Any]", run).get("results") if isinstance(run, dict) else None
        if not isinstance(results, list) or not all(_is_case(one) for one in cast("list[Any]", results)):
            raise _foreign(path, "a run is an object with `results`, of which each has `identifier` and `passed`")
    return runs


def _is_case(one: Any) -> bool:
    return isinstance(one, dict) and "identifier" in one and "passed" in one


def _foreign(path: Path, why: str) -> ValueError:
    return ValueError(
        f"`{path}` holds no runs of an experiment ({why}). Take it away, or give another `baseline_filepath`"
    )
