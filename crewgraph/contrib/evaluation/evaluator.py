"""What judges one side of an agent's work; by a model, whose reply is read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from crewgraph.contrib.evaluation.results import EvaluationScore, MetricCategory
from crewgraph.llm.resolve import as_llm
from crewgraph.prompts.book import Book, english
from crewgraph.text import extract_json, shorten

__all__ = [
    "BaseEvaluator",
    "JudgedByModel",
    "NothingToJudge",
    "bullet_list",
    "extract_json_from_llm_response",
    "mark_in",
]


class BaseEvaluator(ABC):
    """Judges one side of an agent's work; a subclass says which, and how.

    Args:
        llm: a model that judges, as agents take them; without one the metrics of this room ask that of the agent.

    Raises:
        ModelError: that is no model.
    """

    _llm: Any = None

    def __init__(self, llm: Any = None) -> None:
        self._llm = None if llm is None else as_llm(llm)

    @property
    def llm(self) -> Any:
        """The model that judges, with `call(messages)`; unless one was given, the one that the environment names.

        Raises:
            NoModelError: none was given, and the environment names none.
        """
        return as_llm(None) if self._llm is None else self._llm

    @llm.setter
    def llm(self, llm: Any) -> None:
        self._llm = None if llm is None else as_llm(llm)

    @property
    @abstractmethod
    def metric_category(self) -> MetricCategory:
        """What is judged."""

    @abstractmethod
    def evaluate(
        self, agent: Any, execution_trace: dict[str, Any], final_output: Any, task: Any = None
    ) -> EvaluationScore:
        """Judge.

        Args:
            agent: who worked.
            execution_trace: what it did; see `EvaluationTraceCallback.get_trace`.
            final_output: the result: a `TaskOutput`, or text.
            task: what it worked on; None for a kickoff of the agent alone.
        """


_SHOWN = 200


def extract_json_from_llm_response(text: str) -> dict[str, Any]:
    """The JSON object in what a model wrote, also between words or in a fence.

    Raises:
        ValueError: there is none.
    """
    found = extract_json(text)
    if not isinstance(found, dict):
        raise ValueError(f"there is no JSON object in the reply {shorten(text, _SHOWN)!r}")
    return cast("dict[str, Any]", found)


def mark_in(reply: str) -> EvaluationScore:
    """The mark that a model gave; one without a score, with why, where the reply has none that can be read."""
    try:
        found = extract_json_from_llm_response(reply)
        score = _score(found)
        return EvaluationScore(score=score, feedback=_feedback(found) or reply, raw_response=reply)
    except (TypeError, ValueError) as error:
        problem = f"The reply holds no mark from 0 to 10: {shorten(reply, _SHOWN)!r} ({type(error).__name__})"
        return EvaluationScore(score=None, feedback=problem, raw_response=reply)


def _score(found: Mapping[str, Any]) -> float | None:
    for name in ("overall_score", "score"):
        if name in found:
            return None if found[name] is None else float(found[name])
    parts = [float(one) for one in _parts(found).values() if one is not None]
    if not parts:
        raise ValueError("no score")
    return sum(parts) / len(parts)


def _parts(found: Mapping[str, Any]) -> Mapping[str, Any]:
    parts = found.get("scores")
    return cast("Mapping[str, Any]", parts) if isinstance(parts, Mapping) else {}


def _feedback(found: Mapping[str, Any]) -> str:
    marks = [f"{name.replace('_', ' ').capitalize()}: {mark}/10" for name, mark in _parts(found).items()]
    better = found.get("improvement_suggestions") or found.get("optimization_suggestions")
    seen = found.get("detected_patterns")
    texts = [
        "\n".join(marks),
        _told(found.get("feedback")),
        f"Patterns: {_told(seen, ', ')}" if seen else "",
        f"To do better: {_told(better)}" if better else "",
    ]
    return "\n\n".join(text for text in texts if text)


def _told(value: Any, between: str = " ") -> str:
    if isinstance(value, list):
        return between.join(str(one) for one in cast("list[Any]", value))
    return "" if value is None else str(value)


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


def bullet_list(lines: Sequence[str], most: int = 30) -> str:
    """Lines as a list; the first and the last ones where there are too many."""
    if len(lines) > most:
        half = most // 2
        lines = [*lines[:half], f"[{len(lines) - 2 * half} more]", *lines[-half:]]
    return "\n".join(f"- {line}" for line in lines)
