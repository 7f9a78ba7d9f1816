"""An agent's plan for a task, made on its own: CrewAI's names for it."""

from typing import Any

from pydantic import BaseModel, Field

from crewgraph.core.operations import adrive, drive
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.agent.planning import PlanStep
from crewgraph.definitions.task.task import Task
from crewgraph.errors import RunError
from crewgraph.runtime.alone import plan

__all__ = ["AgentReasoning", "AgentReasoningOutput", "ReasoningPlan"]


class ReasoningPlan(BaseModel):
    """How an agent is going to do a task."""

    plan: str
    """The plan."""

    steps: list[PlanStep] = Field(default_factory=list[PlanStep])
    """Its steps, where the agent's `planning` asks for them."""

    ready: bool
    """Whether the agent finds it good enough to begin."""


class AgentReasoningOutput(BaseModel):
    """What comes of planning."""

    plan: ReasoningPlan


class AgentReasoning:
    """Lets an agent plan a task without working on it; `Agent(reasoning=True)` does so before the work.

    Args:
        agent: who plans; agent and task may be given in either order.
        task: what is planned.
        description: what is to be done, where there is no task.
        expected_output: what is expected, where there is no task.
    """

    def __init__(
        self,
        agent: Any = None,
        task: Any = None,
        *,
        description: str | None = None,
        expected_output: str | None = None,
    ) -> None:
        if isinstance(agent, Task) or isinstance(task, Agent):
            agent, task = task, agent
        self.agent: Agent = agent
        self.task: Task = task or Task(description=description or "", expected_output=expected_output or "")

    @property
    def description(self) -> str:
        """What is to be done."""
        return self.task.description

    @property
    def expected_output(self) -> str:
        """What is expected."""
        return self.task.expected_output

    def handle_agent_reasoning(self) -> AgentReasoningOutput:
        """Plan until the plan is ready, or the agent's `max_reasoning_attempts` are used up.

        Raises:
            RunError: no plan could be made; the reason is in the log.
        """
        return self._told(drive(plan(self.agent, self.task)))

    async def ahandle_agent_reasoning(self) -> AgentReasoningOutput:
        """Plan on this event loop; see `handle_agent_reasoning`."""
        return self._told(await adrive(plan(self.agent, self.task)))

    def _told(self, made: dict[str, Any] | None) -> AgentReasoningOutput:
        if made is None:
            raise RunError(
                f"agent `{self.agent.role}` could make no plan; the reason is in the log. Look at its model."
            )
        return AgentReasoningOutput(plan=ReasoningPlan(**made))
