"""What happens to an agent."""

from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent

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
    "AgentStepEvent",
    "LiteAgentExecutionCompletedEvent",
    "LiteAgentExecutionErrorEvent",
    "LiteAgentExecutionStartedEvent",
]


class AgentEvent(BaseEvent):
    """What an agent at work on a task tells; it is the source."""

    agent: Any
    """The agent."""

    task: Any
    """The task it works on."""

    _origin: ClassVar[str | None] = "agent"


class AgentExecutionStartedEvent(AgentEvent):
    """An agent begins to work on a task."""

    type: str = "agent_execution_started"

    tools: Any
    """The tools it may use, a sequence or None."""

    task_prompt: str
    """What it is asked."""


class AgentExecutionCompletedEvent(AgentEvent):
    """An agent has answered."""

    type: str = "agent_execution_completed"

    output: str
    """Its answer."""


class AgentExecutionErrorEvent(AgentEvent):
    """An agent could not answer."""

    type: str = "agent_execution_error"

    error: str
    """What went wrong."""


class AgentStepEvent(AgentEvent):
    """An agent made one step: it thought, and used tools or answered."""

    type: str = "agent_step"

    step: Any
    """The step as a `step_callback` gets it: an action with its result, or the answer."""

    iteration: int
    """Which step of the task it is, from 1."""


class _LiteAgentEvent(BaseEvent):
    agent_info: dict[str, Any]
    """Who the agent is: id, role, goal, backstory, tools and verbose."""

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        for field, key in (("agent_id", "id"), ("agent_role", "role")):
            if (value := self.agent_info.get(key)) is not None:
                self._fill(field, str(value))


class LiteAgentExecutionStartedEvent(_LiteAgentEvent):
    """An agent without a crew begins to work."""

    type: str = "lite_agent_execution_started"

    tools: Any
    """The tools it may use, a sequence or None."""

    messages: Any
    """What it is asked: text, or a list of messages."""


class LiteAgentExecutionCompletedEvent(_LiteAgentEvent):
    """An agent without a crew has answered."""

    type: str = "lite_agent_execution_completed"

    output: str
    """Its answer."""


class LiteAgentExecutionErrorEvent(_LiteAgentEvent):
    """An agent without a crew could not answer."""

    type: str = "lite_agent_execution_error"

    error: str
    """What went wrong."""


class AgentLogsStartedEvent(BaseEvent):
    """An agent's work is about to be shown."""

    type: str = "agent_logs_started"

    task_description: str | None = None
    """What the agent works on."""

    verbose: bool = False
    """Whether the agent is to be shown."""


class AgentLogsExecutionEvent(BaseEvent):
    """A step of an agent's work is about to be shown."""

    type: str = "agent_logs_execution"

    formatted_answer: Any
    """The step."""

    verbose: bool = False
    """Whether the agent is to be shown."""


class AgentEvaluationStartedEvent(BaseEvent):
    """An agent's work begins to be judged."""

    type: str = "agent_evaluation_started"

    iteration: int
    """Which round of the evaluation it is."""


class AgentEvaluationCompletedEvent(BaseEvent):
    """An agent's work has its mark."""

    type: str = "agent_evaluation_completed"

    iteration: int
    """Which round of the evaluation it is."""

    metric_category: Any
    """What was judged."""

    score: Any
    """The mark."""


class AgentEvaluationFailedEvent(BaseEvent):
    """An agent's work could not be judged."""

    type: str = "agent_evaluation_failed"

    iteration: int
    """Which round of the evaluation it is."""

    error: str
    """What went wrong."""
