"""Tests a crew: rounds whose task outputs a model scores, and the table of scores."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial

from crewgraph.compiler.agent.models import first_llm, model_of
from crewgraph.compiler.surroundings import AROUND
from crewgraph.compiler.task.structure import request_structured
from crewgraph.core.effects import Body, EffectFailed, Scope, Together
from crewgraph.core.messages import Message
from crewgraph.core.operations import Program, user_call
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import AgentDefinition
from crewgraph.definitions.costs import total_cost
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.evaluation import CrewTestResult, Mark, ScoredRound, TaskScore, mean
from crewgraph.definitions.run_options import Checkpointer, Inputs, RunOptions
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.events.crew import (
    CrewTestCompletedEvent,
    CrewTestFailedEvent,
    CrewTestResultEvent,
    CrewTestStartedEvent,
)
from crewgraph.llm.resolve import as_model
from crewgraph.llm.usage import UsageLedger, total
from crewgraph.observe.progress import progress
from crewgraph.prompts.i18n import Book
from crewgraph.redaction import redacted_logger
from crewgraph.runtime.agent.standalone import run_standalone
from crewgraph.runtime.console import crew_console
from crewgraph.runtime.crew.kickoff import emit_crew_event, failure_text, kickoff_program, validate_inputs
from crewgraph.runtime.crew.training import checked_rounds
from crewgraph.runtime.execution import wait_for_listeners
from crewgraph.schema import PlainDict, model_outline
from crewgraph.scoped import scoped
from crewgraph.text import shorten


def show_scores(result: CrewTestResult) -> None:
    """Print the scores of each task and round, with averages, times, tokens and costs."""
    rounds = result.rounds
    tasks = [
        [
            scores[0].task,
            scores[0].agent,
            *(_mark_text(score) for score in scores),
            _number(mean(score.score for score in scores), 1),
        ]
        for scores in result.by_task
    ]
    whole = [
        _summary("Crew", [item.average for item in rounds], 1),
        _summary("Seconds", [item.seconds for item in rounds], 1),
        _summary("Tokens", [item.usage.total_tokens for item in rounds], 0),
        _summary("Cost (USD)", [item.cost for item in rounds], 4),
    ]
    heads = ["Task", "Agent", *(f"Round {number}" for number in range(1, len(rounds) + 1)), "Average"]
    below = f"Judging took another {result.evaluation_usage.total_tokens} tokens."
    from crewgraph.observe.console import show_table

    show_table(f"Scores from 1 to 10, given by {result.model}", 2, heads, [tasks, whole], below)


def _summary(name: str, values: Sequence[float | None], digits: int) -> list[str]:
    return [name, "", *(_number(value, digits) for value in values), _number(mean(values), digits)]


def _mark_text(score: TaskScore) -> str:
    if score.skipped:
        return "skipped"
    return "failed" if score.error is not None else _number(score.score, 1)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


_log = redacted_logger("crewgraph")


def evaluation_program(
    crew: CrewDefinition, n_iterations: int, eval_llm: object, inputs: Inputs | None, checkpointer: Checkpointer
) -> Program[CrewTestResult]:
    """Test a crew; see `Crew.test`."""
    rounds = checked_rounds(n_iterations)
    if rounds < 1:
        raise ValueError(f"`n_iterations` is {rounds}; pass the number of rounds, at least 1")
    values = validate_inputs(inputs or {})
    judge = _Judge(crew, first_llm(crew, eval_llm))
    result = CrewTestResult(model=judge.model.name)
    fields: dict[str, object] = {"crew_name": crew.name, "crew": crew}
    with crew_console(crew) or nullcontext():
        emit_crew_event(
            CrewTestStartedEvent, crew, **fields, n_iterations=rounds, eval_llm=judge.model.name, inputs=values
        )
        try:
            with progress(f"Test of {crew.name}", rounds, "rounds", shown=not crew.verbose) as shown:
                for _ in range(rounds):
                    started = time.monotonic()
                    # It saves no memories, so that rounds do not influence each other.
                    with scoped(AROUND, AROUND.get()._replace(tested=crew)):
                        output = yield from kickoff_program(crew, values, RunOptions(checkpointer=checkpointer))
                    seconds = time.monotonic() - started
                    outputs = _outputs(crew, output)
                    scores = yield from judge.scores(outputs, result)
                    result.rounds.append(_round(output, scores, seconds))
                    shown.advance()
        except GeneratorExit:
            raise
        except BaseException as error:  # also Ctrl-C: the event of the end is emitted
            emit_crew_event(CrewTestFailedEvent, crew, **fields, error=failure_text(error))
            if result.rounds:
                error.add_note(
                    f"{len(result.rounds)} of {rounds} rounds of the test are finished: `result` of this exception holds them"
                )
                error.result = result  # pyright: ignore[reportAttributeAccessIssue]
            raise
        yield user_call(show_scores, result)
        emit_crew_event(CrewTestCompletedEvent, crew, **fields)
        yield from wait_for_listeners()
    return result


def _outputs(crew: CrewDefinition, output: object) -> list[tuple[TaskDefinition, TaskOutput]]:
    """Return the tasks with their outputs."""
    if isinstance(output, CrewOutput) and len(output.tasks_output) == len(crew.tasks):
        return list(zip(crew.tasks, output.tasks_output, strict=True))
    # An `after_kickoff` function replaced the output.
    return [(task, task.output) for task in crew.tasks if task.output is not None]


class _Judge:
    """Scores the outputs of tasks."""

    def __init__(self, crew: CrewDefinition, llm: object) -> None:
        self._crew, self._book = crew, crew.texts.book
        self.model: Model = as_model(llm)  # a missing model fails here, before anything is paid for
        self._agent = AgentDefinition.public_class(
            role=self._book.slice("evaluator_role"),
            goal=self._book.slice("evaluator_goal"),
            backstory=self._book.slice("evaluator_backstory"),
            llm=llm,
        )

    def scores(
        self, outputs: Sequence[tuple[TaskDefinition, TaskOutput]], result: CrewTestResult
    ) -> Program[list[TaskScore]]:
        """Return the scores of a round; the usage of the judging model is added to the result."""
        judged = [
            (output, model_of(self._agent.llm, self._agent, task, self._crew))
            for task, output in outputs
            if not output.was_skipped
        ]
        marks: list[PlainDict] = []
        if judged:

            def body(_: Mapping[str, object]) -> Body[dict[str, object]]:
                scopes = [
                    Scope(
                        name=f"Evaluation: {shorten(output.name or output.description, 60)}",
                        body=partial(_mark_output, output, model, self._book),
                    )
                    for output, model in judged
                ]
                return {"marks": {"all": (yield Together(scopes))}}

            result_by_node = yield from run_standalone(f"Evaluation: {self._crew.name}", "marks", body)
            marks = result_by_node["all"]
        remaining_marks, ledger = iter(marks), UsageLedger()
        scores: list[TaskScore] = []
        for task, output in outputs:
            mark: PlainDict = {} if output.was_skipped else next(remaining_marks)
            ledger.add(mark.get("usage") or {})
            scores.append(_score(task, output, mark))
            self._report(task, scores[-1])
        result.evaluation_usage.add_usage_metrics(ledger.total)
        return scores

    def _report(self, task: TaskDefinition, score: TaskScore) -> None:
        if score.error is not None:
            _log.warning("task `%s` could not be judged: %s", score.task, score.error)
        if score.score is not None:
            fields: dict[str, object] = {"crew_name": self._crew.name, "crew": self._crew, "model": self.model.name}
            emit_crew_event(
                CrewTestResultEvent, self._crew, **fields, quality=score.score, execution_duration=score.seconds
            )


def _round(output: object, scores: list[TaskScore], seconds: float) -> ScoredRound:
    if isinstance(output, CrewOutput):
        return ScoredRound(scores=scores, seconds=seconds, usage=output.token_usage, cost=output.cost)
    usage, cost = total(score.usage for score in scores), total_cost(score.cost for score in scores)
    return ScoredRound(scores=scores, seconds=seconds, usage=usage, cost=cost)


def _score(task: TaskDefinition, output: TaskOutput, mark: PlainDict) -> TaskScore:
    return TaskScore(
        task=output.name or output.description,
        agent=output.agent,
        score=mark.get("quality"),
        reasons=mark.get("reasons") or "",
        error=mark.get("error"),
        skipped=output.was_skipped,
        seconds=0.0 if output.was_skipped else task.execution_duration or 0.0,
        usage=output.usage,
        cost=output.cost,
    )


def _mark_output(output: TaskOutput, model: Model, book: Book) -> Body[dict[str, object]]:
    """Return the mark of an output, or the `error` that prevented it, with the `usage` of the model that judges it."""
    usage = UsageLedger()
    text = book.slice(
        "evaluation_text",
        task=output.description,
        expected_output=output.expected_output or "",
        output=output.raw,
    )
    messages: list[Message] = [
        {"role": "system", "content": book.slice("evaluation_system", schema=model_outline(Mark))},
        {"role": "user", "content": text},
    ]
    try:
        reply = yield from request_structured(messages, Mark, model, book, usage)
    except EffectFailed as failure:
        return {"error": str(failure), "usage": usage.to_plain()}
    if reply.value is None:
        problem = (
            f"no mark that can be parsed, even after retries: {reply.problem}; last reply: {shorten(reply.text, 120)!r}"
        )
        return {"error": problem, "usage": usage.to_plain()}
    return {**reply.value.model_dump(), "usage": usage.to_plain()}
