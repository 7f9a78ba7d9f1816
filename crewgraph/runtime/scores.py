"""The scores of a test as the table that people are shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crewgraph.definitions.crew.evaluation import CrewTestResult, TaskScore, mean
from crewgraph.lazy import lazy

if TYPE_CHECKING:
    from crewgraph.observe.table import show
else:
    show = lazy("crewgraph.observe.table:show")

__all__ = ["show_scores"]


def show_scores(result: CrewTestResult) -> None:
    """Print the scores of each task and round, with averages, times, tokens and costs."""
    rounds = result.rounds
    tasks = [
        [
            scores[0].task,
            scores[0].agent,
            *(_mark(one) for one in scores),
            _number(mean(one.score for one in scores), 1),
        ]
        for scores in result.by_task
    ]
    whole = [
        _summary("Crew", [one.average for one in rounds], 1),
        _summary("Seconds", [one.seconds for one in rounds], 1),
        _summary("Tokens", [one.usage.total_tokens for one in rounds], 0),
        _summary("Cost (USD)", [one.cost for one in rounds], 4),
    ]
    heads = ["Task", "Agent", *(f"Round {number}" for number in range(1, len(rounds) + 1)), "Average"]
    below = f"Judging took {result.evaluation_usage.total_tokens} tokens more."
    show(f"Scores from 1 to 10, given by {result.model}", 2, heads, [tasks, whole], below)


def _summary(name: str, values: Sequence[float | None], digits: int) -> list[str]:
    return [name, "", *(_number(one, digits) for one in values), _number(mean(values), digits)]


def _mark(score: TaskScore) -> str:
    if score.skipped:
        return "skipped"
    return "failed" if score.error is not None else _number(score.score, 1)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
