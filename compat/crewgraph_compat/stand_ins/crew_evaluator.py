"""Marking by hand what the tasks of a crew give."""

from collections import defaultdict
from typing import Any

from pydantic import BaseModel, Field

from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.evaluation import CrewTestResult, ScoredRound, TaskScore
from crewgraph.definitions.task.conversion import Converter
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import Task
from crewgraph.events import CrewTestResultEvent, crewai_event_bus
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.usage import total
from crewgraph.prompts.book import english
from crewgraph.runtime.crew.evaluation import show_scores
from crewgraph.schema import described

__all__ = ["CrewEvaluator", "TaskEvaluationPydanticOutput"]


class TaskEvaluationPydanticOutput(BaseModel):
    """A mark."""

    quality: float = Field(description="How well the result does what was asked for, from 1 (not at all) to 10")
    """1 to 10."""


class CrewEvaluator:
    """Marks each output of a crew's tasks, as their callback; `crew.test(...)` does it all.

    Args:
        crew: whose tasks.
        eval_llm: who marks; None is the model that the environment names.
        openai_model_name: the same, by name.
        llm: the same.

    Raises:
        ModelError: that is no model.
    """

    def __init__(self, crew: Crew, eval_llm: Any = None, openai_model_name: str | None = None, llm: Any = None) -> None:
        self.crew = crew
        self.llm = as_llm(eval_llm or llm or openai_model_name)
        self.iteration = 0
        self.tasks_scores: dict[int, list[float]] = defaultdict(list)
        self.run_execution_times: dict[int, list[float]] = defaultdict(list)
        self._scores: dict[int, list[TaskScore]] = defaultdict(list)
        for task in crew.tasks:
            task.callback = self.evaluate

    def set_iteration(self, iteration: int) -> None:
        """Say which round it is, from 1."""
        self.iteration = iteration

    def evaluate(self, task_output: TaskOutput) -> None:
        """Mark an output, and keep the mark with the round.

        Raises:
            ValueError: no task of the crew has its description.
            ConverterError: the model wrote no mark that can be read.
        """
        task = next((one for one in self.crew.tasks if one.description == task_output.description), None)
        if task is None:
            raise ValueError(f"no task of the crew has the description {task_output.description!r:.80}")
        quality, seconds = self._marked(task, task_output), task.execution_duration or 0.0
        self.tasks_scores[self.iteration].append(quality)
        self.run_execution_times[self.iteration].append(seconds)
        name = task_output.name or task_output.description
        score = TaskScore(task=name, agent=task_output.agent, score=quality, seconds=seconds, usage=task_output.usage)
        self._scores[self.iteration].append(score)
        event = CrewTestResultEvent(
            quality=quality,
            execution_duration=seconds,
            model=str(getattr(self.llm, "model", "")),
            crew_name=self.crew.name,
            crew=self.crew,
        )
        crewai_event_bus.emit(self.crew, event)

    def print_crew_evaluation_result(self, token_usage: list[dict[str, Any]] | None = None) -> None:
        """Print the marks of all rounds as a table.

        Args:
            token_usage: not looked at: outputs tell what they used.
        """
        result = CrewTestResult(model=str(getattr(self.llm, "model", "")))
        for scores in self._scores.values():
            usage = total(one.usage for one in scores)
            result.rounds.append(
                ScoredRound(scores=scores, seconds=sum(one.seconds for one in scores), usage=usage, cost=None)
            )
        if result.rounds:
            show_scores(result)

    def _marked(self, task: Task, output: TaskOutput) -> float:
        book = english()
        text = book.slice(
            "evaluation_text", task=task.description, expected_output=task.expected_output, output=output.raw
        )
        instructions = book.slice("evaluation_system", schema=described(TaskEvaluationPydanticOutput))
        model = TaskEvaluationPydanticOutput
        mark: Any = Converter(text=text, llm=self.llm, model=model, instructions=instructions).to_pydantic()
        return mark.quality
