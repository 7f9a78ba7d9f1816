"""Experiments as tables for people."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.observe.table import show
else:
    show = lazy("crewgraph.observe.table:show")

__all__ = ["ExperimentResultsDisplay"]

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
        rows = [_row(name, comparison.get(kind, ())) for kind, name in _ALWAYS.items()]
        rows += [_row(name, comparison[kind]) for kind, name in _WHERE_THERE_ARE_ANY.items() if comparison.get(kind)]
        title = f"Compared with the run of {baseline_timestamp}"
        show(title, 1, ["Cases", "Which", "Number"], [rows])


def _row(name: str, cases: Sequence[str]) -> list[str]:
    more = len(cases) - _NAMED
    shown = ", ".join(cases[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return [name, "" if name == "Unchanged" else shown, str(len(cases))]
