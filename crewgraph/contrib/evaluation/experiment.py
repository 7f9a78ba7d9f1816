"""Experiments: agents or crews on cases, held to the scores that are expected."""

import hashlib
import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from crewgraph.contrib.evaluation.agents import AgentEvaluator, create_default_evaluator
from crewgraph.contrib.evaluation.display import ExperimentResultsDisplay
from crewgraph.contrib.evaluation.experiment_results import ExperimentResult, ExperimentResults
from crewgraph.contrib.evaluation.results import AgentAggregatedEvaluationResult, MetricCategory
from crewgraph.core.operations import Operation, Program, adrive, drive
from crewgraph.definitions.chunks import StreamingOutputBase
from crewgraph.definitions.crew.evaluation import mean
from crewgraph.definitions.crew.pending import PendingCrew
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import RunError

__all__ = [
    "ExperimentRunner",
    "assert_experiment_no_regression",
    "assert_experiment_successfully",
    "is_passing",
    "run_experiment",
    "scores_of",
]


_log = logging.getLogger("crewgraph")

_METRICS = [category.value for category in MetricCategory]


class ExperimentRunner:
    """Runs a crew, or agents, on cases, and lets a model judge what they do.

        runner = ExperimentRunner([{"identifier": "tides", "inputs": {"sea": "North Sea"}, "expected_score": 7}])
        results = runner.run(crew=crew)
        results.compare_with_baseline("tides.json")

    Args:
        dataset: the cases, each with `inputs` (a dict: a crew's inputs, or the arguments of an agent's `kickoff`),
            `expected_score` (0 to 10: the mean of all metrics has to reach it; a dict: each metric it names has to reach its own)
            and perhaps `identifier`. They are looked at when they are run, all before the first one is.
    """

    def __init__(self, dataset: Sequence[Mapping[str, Any]]) -> None:
        self.dataset = dataset
        self.evaluator: AgentEvaluator | None = None
        """Whoever judged the last run."""
        self.display = ExperimentResultsDisplay()

    def run(
        self,
        crew: Any = None,
        agents: Sequence[Any] | None = None,
        print_summary: bool = False,
        *,
        llm: Any = None,
    ) -> ExperimentResults:
        """Run all cases, one after the other; one that fails has a score of 0, and the others go on.

        Args:
            crew: what is run; its agents are judged.
            agents: whose work is judged; where there is no crew, they are run themselves.
            print_summary: whether the scores and how many cases passed are printed.
            llm: the model that judges; the agents' own ones where None.

        Raises:
            ValueError: there is neither a crew nor an agent.
            KeyError: a case has no `inputs` or no `expected_score`.
            ValueError: a case holds something else than it should, or names a metric that there is not.
        """
        return drive(self._ran(crew, agents, print_summary, llm))

    async def arun(
        self,
        crew: Any = None,
        agents: Sequence[Any] | None = None,
        print_summary: bool = False,
        *,
        llm: Any = None,
    ) -> ExperimentResults:
        """Run all cases on this event loop; see `run`."""
        return await adrive(self._ran(crew, agents, print_summary, llm))

    def _ran(
        self, crew: Any, agents: Sequence[Any] | None, print_summary: bool, llm: Any
    ) -> Program[ExperimentResults]:
        judged = agents or (crew.agents if crew is not None else None)
        if not judged:
            raise ValueError("an experiment needs a crew with agents, or agents: give `crew` or `agents`")
        cases = [_checked(number, case) for number, case in enumerate(self.dataset)]
        results: list[ExperimentResult] = []
        with create_default_evaluator(judged, llm) as self.evaluator:
            for case in cases:
                results.append((yield from self._case(case, crew, judged, self.evaluator)))
                if print_summary:
                    self.evaluator.display_results_with_iterations()
        found = ExperimentResults(results)
        if print_summary:
            self.display.summary(found)
        return found

    def _case(
        self, case: ExperimentResult, crew: Any, agents: Sequence[Any], evaluator: AgentEvaluator
    ) -> Program[ExperimentResult]:
        evaluator.reset_iterations_results()
        try:
            yield from _kicked_off(crew, agents, case.inputs)
            yield _Judged(evaluator)
            found = evaluator.aggregate()
            scores = scores_of(found)
            passed = is_passing(case.expected_score, scores)
            return case.model_copy(update={"score": _shown(scores), "passed": passed, "agent_evaluations": dict(found)})
        except Exception as error:  # noqa: BLE001 - told with the case, and the others are run
            _log.warning("the case `%s` could not be run: %s: %s", case.identifier, type(error).__name__, error)
            return case


class _Kickoff(Operation):
    """A kickoff of a crew or an agent, to its end."""

    def __init__(self, runs: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        self.runs, self.args, self.named = runs, args, named

    def run(self) -> Any:
        output: Any = self.runs.kickoff(*self.args, **self.named)
        if not isinstance(output, StreamingOutputBase):
            return output
        for _ in (stream := cast("StreamingOutputBase[Any]", output)):
            pass
        return stream.result

    async def arun(self) -> Any:
        output: Any = await self.runs.akickoff(*self.args, **self.named)
        if not isinstance(output, StreamingOutputBase):
            return output
        async for _ in (stream := cast("StreamingOutputBase[Any]", output)):
            pass
        return stream.result


class _Judged(Operation):
    """Waits until everything is judged."""

    def __init__(self, evaluator: AgentEvaluator) -> None:
        self.evaluator = evaluator

    def run(self) -> None:
        self.evaluator.finish()

    async def arun(self) -> None:
        await self.evaluator.afinish()


def _kicked_off(crew: Any, agents: Sequence[Any], inputs: Mapping[str, Any]) -> Program[None]:
    if crew is not None:
        output = yield _Kickoff(crew, (inputs,), {})
        if isinstance(output, PendingCrew):
            raise RunError(str(output))
        return
    for agent in agents:
        yield _Kickoff(agent, (), inputs)


def _checked(number: int, case: Mapping[str, Any]) -> ExperimentResult:
    """The case as one that has not passed yet."""
    for name in ("inputs", "expected_score"):
        if name not in case:
            raise KeyError(f"the case dataset[{number}] has no `{name}`: {case!r:.200}")
    # The same from run to run, so that baselines know the case again.
    digest = hashlib.md5(str(case).encode(), usedforsecurity=False).hexdigest()
    expected = case["expected_score"]
    if isinstance(expected, Mapping):
        by_name = cast("Mapping[Any, Any]", expected).items()
        expected = {name.value if isinstance(name, MetricCategory) else str(name): mark for name, mark in by_name}
        if unknown := [name for name in expected if name not in _METRICS]:
            raise ValueError(
                f"the case dataset[{number}] expects a score of {', '.join(unknown)}; the metrics are {', '.join(_METRICS)}"
            )
    try:
        return ExperimentResult(
            identifier=str(case.get("identifier", digest)),
            inputs=case["inputs"],
            expected_score=expected,
            score=0.0,
            passed=False,
        )
    except ValidationError as error:
        wrong = "; ".join(f"`{one['loc'][0]}`: {one['msg']}" for one in error.errors())
        raise ValueError(f"the case dataset[{number}] cannot be run: {wrong}: {case!r:.200}") from error


def scores_of(evaluations: Mapping[str, AgentAggregatedEvaluationResult]) -> dict[str, float]:
    """The score of each metric that has one, the mean of all agents."""
    by_metric: dict[str, list[float]] = {}
    for evaluation in evaluations.values():
        for category, mark in evaluation.metrics.items():
            if mark.score is not None:
                by_metric.setdefault(category.value, []).append(mark.score)
    return {name: sum(marks) / len(marks) for name, marks in by_metric.items()}


def is_passing(expected: float | Mapping[str, float], scores: Mapping[str, float]) -> bool:
    """Whether scores, by the names of metrics, reach what was expected; a metric without one does not."""
    if isinstance(expected, Mapping):
        return all(name in scores and scores[name] >= wanted for name, wanted in expected.items())
    reached = mean(scores.values())
    return reached is not None and reached >= expected


def _shown(scores: dict[str, float]) -> float | dict[str, float]:
    return next(iter(scores.values())) if len(scores) == 1 else scores


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
