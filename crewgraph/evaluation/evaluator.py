"""Whoever judges one side of an agent's work."""

from abc import ABC, abstractmethod
from typing import Any

from crewgraph.evaluation.score import EvaluationScore, MetricCategory
from crewgraph.llm.resolve import as_llm

__all__ = ["BaseEvaluator"]


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
