"""Events of agents' plans: planning, executing the steps, and observing their results."""

from crewgraph.events.base import WorkEvent


class ReasoningEvent(WorkEvent):
    """An event of an agent's planning."""

    attempt: int = 1
    """The number of the attempt, from 1."""


class AgentReasoningStartedEvent(ReasoningEvent):
    """An agent starts to plan."""

    type: str = "agent_reasoning_started"


class AgentReasoningCompletedEvent(ReasoningEvent):
    """An agent has made a plan."""

    type: str = "agent_reasoning_completed"

    plan: str
    """The plan."""

    ready: bool
    """Whether the agent considers the plan ready."""


class AgentReasoningFailedEvent(ReasoningEvent):
    """The planning of an agent has failed."""

    type: str = "agent_reasoning_failed"

    error: str
    """The error."""


class PlanStepEvent(WorkEvent):
    """An event of a step of a plan."""

    step_number: int
    """Its number, from 1."""

    step_description: str = ""
    """The description of the step."""

    tool_to_use: str | None = None
    """The tool that it needs, if any."""


class PlanStepStartedEvent(PlanStepEvent):
    """A step starts."""

    type: str = "plan_step_started"


class PlanStepCompletedEvent(PlanStepEvent):
    """A step has completed or failed."""

    type: str = "plan_step_completed"

    success: bool = True
    """Whether it achieved its goal."""

    result: str | None = None
    """The result."""

    error: str | None = None
    """Why it failed, if known."""


class ObservationEvent(WorkEvent):
    """An event of the observation of a step's outcome."""

    step_number: int
    """The number of the step, from 1; 0 if it concerns the whole plan."""

    step_description: str = ""
    """The description of the step."""


class StepObservationStartedEvent(ObservationEvent):
    """A model judges the outcome of a step."""

    type: str = "step_observation_started"


class StepObservationCompletedEvent(ObservationEvent):
    """The model has answered."""

    type: str = "step_observation_completed"

    step_completed_successfully: bool = True
    """Whether the step achieved its goal."""

    key_information_learned: str = ""
    """The findings that later steps need."""

    remaining_plan_still_valid: bool = True
    """Whether the remaining steps still make sense."""

    needs_full_replan: bool = False
    """Whether the remaining steps must be replanned."""

    replan_reason: str | None = None
    """The reason for replanning."""

    goal_already_achieved: bool = False
    """Whether the whole task is already done."""

    suggested_refinements: list[str] | None = None
    """Reworded descriptions of later steps."""


class StepObservationFailedEvent(ObservationEvent):
    """The model's answer cannot be parsed; the step is judged by its own status."""

    type: str = "step_observation_failed"

    error: str = ""
    """The error."""


class PlanRefinementEvent(ObservationEvent):
    """The remaining steps were reworded."""

    type: str = "plan_refinement"

    refined_step_count: int = 0
    """The number of reworded steps."""

    refinements: list[str] | None = None
    """Their numbers and new descriptions."""


class PlanReplanTriggeredEvent(ObservationEvent):
    """The remaining steps are replanned."""

    type: str = "plan_replan_triggered"

    replan_reason: str = ""
    """The reason."""

    replan_count: int = 0
    """The number of replans, including this one."""

    completed_steps_preserved: int = 0
    """The number of finished steps, which are retained."""


class GoalAchievedEarlyEvent(ObservationEvent):
    """The goal is achieved although steps are left."""

    type: str = "goal_achieved_early"

    steps_remaining: int = 0
    """The number of remaining steps."""

    steps_completed: int = 0
    """The number of completed steps."""
