"""Evaluation of crews: the `test` methods and the classes of their results."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.definitions.costs import total_cost
from crewgraph.llm.usage import UsageMetrics, total


class Mark(BaseModel, defer_build=True):
    """What a model says of an answer."""

    quality: float = Field(
        ge=1,
        le=10,
        description="How well the result meets the task, from 1 (not at all) to 10 (in every respect)",
    )
    """1 to 10."""

    reasons: str = Field("", description="The reasons in a few sentences: what is good and what is missing")
    """The reason for the score."""


class TaskScore(BaseModel, defer_build=True):
    """A task in one round of a test."""

    model_config = ConfigDict(frozen=True)

    task: str
    """The task's name, else its description."""

    agent: str
    """The role of the agent that did it."""

    score: float | None = None
    """The score, 1 to 10; None where the task was skipped or could not be judged."""

    reasons: str = ""
    """The reason for the score."""

    error: str | None = None
    """The reason why it could not be judged."""

    skipped: bool = False
    """Whether it was a conditional task that was skipped."""

    seconds: float = 0.0
    """The duration of the task in seconds."""

    usage: UsageMetrics = Field(default_factory=UsageMetrics)
    """The reported usage of the task, without judging."""

    cost: float | None = None
    """The cost in USD; None where a price or the tokens are unknown."""


class ScoredRound(BaseModel, defer_build=True):
    """One round of a test."""

    model_config = ConfigDict(frozen=True)

    scores: list[TaskScore]
    """The tasks, in their order."""

    seconds: float
    """The duration of the run in seconds."""

    usage: UsageMetrics
    """The reported usage of the run, with planning and without judging."""

    cost: float | None
    """The cost in USD; None where a price or the tokens are unknown."""

    @property
    def average(self) -> float | None:
        """The mean of its scores; None if there is none."""
        return mean(score.score for score in self.scores)


class CrewTestResult(BaseModel, defer_build=True):
    """The results of a test of a crew."""

    model: str
    """The model that judged."""

    rounds: list[ScoredRound] = Field(default_factory=list[ScoredRound])
    """The rounds that are finished, in order."""

    evaluation_usage: UsageMetrics = Field(default_factory=UsageMetrics)
    """The usage of the judging model, which is not included in the usage of the crew."""

    @property
    def scores(self) -> list[TaskScore]:
        """Every task of every round."""
        return [score for item in self.rounds for score in item.scores]

    @property
    def by_task(self) -> list[list[TaskScore]]:
        """The rounds of each task, in the order of the tasks."""
        return [list(item) for item in zip(*(item.scores for item in self.rounds), strict=True)]

    @property
    def average(self) -> float | None:
        """The mean of all scores; None if there is none."""
        return mean(score.score for score in self.scores)

    @property
    def usage(self) -> UsageMetrics:
        """The reported usage of all rounds, without judging."""
        return total(item.usage for item in self.rounds)

    @property
    def seconds(self) -> float:
        """The duration of all rounds in seconds."""
        return sum(item.seconds for item in self.rounds)

    @property
    def cost(self) -> float | None:
        """The cost of all rounds in USD, without judging; None where a price or the tokens are unknown."""
        return total_cost(item.cost for item in self.rounds)


def mean(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers that are not None; None without any."""
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None
