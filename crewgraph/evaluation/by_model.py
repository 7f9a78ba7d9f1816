"""Metrics that a model judges: what it is told, and the mark in what it replies."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from crewgraph.evaluation.evaluator import BaseEvaluator
from crewgraph.evaluation.reply import mark_in
from crewgraph.evaluation.score import EvaluationScore, MetricCategory
from crewgraph.llm.resolve import as_llm
from crewgraph.prompts.book import Book, english

__all__ = ["JudgedByModel", "NothingToJudge", "listed"]

_LONGEST = 20_000


class NothingToJudge(Exception):
    """An agent did nothing of the kind that is judged; the message says what."""


class JudgedByModel(BaseEvaluator):
    """A side of an agent's work that a model judges.

    The model is the one that was given, else that of the agent, else the one that the environment names.
    """

    _category: ClassVar[MetricCategory]

    @property
    def metric_category(self) -> MetricCategory:
        """What is judged."""
        return self._category

    def evaluate(
        self, agent: Any, execution_trace: dict[str, Any], final_output: Any, task: Any = None
    ) -> EvaluationScore:
        """Ask the model for a mark; see `BaseEvaluator.evaluate`.

        Returns:
            A mark; its `score` is None where the agent did nothing of that kind, or the reply holds no mark.

        Raises:
            ModelError: there is no such model, or it fails; whatever a model of one's own raises.
        """
        try:
            facts = self._facts(agent, execution_trace, task)
        except NothingToJudge as nothing:
            return EvaluationScore(score=None, feedback=str(nothing))
        asked = self._llm or as_llm(getattr(agent, "llm", None))
        return mark_in(str(asked.call(self._messages(agent, execution_trace, final_output, task, facts))))

    @abstractmethod
    def _facts(self, agent: Any, trace: Mapping[str, Any], task: Any) -> str:
        """What the agent did of that kind, for the model; empty where the result says it all.

        Raises:
            NothingToJudge: nothing.
        """

    def _messages(
        self, agent: Any, trace: Mapping[str, Any], output: Any, task: Any, facts: str
    ) -> list[dict[str, Any]]:
        wording: Callable[[], Book] = getattr(agent, "wording", english)
        book = wording()
        system = book.slice("metric_system", metric=book.slice(f"metric_{self._category.value}"))
        work = book.slice(
            "metric_work",
            role=str(getattr(agent, "role", "")),
            goal=str(getattr(agent, "goal", "")),
            task=_asked_for(trace, output, task),
            expected_output=_expected(output, task),
            output=_cut(str(getattr(output, "raw", output))),
        )
        text = f"{work}\n\n{_cut(facts)}" if facts else work
        return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def _asked_for(trace: Mapping[str, Any], output: Any, task: Any) -> str:
    # An output has the texts with the inputs in them; a task has the templates.
    texts = (getattr(output, "description", None), getattr(task, "description", None), trace.get("asked"))
    return next((_cut(str(text)) for text in texts if text), "-")


def _expected(output: Any, task: Any) -> str:
    return str(getattr(output, "expected_output", None) or getattr(task, "expected_output", None) or "-")


def _cut(text: str) -> str:
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]} [{left} characters more]"


def listed(lines: Sequence[str], most: int = 30) -> str:
    """Lines as a list; the first and the last ones where there are too many."""
    if len(lines) > most:
        half = most // 2
        lines = [*lines[:half], f"[{len(lines) - 2 * half} more]", *lines[-half:]]
    return "\n".join(f"- {line}" for line in lines)
