"""Evaluate crews and tasks directly."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from crewgraph.crew import Crew
from crewgraph.definitions.crew.evaluation import CrewTestResult, ScoredRound, TaskScore
from crewgraph.definitions.crew.training import TrainedAgent
from crewgraph.definitions.task.conversion import Converter
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.events import CrewTestResultEvent, crewai_event_bus
from crewgraph.llm.resolve import as_llm
from crewgraph.llm.usage import total
from crewgraph.prompts.book import default_book
from crewgraph.runtime.crew.evaluation import show_scores
from crewgraph.schema import model_outline
from crewgraph.task import Task
from crewgraph_compat.stand_ins.events import TaskEvaluationEvent

__all__ = ["CrewEvaluator", "Entity", "TaskEvaluation", "TaskEvaluationPydanticOutput", "TaskEvaluator"]


class TaskEvaluationPydanticOutput(BaseModel):
    """A mark."""

    quality: float = Field(description="How well the result does what was asked for, from 1 (not at all) to 10")
    """1 to 10."""


class CrewEvaluator:
    """Score each task output of a crew as its task callback; `crew.test(...)` does this automatically.

    Args:
        crew: the crew.
        eval_llm: the judge model; None selects the model configured in the environment.
        openai_model_name: the judge model by name.
        llm: an alias of `eval_llm`.

    Raises:
        ModelError: The value is not a model.
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
        """Set the number of the current round, starting at 1."""
        self.iteration = iteration

    def evaluate(self, task_output: TaskOutput) -> None:
        """Score an output and store the score with the current round.

        Raises:
            ValueError: No task of the crew has this description.
            ConverterError: The model's score could not be parsed.
        """
        task = next((item for item in self.crew.tasks if item.description == task_output.description), None)
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
        """Print the scores of all rounds as a table.

        Args:
            token_usage: ignored; the outputs contain their usage.
        """
        result = CrewTestResult(model=str(getattr(self.llm, "model", "")))
        for scores in self._scores.values():
            usage = total(item.usage for item in scores)
            result.rounds.append(
                ScoredRound(scores=scores, seconds=sum(item.seconds for item in scores), usage=usage, cost=None)
            )
        if result.rounds:
            show_scores(result)

    def _marked(self, task: Task, output: TaskOutput) -> float:
        book = default_book()
        text = book.slice(
            "evaluation_text", task=task.description, expected_output=task.expected_output, output=output.raw
        )
        instructions = book.slice("evaluation_system", schema=model_outline(TaskEvaluationPydanticOutput))
        model = TaskEvaluationPydanticOutput
        mark: Any = Converter(text=text, llm=self.llm, model=model, instructions=instructions).to_pydantic()
        return mark.quality


_NEEDED = ("initial_output", "human_feedback", "improved_output")


class Entity(BaseModel):
    """A person or thing that a result says something about."""

    name: str = Field(description="Its name")
    """Its name."""

    type: str = Field(description="What kind of thing it is")
    """Its type."""

    description: str = Field(description="What the result says of it")
    """The statements of the result about it."""

    relationships: list[str] = Field(description="How it stands to others")
    """Its relations to other entities."""


class TaskEvaluation(BaseModel):
    """A model's evaluation of a result."""

    suggestions: list[str] = Field(description="What is to be done better next time, as short instructions")
    """Suggestions for the next time."""

    quality: float = Field(description="How well the result does what was asked for, 0 to 10")
    """The quality of the result, 0 to 10."""

    entities: list[Entity] = Field(description="People, places and things with a name that it tells something about")
    """The entities in the result."""


class TaskEvaluator:
    """Evaluate results with an agent's model. Runs with memory and training do this automatically.

    Args:
        original_agent: the agent that did the work and whose model evaluates it.
    """

    def __init__(self, original_agent: Any) -> None:
        self.original_agent = original_agent
        self.llm = original_agent.llm

    def evaluate(self, task: Task, output: str) -> TaskEvaluation:
        """Return the model's evaluation of a result.

        Raises:
            ConverterError: The model's reply could not be parsed.
        """
        crewai_event_bus.emit(self, TaskEvaluationEvent(evaluation_type="task_evaluation", task=task))
        book = default_book()
        text = book.slice("assessment_text", task=task.description, expected_output=task.expected_output, output=output)
        return self._evaluation(text, "assessment_system", TaskEvaluation)

    def evaluate_training_data(self, training_data: Mapping[str, Any], agent_id: str) -> TrainedAgent:
        """Return what an agent can learn from its training data.

        Args:
            training_data: by agent and round, dicts with "initial_output", "human_feedback" and "improved_output".
            agent_id: the agent's id.

        Raises:
            ConverterError: The model's reply could not be parsed.
            KeyError: There are no data for this agent.
            ValueError: The data of a round are incomplete.
        """
        crewai_event_bus.emit(self, TaskEvaluationEvent(evaluation_type="training_data_evaluation", task=None))
        rounds = [_round(number, entry, agent_id) for number, entry in training_data[agent_id].items()]
        role, goal = (str(getattr(self.original_agent, field, "")) for field in ("role", "goal"))
        text = default_book().slice("training_text", role=role, goal=goal, rounds="\n\n".join(rounds))
        return self._evaluation(text, "training_system", TrainedAgent)

    def _evaluation(self, text: str, key: str, model: type[Any]) -> Any:
        instructions = default_book().slice(key, schema=model_outline(model))
        return Converter(text=text, llm=self.llm, model=model, instructions=instructions).to_pydantic()


def _round(number: Any, entry: Mapping[str, Any], agent_id: str) -> str:
    if missing := [name for name in _NEEDED if not entry.get(name)]:
        raise ValueError(f"round {number} of agent `{agent_id}` lacks {', '.join(f'`{item}`' for item in missing)}")
    return default_book().slice(
        "training_of_answer",
        number=str(number),
        task="-",
        answer=str(entry["initial_output"]),
        human_feedback=str(entry["human_feedback"]),
        improved=str(entry["improved_output"]),
    )
