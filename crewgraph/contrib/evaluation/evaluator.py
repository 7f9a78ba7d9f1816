"""Base classes of evaluators, and parsing of the replies of evaluating models."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from crewgraph.contrib.evaluation.results import EvaluationScore, MetricCategory
from crewgraph.core.loops.bridge import call
from crewgraph.llm.resolve import as_llm
from crewgraph.prompts.book import Book, default_book
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.text import extract_json, shorten

__all__ = [
    "BaseEvaluator",
    "ModelEvaluator",
    "NothingToEvaluate",
    "bullet_list",
    "extract_json_from_llm_response",
    "parse_score",
]


class BaseEvaluator(ABC):
    """Evaluates one metric of an agent's work.

    Args:
        llm: The model that evaluates, as for agents; None lets the built-in metrics use the agent's own.

    Raises:
        ModelError: If `llm` is not a model.
    """

    _llm: Any = None

    def __init__(self, llm: object = None) -> None:
        self._llm = None if llm is None else as_llm(llm)

    @property
    def llm(self) -> Any:
        """The model that evaluates, with `call(messages)`; by default the model configured in the environment.

        Raises:
            NoModelError: If neither an argument nor the environment names a model.
        """
        return as_llm(None) if self._llm is None else self._llm

    @llm.setter
    def llm(self, llm: object) -> None:
        self._llm = None if llm is None else as_llm(llm)

    @property
    @abstractmethod
    def metric_category(self) -> MetricCategory:
        """The metric."""

    @abstractmethod
    def evaluate(
        self, agent: Any, execution_trace: PlainDict, final_output: object, task: object = None
    ) -> EvaluationScore:
        """Evaluate an agent's work.

        Args:
            agent: The agent.
            execution_trace: What it did; see `EvaluationTraceCallback.get_trace`.
            final_output: The result: a `TaskOutput`, or text.
            task: The agent's task; None for a standalone kickoff.
        """


_MAX_EXCERPT = 200


def extract_json_from_llm_response(text: str) -> PlainDict:
    """Return the JSON object in a model's reply, which may be surrounded by text or fenced.

    Raises:
        ValueError: If there is none.
    """
    data = extract_json(text)
    if not isinstance(data, dict):
        raise ValueError(f"there is no JSON object in the reply {shorten(text, _MAX_EXCERPT)!r}")
    return cast("PlainDict", data)


def parse_score(reply: str) -> EvaluationScore:
    """Parse the score in a model's reply; if there is none, the score is None and the feedback says why."""
    try:
        data = extract_json_from_llm_response(reply)
        score = _score(data)
        return EvaluationScore(score=score, feedback=_feedback(data) or reply, raw_response=reply)
    except (TypeError, ValueError) as error:
        problem = f"The reply holds no mark from 0 to 10: {shorten(reply, _MAX_EXCERPT)!r} ({type(error).__name__})"
        return EvaluationScore(score=None, feedback=problem, raw_response=reply)


def _score(data: PlainMapping) -> float | None:
    for name in ("overall_score", "score"):
        if name in data:
            return None if data[name] is None else float(data[name])
    parts = [float(part) for part in _parts(data).values() if part is not None]
    if not parts:
        raise ValueError("no score")
    return sum(parts) / len(parts)


def _parts(data: Mapping[str, object]) -> PlainMapping:
    parts = data.get("scores")
    return cast("PlainMapping", parts) if isinstance(parts, Mapping) else {}


def _feedback(data: Mapping[str, object]) -> str:
    scores = [f"{name.replace('_', ' ').capitalize()}: {score}/10" for name, score in _parts(data).items()]
    suggestions = data.get("improvement_suggestions") or data.get("optimization_suggestions")
    patterns = data.get("detected_patterns")
    texts = [
        "\n".join(scores),
        _joined(data.get("feedback")),
        f"Patterns: {_joined(patterns, ', ')}" if patterns else "",
        f"To do better: {_joined(suggestions)}" if suggestions else "",
    ]
    return "\n\n".join(text for text in texts if text)


def _joined(value: Any, separator: str = " ") -> str:
    if isinstance(value, list):
        return separator.join(str(item) for item in cast("list[Any]", value))
    return "" if value is None else str(value)


_MAX_LENGTH = 20_000


class NothingToEvaluate(Exception):
    """An agent did nothing that the metric applies to; the message says what is missing."""


class ModelEvaluator(BaseEvaluator):
    """Base class of metrics that a model evaluates.

    The model is the `llm` argument, else the agent's own, else the one configured in the environment.
    """

    _category: ClassVar[MetricCategory]

    @property
    def metric_category(self) -> MetricCategory:
        """The metric."""
        return self._category

    def evaluate(
        self, agent: object, execution_trace: PlainDict, final_output: object, task: object = None
    ) -> EvaluationScore:
        """Ask the model for a score; see `BaseEvaluator.evaluate`.

        Returns:
            A score; its `score` is None if the metric does not apply, or the reply contains none.

        Raises:
            ModelError: If there is no such model, or it fails. Custom models may raise any error.
        """
        try:
            facts = self._facts(agent, execution_trace, task)
        except NothingToEvaluate as reason:
            return EvaluationScore(score=None, feedback=str(reason))
        llm = self._llm or as_llm(getattr(agent, "llm", None))
        return parse_score(str(call(llm.call, self._messages(agent, execution_trace, final_output, task, facts))))

    @abstractmethod
    def _facts(self, agent: object, trace: Mapping[str, object], task: object) -> str:
        """Describe what the agent did, for the model; empty if the result suffices.

        Raises:
            NothingToEvaluate: If the metric does not apply.
        """

    def _messages(
        self, agent: object, trace: Mapping[str, object], output: object, task: object, facts: str
    ) -> list[dict[str, object]]:
        get_book: Callable[[], Book] = getattr(agent, "wording", default_book)
        book = get_book()
        system = book.slice("metric_system", metric=book.slice(f"metric_{self._category.value}"))
        work = book.slice(
            "metric_work",
            role=str(getattr(agent, "role", "")),
            goal=str(getattr(agent, "goal", "")),
            task=_task_text(trace, output, task),
            expected_output=_expected(output, task),
            output=_cut(str(getattr(output, "raw", output))),
        )
        text = f"{work}\n\n{_cut(facts)}" if facts else work
        return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def _task_text(trace: Mapping[str, object], output: object, task: object) -> str:
    # An output has the texts with inputs filled in, a task only the templates.
    texts = (getattr(output, "description", None), getattr(task, "description", None), trace.get("asked"))
    return next((_cut(str(text)) for text in texts if text), "-")


def _expected(output: object, task: object) -> str:
    return str(getattr(output, "expected_output", None) or getattr(task, "expected_output", None) or "-")


def _cut(text: str) -> str:
    remaining = len(text) - _MAX_LENGTH
    return text if remaining <= 0 else f"{text[:_MAX_LENGTH]} [{remaining} characters more]"


def bullet_list(lines: Sequence[str], max_lines: int = 30) -> str:
    """Format lines as a bullet list, leaving out the middle of lists that are too long."""
    if len(lines) > max_lines:
        half = max_lines // 2
        lines = [*lines[:half], f"[{len(lines) - 2 * half} more]", *lines[-half:]]
    return "\n".join(f"- {line}" for line in lines)
