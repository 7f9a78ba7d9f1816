"""Events of agents: their work, their plans and the steps of a plan."""

from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent, WorkEvent
from crewgraph.schema import PlainDict

__all__ = [
    "AgentEvaluationCompletedEvent",
    "AgentEvaluationFailedEvent",
    "AgentEvaluationStartedEvent",
    "AgentEvent",
    "AgentExecutionCompletedEvent",
    "AgentExecutionErrorEvent",
    "AgentExecutionStartedEvent",
    "AgentLogsExecutionEvent",
    "AgentLogsStartedEvent",
    "AgentReasoningCompletedEvent",
    "AgentReasoningFailedEvent",
    "AgentReasoningStartedEvent",
    "AgentStepEvent",
    "GoalAchievedEarlyEvent",
    "LiteAgentExecutionCompletedEvent",
    "LiteAgentExecutionErrorEvent",
    "LiteAgentExecutionStartedEvent",
    "ObservationEvent",
    "PlanRefinementEvent",
    "PlanReplanTriggeredEvent",
    "PlanStepCompletedEvent",
    "PlanStepEvent",
    "PlanStepStartedEvent",
    "ReasoningEvent",
    "StepObservationCompletedEvent",
    "StepObservationFailedEvent",
    "StepObservationStartedEvent",
]


class AgentEvent(BaseEvent):
    """An event of an agent that works on a task; the agent is the source."""

    agent: Any
    """The agent."""

    task: Any
    """The task it works on."""

    _origin: ClassVar[str | None] = "agent"


class AgentExecutionStartedEvent(AgentEvent):
    """An agent starts to work on a task."""

    type: str = "agent_execution_started"

    tools: Any
    """The tools it may use, a sequence or None."""

    task_prompt: str
    """The prompt."""


class AgentExecutionCompletedEvent(AgentEvent):
    """An agent has answered."""

    type: str = "agent_execution_completed"

    output: str
    """Its answer."""


class AgentExecutionErrorEvent(AgentEvent):
    """An agent could not answer."""

    type: str = "agent_execution_error"

    error: str
    """The error."""


class AgentStepEvent(AgentEvent):
    """An agent made one step: it thought, and used tools or answered."""

    type: str = "agent_step"

    step: Any
    """The step as a `step_callback` gets it: an action with its result, or the answer."""

    iteration: int
    """The number of the step in the task, from 1."""


class _LiteAgentEvent(BaseEvent):
    agent_info: PlainDict
    """The agent's id, role, goal, backstory, tools and verbose."""

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        self._fill(agent_id=self.agent_info.get("id"), agent_role=self.agent_info.get("role"))


class LiteAgentExecutionStartedEvent(_LiteAgentEvent):
    """An agent without a crew starts to work."""

    type: str = "lite_agent_execution_started"

    tools: Any
    """The tools it may use, a sequence or None."""

    messages: Any
    """The request: text, or a list of messages."""


class LiteAgentExecutionCompletedEvent(_LiteAgentEvent):
    """An agent without a crew has answered."""

    type: str = "lite_agent_execution_completed"

    output: str
    """Its answer."""


class LiteAgentExecutionErrorEvent(_LiteAgentEvent):
    """An agent without a crew could not answer."""

    type: str = "lite_agent_execution_error"

    error: str
    """The error."""


class AgentLogsStartedEvent(BaseEvent):
    """An agent starts to work on a task; `verbose` says whether to show it."""

    type: str = "agent_logs_started"

    task_description: str | None = None
    """The task of the agent."""

    verbose: bool = False
    """Whether the agent or its crew is verbose."""


class AgentLogsExecutionEvent(BaseEvent):
    """An agent has taken a step; `verbose` says whether to show it."""

    type: str = "agent_logs_execution"

    formatted_answer: Any
    """The step: an `AgentAction` or an `AgentFinish`."""

    verbose: bool = False
    """Whether the agent or its crew is verbose."""


class AgentEvaluationStartedEvent(BaseEvent):
    """The evaluation of an agent's work starts."""

    type: str = "agent_evaluation_started"

    iteration: int
    """The round of the evaluation."""


class AgentEvaluationCompletedEvent(BaseEvent):
    """An agent's work has its mark."""

    type: str = "agent_evaluation_completed"

    iteration: int
    """The round of the evaluation."""

    metric_category: Any
    """What was judged."""

    score: Any
    """The mark."""


class AgentEvaluationFailedEvent(BaseEvent):
    """An agent's work could not be judged."""

    type: str = "agent_evaluation_failed"

    iteration: int
    """The round of the evaluation."""

    error: str
    """The error."""


class ReasoningEvent(WorkEvent):
    """Something that happened while an agent planned."""

    attempt: int = 1
    """The number of the attempt, from 1."""


class AgentReasoningStartedEvent(ReasoningEvent):
    """An agent starts to plan."""

    type: str = "agent_reasoning_started"


class AgentReasoningCompletedEvent(ReasoningEvent):
    """An agent has a plan."""

    type: str = "agent_reasoning_completed"

    plan: str
    """The plan."""

    ready: bool
    """Whether the agent considers the plan ready."""


class AgentReasoningFailedEvent(ReasoningEvent):
    """An agent could not plan."""

    type: str = "agent_reasoning_failed"

    error: str
    """The error."""


class PlanStepEvent(WorkEvent):
    """Something that happened to a step of a plan."""

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
    """A step is done, or has failed."""

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
    """Why they must."""

    goal_already_achieved: bool = False
    """Whether the whole task is already done."""

    suggested_refinements: list[str] | None = None
    """Other words for steps to come."""


class StepObservationFailedEvent(ObservationEvent):
    """The model's answer cannot be parsed; the step counts according to its own outcome."""

    type: str = "step_observation_failed"

    error: str = ""
    """The error."""


class PlanRefinementEvent(ObservationEvent):
    """The remaining steps were reworded."""

    type: str = "plan_refinement"

    refined_step_count: int = 0
    """How many."""

    refinements: list[str] | None = None
    """Their numbers and words."""


class PlanReplanTriggeredEvent(ObservationEvent):
    """The remaining steps are replanned."""

    type: str = "plan_replan_triggered"

    replan_reason: str = ""
    """Why."""

    replan_count: int = 0
    """The number of times, including this one."""

    completed_steps_preserved: int = 0
    """The number of finished steps, which stay."""


class GoalAchievedEarlyEvent(ObservationEvent):
    """The task is done, although there are steps left."""

    type: str = "goal_achieved_early"

    steps_remaining: int = 0
    """How many are left."""

    steps_completed: int = 0
    """How many are done."""
