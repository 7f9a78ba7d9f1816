"""Where an evaluation stands."""

from typing import Any

from crewgraph.evaluation.result import AgentEvaluationResult

__all__ = ["ExecutionState"]


class ExecutionState:
    """Where an evaluation stands, and what it found out."""

    current_agent_id: str | None = None
    """Whose work is judged."""

    current_task_id: str | None = None
    """For which task."""

    def __init__(self) -> None:
        self.traces: dict[str, Any] = {}
        self.iteration = 1
        """Which round it is, from 1."""
        self.iterations_results: dict[int, dict[str, list[AgentEvaluationResult]]] = {}
        """The results of each round, by the agents' roles."""
        self.agent_evaluators: dict[str, Any] = {}
