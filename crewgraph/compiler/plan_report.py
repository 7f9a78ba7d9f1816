"""What an agent tells while it carries out its plan."""

from collections.abc import Callable, Sequence
from typing import Any

from crewgraph.core.replay import is_replayed
from crewgraph.definitions.plan_steps import StepObservation, StepRefinement, TodoItem
from crewgraph.events.agent import (
    GoalAchievedEarlyEvent,
    PlanRefinementEvent,
    PlanReplanTriggeredEvent,
    PlanStepCompletedEvent,
    PlanStepStartedEvent,
    StepObservationCompletedEvent,
    StepObservationFailedEvent,
    StepObservationStartedEvent,
)
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus

__all__ = ["PlanReport"]


class PlanReport:
    """Tells of the steps of a plan.

    Args:
        agent: who works.
        task: on what; None where messages are answered.
        role: what the agent is called in this run.
    """

    def __init__(self, agent: Any, task: Any, role: str) -> None:
        self._agent, self._task, self._role = agent, task, role

    def begins(self, step: TodoItem) -> None:
        """A step begins."""
        self._tell(PlanStepStartedEvent, **_of(step), tool_to_use=step.tool_to_use)

    def ends(self, step: TodoItem, success: bool, result: str, error: str | None) -> None:
        """A step has ended."""
        fields: dict[str, Any] = {"success": success, "result": result, "error": error}
        self._tell(PlanStepCompletedEvent, **_of(step), tool_to_use=step.tool_to_use, **fields)

    def observing(self, step: TodoItem) -> None:
        """A model is asked about the outcome of a step."""
        self._tell(StepObservationStartedEvent, **_of(step))

    def observed(self, step: TodoItem, seen: StepObservation) -> None:
        """It has answered."""
        told = seen.model_dump(exclude={"suggested_refinements"})
        refinements = None if seen.suggested_refinements is None else _words(seen.suggested_refinements)
        self._tell(StepObservationCompletedEvent, **_of(step), **told, suggested_refinements=refinements)

    def unobserved(self, step: TodoItem, error: str) -> None:
        """It gave no answer that can be read."""
        self._tell(StepObservationFailedEvent, **_of(step), error=error)

    def refined(self, step: TodoItem, refinements: Sequence[StepRefinement]) -> None:
        """Steps to come were worded anew."""
        fields: dict[str, Any] = {"refined_step_count": len(refinements), "refinements": _words(refinements)}
        self._tell(PlanRefinementEvent, step_number=step.step_number, **fields)

    def replanned(self, reason: str, count: int, done: int) -> None:
        """The steps to come are planned anew."""
        fields: dict[str, Any] = {"replan_reason": reason, "replan_count": count, "completed_steps_preserved": done}
        self._tell(PlanReplanTriggeredEvent, step_number=0, **fields)

    def achieved(self, step: TodoItem, done: int, left: int) -> None:
        """The task is done, although there are steps left."""
        self._tell(GoalAchievedEarlyEvent, step_number=step.step_number, steps_completed=done, steps_remaining=left)

    def _tell(self, event: Callable[..., BaseEvent], **fields: Any) -> None:
        if crewai_event_bus.wants(event) and not is_replayed():  # pyright: ignore[reportArgumentType]
            told = event(from_task=self._task, from_agent=self._agent, agent_role=self._role, **fields)
            crewai_event_bus.emit(self._agent, told)


def _of(step: TodoItem) -> dict[str, Any]:
    return {"step_number": step.step_number, "step_description": step.description}


def _words(refinements: Sequence[StepRefinement]) -> list[str]:
    return [f"Step {one.step_number}: {one.new_description}" for one in refinements]
