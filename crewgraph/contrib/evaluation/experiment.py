"""Experiments: run crews or agents on cases and compare the scores with expectations."""

import hashlib
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from crewgraph.contrib.evaluation.agents import AgentEvaluator, create_default_evaluator
from crewgraph.contrib.evaluation.display import ExperimentResultsDisplay
from crewgraph.contrib.evaluation.experiment_results import ExperimentResult, ExperimentResults
from crewgraph.contrib.evaluation.results import AgentAggregatedEvaluationResult, MetricCategory
from crewgraph.core.cancellation import is_control_flow
from crewgraph.core.operations import Operation, Program, adrive, drive
from crewgraph.definitions.chunks import StreamingOutputBase
from crewgraph.definitions.crew.evaluation import mean
from crewgraph.definitions.crew.pending import PendingCrew
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import RunError
from crewgraph.observe.progress import progress
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainMapping, fault_text
from crewgraph.tracebacks import raised_by_signal

__all__ = [
    "ExperimentRunner",
    "assert_experiment_no_regression",
    "assert_experiment_successfully",
    "is_passing",
    "mean_scores",
    "run_experiment",
]


_log = redacted_logger("crewgraph")

_METRICS = [category.value for category in MetricCategory]


class ExperimentRunner:
    """Runs a crew or agents on cases and lets a model evaluate them.

        runner = ExperimentRunner([{"identifier": "tides", "inputs": {"sea": "North Sea"}, "expected_score": 7}])
        results = runner.run(crew=crew)
        results.compare_with_baseline("tides.json")

    Args:
        dataset: The cases, each with `inputs` (a crew's inputs, or the arguments of an agent's `kickoff`), `expected_score`
            (0 to 10, the minimum mean of all metrics, or a dict of minimums by metric) and optionally `identifier`. All cases
            are validated before the first one runs.
    """

    def __init__(self, dataset: Sequence[Mapping[str, object]]) -> None:
        self.dataset = dataset
        self.evaluator: AgentEvaluator | None = None
        """The evaluator of the latest run."""
        self.display = ExperimentResultsDisplay()

    def run(
        self,
        crew: object = None,
        agents: Sequence[object] | None = None,
        print_summary: bool = False,
        *,
        llm: object = None,
    ) -> ExperimentResults:
        """Run all cases in sequence; a failing case scores 0 and the others still run.

        Args:
            crew: The crew to run; its agents are evaluated.
            agents: The agents to evaluate; without a crew, they are run themselves.
            print_summary: Whether to print the scores and the number of passed cases.
            llm: The model that evaluates; None uses the agents' own.

        Raises:
            ValueError: If there is neither a crew nor an agent, a case is invalid, or it names an unknown metric.
            KeyError: If a case has no `inputs` or no `expected_score`.
        """
        return drive(self._run(crew, agents, print_summary, llm))

    async def arun(
        self,
        crew: object = None,
        agents: Sequence[object] | None = None,
        print_summary: bool = False,
        *,
        llm: Any = None,
    ) -> ExperimentResults:
        """Async version of `run`."""
        return await adrive(self._run(crew, agents, print_summary, llm))

    def _run(
        self, crew: Any, agents: Sequence[Any] | None, print_summary: bool, llm: Any
    ) -> Program[ExperimentResults]:
        evaluated = agents or (crew.agents if crew is not None else None)
        if not evaluated:
            raise ValueError("an experiment needs agents: pass `crew` or `agents`")
        cases = [_parse_case(number, case) for number, case in enumerate(self.dataset)]
        results: list[ExperimentResult] = []
        shown = progress("Experiment", len(cases), "cases", shown=not print_summary)
        with create_default_evaluator(evaluated, llm) as self.evaluator, shown:
            for case in cases:
                results.append((yield from self._case(case, crew, evaluated, self.evaluator)))
                shown.advance()
                if print_summary:
                    self.evaluator.display_results_with_iterations()
        experiment = ExperimentResults(results)
        if print_summary:
            self.display.summary(experiment)
        return experiment

    def _case(
        self, case: ExperimentResult, crew: object, agents: Sequence[object], evaluator: AgentEvaluator
    ) -> Program[ExperimentResult]:
        evaluator.reset_iterations_results()
        try:
            yield from _run_inputs(crew, agents, case.inputs)
            yield _AwaitEvaluation(evaluator)
            evaluations = evaluator.aggregate()
            scores = mean_scores(evaluations)
            passed = is_passing(case.expected_score, scores)
            update = {"score": _single_or_all(scores), "passed": passed, "agent_evaluations": dict(evaluations)}
            return case.model_copy(update=update)
        except Exception as error:  # logged, and the other cases are run
            if is_control_flow(error) or raised_by_signal(error):
                raise
            _log.warning("the case `%s` could not be run: %s: %s", case.identifier, type(error).__name__, error)
            return case


class _Kickoff(Operation):
    """Runs a kickoff of a crew or an agent to its end."""

    def __init__(self, runnable: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.runnable, self.args, self.kwargs = runnable, args, kwargs

    def run(self) -> Any:
        output = self.runnable.kickoff(*self.args, **self.kwargs)
        if not isinstance(output, StreamingOutputBase):
            return output
        for _ in (stream := cast("StreamingOutputBase[Any]", output)):
            pass
        return stream.result

    async def arun(self) -> Any:
        output = await self.runnable.akickoff(*self.args, **self.kwargs)
        if not isinstance(output, StreamingOutputBase):
            return output
        async for _ in (stream := cast("StreamingOutputBase[Any]", output)):
            pass
        return stream.result


class _AwaitEvaluation(Operation):
    """Waits for pending evaluations."""

    def __init__(self, evaluator: AgentEvaluator) -> None:
        self.evaluator = evaluator

    def run(self) -> None:
        self.evaluator.finish()

    async def arun(self) -> None:
        await self.evaluator.afinish()


def _run_inputs(crew: object, agents: Sequence[object], inputs: PlainMapping) -> Program[None]:
    if crew is not None:
        output = yield _Kickoff(crew, (inputs,), {})
        if isinstance(output, PendingCrew):
            raise RunError(str(output))
        return
    for agent in agents:
        yield _Kickoff(agent, (), inputs)


def _parse_case(number: int, case: PlainMapping) -> ExperimentResult:
    """Validate a case and return its result as not passed."""
    for name in ("inputs", "expected_score"):
        if name not in case:
            raise KeyError(f"the case dataset[{number}] has no `{name}`: {case!r:.200}")
    # Deterministic, so that baselines recognize the case.
    digest = hashlib.md5(str(case).encode(), usedforsecurity=False).hexdigest()
    expected = case["expected_score"]
    if isinstance(expected, Mapping):
        by_name = cast("Mapping[Any, Any]", expected).items()
        expected = {name.value if isinstance(name, MetricCategory) else str(name): score for name, score in by_name}
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
        problems = "; ".join(f"`{item['loc'][0]}`: {fault_text(item)}" for item in error.errors())
        raise ValueError(f"the case dataset[{number}] cannot be run: {problems}: {case!r:.200}") from error


def mean_scores(evaluations: Mapping[str, AgentAggregatedEvaluationResult]) -> dict[str, float]:
    """Return the mean score of all agents for each metric that has one."""
    by_metric: dict[str, list[float]] = {}
    for evaluation in evaluations.values():
        for category, score in evaluation.metrics.items():
            if score.score is not None:
                by_metric.setdefault(category.value, []).append(score.score)
    return {name: sum(scores) / len(scores) for name, scores in by_metric.items()}


def is_passing(expected: float | Mapping[str, float], scores: Mapping[str, float]) -> bool:
    """Return whether scores by metric reach the expectation; a metric without a score does not."""
    if isinstance(expected, Mapping):
        return all(name in scores and scores[name] >= minimum for name, minimum in expected.items())
    average = mean(scores.values())
    return average is not None and average >= expected


def _single_or_all(scores: dict[str, float]) -> float | dict[str, float]:
    return next(iter(scores.values())) if len(scores) == 1 else scores


def run_experiment(
    dataset: Sequence[Mapping[str, object]],
    crew: object = None,
    agents: Sequence[Any] | None = None,
    verbose: bool = False,
    *,
    llm: object = None,
) -> ExperimentResults:
    """Run an experiment; see `ExperimentRunner.run`.

    Args:
        dataset: The cases.
        crew: The crew to run.
        agents: The agents to evaluate.
        verbose: Whether to print the scores.
        llm: The model that evaluates.
    """
    return ExperimentRunner(dataset).run(crew=crew, agents=agents, print_summary=verbose, llm=llm)


def assert_experiment_successfully(experiment_results: ExperimentResults, baseline_filepath: str | None = None) -> None:
    """Assert that every case passed and none regressed since the previous run, then store this run.

    Args:
        experiment_results: The results.
        baseline_filepath: File that stores the runs; None uses "<name of the calling function>_results.json".

    Raises:
        AssertionError: If a case did not pass.
        ValueError: If the file does not contain runs.
    """
    failed = [result for result in experiment_results.results if not result.passed]
    if failed:
        lines = [f"- {case.identifier}: {case.score} where {case.expected_score} was expected" for case in failed]
        raise AssertionError("\n".join([f"{len(failed)} of {len(experiment_results.results)} cases failed:", *lines]))
    path = baseline_filepath or f"{sys._getframe(1).f_code.co_name}_results.json"  # pyright: ignore[reportPrivateUsage]
    assert_experiment_no_regression(experiment_results.compare_with_baseline(baseline_filepath=path))


def assert_experiment_no_regression(comparison_result: PlainMapping) -> None:
    """Assert that no case has regressed, and warn about cases that are missing.

    Args:
        comparison_result: The result of `ExperimentResults.compare_with_baseline`.

    Raises:
        AssertionError: If a case has regressed.
    """
    if regressed := comparison_result.get("regressed"):
        raise AssertionError(f"These cases passed before, and fail now: {', '.join(regressed)}")
    if missing := comparison_result.get("missing_tests"):
        warnings.warn(f"These cases of the run before are missing: {', '.join(missing)}", stacklevel=user_stacklevel())
