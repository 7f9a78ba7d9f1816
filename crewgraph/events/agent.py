"""Events of agents."""

from typing import Any, ClassVar

from crewgraph.events.base import BaseEvent
from crewgraph.schema import PlainDict


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
    """An agent completed a step: a model request, followed by tool calls or an answer."""

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
