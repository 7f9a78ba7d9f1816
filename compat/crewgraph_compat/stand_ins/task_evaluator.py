"""Judging by hand how a task was done, and what is to be learned from what people said."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from crewgraph.definitions.crew.training import TrainedAgent
from crewgraph.definitions.task.conversion import Converter
from crewgraph.definitions.task.task import Task
from crewgraph.events import TaskEvaluationEvent, crewai_event_bus
from crewgraph.prompts.book import english
from crewgraph.schema import described

__all__ = ["Entity", "TaskEvaluation", "TaskEvaluator"]

_NEEDED = ("initial_output", "human_feedback", "improved_output")


class Entity(BaseModel):
    """Somebody or something that a result tells of."""

    name: str = Field(description="Its name")
    """Its name."""

    type: str = Field(description="What kind of thing it is")
    """What kind of thing it is."""

    description: str = Field(description="What the result says of it")
    """What the result says of it."""

    relationships: list[str] = Field(description="How it stands to others")
    """How it stands to others."""


class TaskEvaluation(BaseModel):
    """What a model says of a result."""

    suggestions: list[str] = Field(description="What is to be done better next time, as short instructions")
    """What is to be done better next time."""

    quality: float = Field(description="How well the result does what was asked for, 0 to 10")
    """How well it does what was asked for, 0 to 10."""

    entities: list[Entity] = Field(description="People, places and things with a name that it tells something about")
    """Who and what it tells of."""


class TaskEvaluator:
    """Asks an agent's model; runs with memory do it by themselves, and so does a training.

    Args:
        original_agent: the agent that did the work, whose model judges.
    """

    def __init__(self, original_agent: Any) -> None:
        self.original_agent = original_agent
        self.llm = original_agent.llm

    def evaluate(self, task: Task, output: str) -> TaskEvaluation:
        """What the model says of a result.

        Raises:
            ConverterError: it wrote nothing that can be read.
        """
        crewai_event_bus.emit(self, TaskEvaluationEvent(evaluation_type="task_evaluation", task=task))
        book = english()
        text = book.slice("assessment_text", task=task.description, expected_output=task.expected_output, output=output)
        return self._asked(text, "assessment_system", TaskEvaluation)

    def evaluate_training_data(self, training_data: Mapping[str, Any], agent_id: str) -> TrainedAgent:
        """What is to be learned from a training.

        Args:
            training_data: by agents, of each by rounds: "initial_output", "human_feedback" and "improved_output".
            agent_id: which agent.

        Raises:
            ConverterError: the model wrote nothing that can be read.
            KeyError: nothing is there of this agent.
            ValueError: something of a round is missing.
        """
        crewai_event_bus.emit(self, TaskEvaluationEvent(evaluation_type="training_data_evaluation", task=None))
        rounds = [_round(number, said, agent_id) for number, said in training_data[agent_id].items()]
        role, goal = (str(getattr(self.original_agent, field, "")) for field in ("role", "goal"))
        text = english().slice("training_text", role=role, goal=goal, rounds="\n\n".join(rounds))
        return self._asked(text, "training_system", TrainedAgent)

    def _asked(self, text: str, key: str, model: type[Any]) -> Any:
        instructions = english().slice(key, schema=described(model))
        return Converter(text=text, llm=self.llm, model=model, instructions=instructions).to_pydantic()


def _round(number: Any, said: Mapping[str, Any], agent_id: str) -> str:
    if missing := [name for name in _NEEDED if not said.get(name)]:
        raise ValueError(f"round {number} of agent `{agent_id}` lacks {', '.join(f'`{one}`' for one in missing)}")
    return english().slice(
        "training_of_answer",
        number=str(number),
        task="-",
        answer=str(said["initial_output"]),
        human_feedback=str(said["human_feedback"]),
        improved=str(said["improved_output"]),
    )
