"""The events of executing an agent's plan."""

from collections.abc import Callable, Sequence

from crewgraph.core.current import is_replayed
from crewgraph.definitions.agent.planning import StepObservation, StepRefinement, TodoItem
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.planning import (
    GoalAchievedEarlyEvent,
    PlanRefinementEvent,
    PlanReplanTriggeredEvent,
    PlanStepCompletedEvent,
    PlanStepStartedEvent,
    StepObservationCompletedEvent,
    StepObservationFailedEvent,
    StepObservationStartedEvent,
)

__all__ = ["AgentPlanReport"]


class AgentPlanReport:
    """Emits the events of the steps of a plan.

    Args:
        agent: the agent.
        task: the task; None for a kickoff with messages.
        role: the agent's role in this run.
    """

    def __init__(self, agent: object, task: object, role: str) -> None:
        self._agent, self._task, self._role = agent, task, role

    def step_started(self, step: TodoItem) -> None:
        """A step starts."""
        self._emit(PlanStepStartedEvent, **_step_fields(step), tool_to_use=step.tool_to_use)

    def step_ended(self, step: TodoItem, success: bool, result: str, error: str | None) -> None:
        """A step has ended."""
        fields: dict[str, object] = {"success": success, "result": result, "error": error}
        self._emit(PlanStepCompletedEvent, **_step_fields(step), tool_to_use=step.tool_to_use, **fields)

    def observing(self, step: TodoItem) -> None:
        """A model assesses a step."""
        self._emit(StepObservationStartedEvent, **_step_fields(step))

    def observed(self, step: TodoItem, observation: StepObservation) -> None:
        """The step was assessed."""
        fields = observation.model_dump(exclude={"suggested_refinements"})
        refinements = (
            None if observation.suggested_refinements is None else _refinement_texts(observation.suggested_refinements)
        )
        self._emit(StepObservationCompletedEvent, **_step_fields(step), **fields, suggested_refinements=refinements)

    def observation_failed(self, step: TodoItem, error: str) -> None:
        """The assessment failed or could not be parsed."""
        self._emit(StepObservationFailedEvent, **_step_fields(step), error=error)

    def refined(self, step: TodoItem, refinements: Sequence[StepRefinement]) -> None:
        """Pending steps were reworded."""
        fields: dict[str, object] = {
            "refined_step_count": len(refinements),
            "refinements": _refinement_texts(refinements),
        }
        self._emit(PlanRefinementEvent, step_number=step.step_number, **fields)

    def replanned(self, reason: str, count: int, completed: int) -> None:
        """The remaining steps are replanned."""
        fields: dict[str, object] = {
            "replan_reason": reason,
            "replan_count": count,
            "completed_steps_preserved": completed,
        }
        self._emit(PlanReplanTriggeredEvent, step_number=0, **fields)

    def achieved(self, step: TodoItem, completed: int, remaining: int) -> None:
        """The goal is achieved before all steps are done."""
        self._emit(
            GoalAchievedEarlyEvent, step_number=step.step_number, steps_completed=completed, steps_remaining=remaining
        )

    def _emit(self, event: Callable[..., BaseEvent], **fields: object) -> None:
        if crewai_event_bus.wants(event) and not is_replayed():  # pyright: ignore[reportArgumentType]
            emitted = event(from_task=self._task, from_agent=self._agent, agent_role=self._role, **fields)
            crewai_event_bus.emit(self._agent, emitted)


def _step_fields(step: TodoItem) -> dict[str, object]:
    return {"step_number": step.step_number, "step_description": step.description}


def _refinement_texts(refinements: Sequence[StepRefinement]) -> list[str]:
    return [f"Step {refinement.step_number}: {refinement.new_description}" for refinement in refinements]
