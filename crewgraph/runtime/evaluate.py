"""Testing a crew: rounds whose outputs a model marks."""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from crewgraph.compiler.bodies.marking import marked
from crewgraph.compiler.limited import first_llm, model_of
from crewgraph.compiler.memories import FORGETTING
from crewgraph.core.effects import Body
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent import Agent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.evaluation import CrewTestResult, ScoredRound, TaskScore
from crewgraph.definitions.output import CrewOutput, TaskOutput
from crewgraph.definitions.task import Task
from crewgraph.events.crew import (
    CrewTestCompletedEvent,
    CrewTestFailedEvent,
    CrewTestResultEvent,
    CrewTestStartedEvent,
)
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger, total
from crewgraph.runtime.alone import body_alone
from crewgraph.runtime.console import shown
from crewgraph.runtime.kickoff import checked_inputs, kicked_off, tell, why
from crewgraph.runtime.operations import CallBack, Heard
from crewgraph.runtime.scores import show_scores
from crewgraph.runtime.train import checked_rounds

__all__ = ["atest", "test"]

_log = logging.getLogger("crewgraph")


def test(
    crew: Crew, n_iterations: int, eval_llm: Any, inputs: Mapping[str, Any] | None, checkpointer: Any
) -> CrewTestResult:
    """Test a crew; see `Crew.test`."""
    return drive(_tested(crew, n_iterations, eval_llm, inputs, checkpointer))


async def atest(
    crew: Crew, n_iterations: int, eval_llm: Any, inputs: Mapping[str, Any] | None, checkpointer: Any
) -> CrewTestResult:
    """Test a crew on this event loop; see `Crew.atest`."""
    return await adrive(_tested(crew, n_iterations, eval_llm, inputs, checkpointer))


def _tested(
    crew: Crew, n_iterations: int, eval_llm: Any, inputs: Mapping[str, Any] | None, checkpointer: Any
) -> Program[CrewTestResult]:
    rounds = checked_rounds(n_iterations)
    given = checked_inputs(inputs or {})
    judge = _Judge(crew, first_llm(crew, eval_llm))
    result = CrewTestResult(model=judge.model.name)
    about: dict[str, Any] = {"crew_name": crew.name, "crew": crew}
    with shown(crew):
        tell(CrewTestStartedEvent, crew, **about, n_iterations=rounds, eval_llm=judge.model.name, inputs=given)
        try:
            for _ in range(rounds):
                begun = time.monotonic()
                output = yield from _ran(crew, given, checkpointer)
                took = time.monotonic() - begun
                outputs = _outputs(crew, output)
                scores = yield from judge.scores(outputs, result)
                result.rounds.append(_round(output, scores, took))
        except BaseException as error:
            tell(CrewTestFailedEvent, crew, **about, error=why(error))
            if result.rounds:
                error.add_note(
                    f"{len(result.rounds)} of {rounds} rounds of the test are finished: `result` of this exception holds them"
                )
                error.result = result  # pyright: ignore[reportAttributeAccessIssue]
            raise
        yield CallBack(show_scores, result)
        tell(CrewTestCompletedEvent, crew, **about)
        yield Heard()
    return result


def _ran(crew: Crew, inputs: dict[str, Any], checkpointer: Any) -> Program[Any]:
    """A round, of which the crew remembers nothing, as it is to be judged by what it does without."""
    token = FORGETTING.set(crew)
    try:
        return (yield from kicked_off(crew, inputs, None, checkpointer, "task"))
    finally:
        FORGETTING.reset(token)


def _outputs(crew: Crew, output: Any) -> list[tuple[Task, TaskOutput]]:
    """The tasks with what they gave; empty texts where they were skipped."""
    if isinstance(output, CrewOutput) and len(output.tasks_output) == len(crew.tasks):
        return list(zip(crew.tasks, output.tasks_output, strict=True))
    # An `after_kickoff` function gave something else in its place.
    return [(task, task.output) for task in crew.tasks if task.output is not None]


class _Judge:
    """Marks what tasks gave."""

    def __init__(self, crew: Crew, llm: Any) -> None:
        self._crew, self._book = crew, crew.texts.book
        self._agent = Agent(
            role=self._book.slice("evaluator_role"),
            goal=self._book.slice("evaluator_goal"),
            backstory=self._book.slice("evaluator_backstory"),
            llm=llm,
        )
        self.model: Model = as_model(llm)  # one that is not there is told before anything is paid for

    def scores(self, outputs: Sequence[tuple[Task, TaskOutput]], result: CrewTestResult) -> Program[list[TaskScore]]:
        """The scores of a round; what judging used is added to the result."""
        given = [(output, self._asked(task)) for task, output in outputs if output.raw]
        marks: list[dict[str, Any]] = []
        if given:

            def body(_: Mapping[str, Any]) -> Body[dict[str, Any]]:
                return {"marks": {"all": (yield from marked(given, self._book))}}

            found = yield from body_alone(f"Evaluation: {self._crew.name}", "marks", body)
            marks = found["all"]
        each, used = iter(marks), UsageLedger()
        scores: list[TaskScore] = []
        for task, output in outputs:
            mark: dict[str, Any] = next(each) if output.raw else {}
            used.add(mark.get("usage") or {})
            scores.append(_score(task, output, mark))
            self._told(task, scores[-1])
        result.evaluation_usage.add_usage_metrics(used.total)
        return scores

    def _asked(self, task: Task) -> Model:
        return model_of(self._agent.llm, self._agent, task, self._crew)

    def _told(self, task: Task, score: TaskScore) -> None:
        if score.error is not None:
            _log.warning("task `%s` could not be judged: %s", score.task, score.error)
        if score.score is not None:
            told: dict[str, Any] = {"crew_name": self._crew.name, "crew": self._crew, "model": self.model.name}
            tell(CrewTestResultEvent, self._crew, **told, quality=score.score, execution_duration=score.seconds)


def _round(output: Any, scores: list[TaskScore], seconds: float) -> ScoredRound:
    if isinstance(output, CrewOutput):
        return ScoredRound(scores=scores, seconds=seconds, usage=output.token_usage, cost=output.cost)
    costs = [one.cost for one in scores]
    cost = None if None in costs else sum(one for one in costs if one is not None)
    return ScoredRound(scores=scores, seconds=seconds, usage=total(one.usage for one in scores), cost=cost)


def _score(task: Task, output: TaskOutput, mark: Mapping[str, Any]) -> TaskScore:
    return TaskScore(
        task=output.name or output.description,
        agent=output.agent,
        score=mark.get("quality"),
        reasons=mark.get("reasons") or "",
        error=mark.get("error"),
        skipped=not output.raw,
        seconds=(task.execution_duration or 0.0) if output.raw else 0.0,
        usage=output.usage,
        cost=output.cost,
    )
