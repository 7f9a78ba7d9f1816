"""What happens while an agent carries out its plan, step by step."""

from typing import Any

from crewgraph.events.base import BaseEvent

__all__ = [
    "GoalAchievedEarlyEvent",
    "ObservationEvent",
    "PlanRefinementEvent",
    "PlanReplanTriggeredEvent",
    "PlanStepCompletedEvent",
    "PlanStepEvent",
    "PlanStepStartedEvent",
    "StepObservationCompletedEvent",
    "StepObservationFailedEvent",
    "StepObservationStartedEvent",
]


class PlanStepEvent(BaseEvent):
    """Something that happened to a step of a plan."""

    step_number: int
    """Its number, from 1."""

    step_description: str = ""
    """What is to be done in it."""

    tool_to_use: str | None = None
    """The tool that it needs, if any."""

    from_task: Any = None
    """The task that was planned."""

    from_agent: Any = None
    """The agent that works."""


class PlanStepStartedEvent(PlanStepEvent):
    """A step begins."""

    type: str = "plan_step_started"


class PlanStepCompletedEvent(PlanStepEvent):
    """A step is done, or has failed."""

    type: str = "plan_step_completed"

    success: bool = True
    """Whether it did what it was for."""

    result: str | None = None
    """What came of it."""

    error: str | None = None
    """Why it failed, where that is known."""


class ObservationEvent(BaseEvent):
    """Something that became of looking at the outcome of a step."""

    step_number: int
    """The number of the step, from 1; 0 where it is about the whole plan."""

    step_description: str = ""
    """What was to be done in it."""

    from_task: Any = None
    """The task that was planned."""

    from_agent: Any = None
    """The agent that works."""


class StepObservationStartedEvent(ObservationEvent):
    """A model is asked about the outcome of a step."""

    type: str = "step_observation_started"


class StepObservationCompletedEvent(ObservationEvent):
    """The model has answered."""

    type: str = "step_observation_completed"

    step_completed_successfully: bool = True
    """Whether the step did what it was for."""

    key_information_learned: str = ""
    """What is known now that later steps need."""

    remaining_plan_still_valid: bool = True
    """Whether the steps to come still make sense."""

    needs_full_replan: bool = False
    """Whether they must be planned anew."""

    replan_reason: str | None = None
    """Why they must."""

    goal_already_achieved: bool = False
    """Whether the whole task is done already."""

    suggested_refinements: list[str] | None = None
    """Other words for steps to come."""


class StepObservationFailedEvent(ObservationEvent):
    """The model gave no answer that can be read; the step counts as its own outcome says."""

    type: str = "step_observation_failed"

    error: str = ""
    """What went wrong."""


class PlanRefinementEvent(ObservationEvent):
    """Steps to come were worded anew."""

    type: str = "plan_refinement"

    refined_step_count: int = 0
    """How many."""

    refinements: list[str] | None = None
    """Their numbers and words."""


class PlanReplanTriggeredEvent(ObservationEvent):
    """The steps to come are planned anew."""

    type: str = "plan_replan_triggered"

    replan_reason: str = ""
    """Why."""

    replan_count: int = 0
    """How often that was done, this time included."""

    completed_steps_preserved: int = 0
    """How many steps are done, and stay."""


class GoalAchievedEarlyEvent(ObservationEvent):
    """The task is done, although there are steps left."""

    type: str = "goal_achieved_early"

    steps_remaining: int = 0
    """How many are left."""

    steps_completed: int = 0
    """How many are done."""
