"""What a task's execution tells: events to the audience, results to the definitions users look at."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.compiler.briefing import Briefing
from crewgraph.compiler.notes import noted
from crewgraph.core.effects import EffectFailed
from crewgraph.core.messages import Message
from crewgraph.definitions.output import TaskOutput
from crewgraph.definitions.step import AgentAction, AgentFinish
from crewgraph.events.agent import (
    AgentExecutionCompletedEvent,
    AgentExecutionErrorEvent,
    AgentExecutionStartedEvent,
    AgentStepEvent,
)
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.guardrail import LLMGuardrailCompletedEvent, LLMGuardrailFailedEvent, LLMGuardrailStartedEvent
from crewgraph.events.reasoning import (
    AgentReasoningCompletedEvent,
    AgentReasoningFailedEvent,
    AgentReasoningStartedEvent,
)
from crewgraph.events.task import TaskCompletedEvent, TaskFailedEvent, TaskOutputUnstructuredEvent, TaskStartedEvent
from crewgraph.events.tool import ToolUsageErrorEvent

__all__ = ["TaskReport"]

_log = logging.getLogger("crewgraph")


class TaskReport:
    """Tells of one execution of a task.

    Definitions show the run that ended last; the returned output is the authority.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._assignment, self._task, self._agent = assignment, assignment.task, assignment.agent
        self._started = datetime.now()
        self._working = False
        self.counts: dict[str, int] = {"used": 0, "errors": 0}
        """How many tool calls were made ("used") and failed ("errors")."""

        self.sent_back = 0
        """How often guardrails sent the agent back."""

    def begin(self, briefing: Briefing) -> None:
        """The task begins."""
        task = self._task
        task.start_time, task.end_time = self._started, None
        task.prompt_context = briefing.context
        # Of this run alone: roles hold inputs, so that a union over all runs would grow without end.
        task.processed_by_agents = {briefing.role}
        task.show_filled(
            {
                "description": briefing.description,
                "expected_output": briefing.expected_output,
                "output_file": briefing.output_file,
            }
        )
        self._tell(
            TaskStartedEvent,
            context=briefing.context,
            task=task,
            description=briefing.description,
            agent_role=briefing.role,
        )

    def agent_begins(self, messages: Sequence[Message], tools: Sequence[Any]) -> None:
        """The agent begins an attempt."""
        self._working = True
        self._tell(
            AgentExecutionStartedEvent,
            agent=self._agent,
            task=self._task,
            tools=tools,
            task_prompt=str(messages[-1]["content"]),
        )

    def planning(self, attempt: int) -> None:
        """The agent makes a plan."""
        self._tell(AgentReasoningStartedEvent, attempt=attempt, from_task=self._task, from_agent=self._agent)

    def planned(self, attempt: int, plan: str, ready: bool, last: bool) -> None:
        """It has made one."""
        if last and not ready:
            told = "%s: its plan is not ready, and there are no more attempts; the agent begins with it as it is"
            _log.warning(told, self._assignment.where)
        self._tell(
            AgentReasoningCompletedEvent,
            attempt=attempt,
            plan=plan,
            ready=ready,
            from_task=self._task,
            from_agent=self._agent,
        )

    def planning_failed(self, attempt: int, error: str) -> None:
        """It could not, and begins without, or with the one before."""
        _log.warning("%s: no plan could be made, the agent begins: %s", self._assignment.where, error)
        self._tell(
            AgentReasoningFailedEvent, attempt=attempt, error=error, from_task=self._task, from_agent=self._agent
        )

    def condensed(self, error: str) -> None:
        """The conversation was too long and was condensed."""
        _log.warning("%s: the conversation was too long and was condensed: %s", self._assignment.where, error)

    def step(self, step: AgentAction | AgentFinish, number: int) -> None:
        """The agent made a step."""
        self._tell(AgentStepEvent, agent=self._agent, task=self._task, step=step, iteration=number)

    def tool_refused(self, tool: str, args: dict[str, Any] | str, text: str) -> None:
        """A tool could not be called as the model asked."""
        self._tell(
            ToolUsageErrorEvent,
            tool_name=tool,
            tool_args=args,
            agent=self._agent,
            agent_key=self._agent.key,
            from_agent=self._agent,
            from_task=self._task,
            error=text,
        )

    def agent_completes(self, answer: str) -> None:
        """The agent answered."""
        self._working = False
        self._tell(AgentExecutionCompletedEvent, agent=self._agent, task=self._task, output=answer)

    def judging(self, guardrail: Any, retries: int) -> None:
        """A guardrail is about to judge."""
        self._tell(
            LLMGuardrailStartedEvent,
            guardrail=guardrail,
            retry_count=retries,
            from_task=self._task,
            from_agent=self._agent,
        )

    def judged(self, verdict: dict[str, Any], retries: int) -> None:
        """A guardrail has judged."""
        self._tell(
            LLMGuardrailCompletedEvent,
            success=verdict["accepted"],
            result=verdict.get("text") or verdict.get("output"),
            error=verdict["error"],
            retry_count=retries,
            from_task=self._task,
            from_agent=self._agent,
        )

    def guardrail_failed(self, error: str, retries: int) -> None:
        """A guardrail could not judge."""
        self._tell(
            LLMGuardrailFailedEvent, error=error, retry_count=retries, from_task=self._task, from_agent=self._agent
        )

    def unstructured(self, problem: str) -> None:
        """The answer could not be given the structure that was asked for; its text is kept."""
        _log.warning("%s: no structured output, the text is kept: %s", self._assignment.where, problem)
        self._tell(TaskOutputUnstructuredEvent, task=self._task, error=problem)

    def publish(self, output: TaskOutput) -> None:
        """The output is there: whoever looks at the task sees it from now on."""
        self._task.output = output
        self._ended()
        noted(self._assignment.slug, output.messages)

    def publish_given(self, plain: Mapping[str, Any]) -> None:
        """The output of a user's own version is there; what else there was to tell, that version has told."""
        self._task.output = TaskOutput.from_plain(plain, self._task.output_pydantic)
        noted(self._assignment.slug, [])

    def _ended(self) -> None:
        task = self._task
        task.end_time = datetime.now()
        task.used_tools, task.tools_errors = self.counts["used"], self.counts["errors"]
        task.retry_count = self.sent_back

    def complete(self, output: TaskOutput) -> None:
        """Everything is done."""
        self._tell(TaskCompletedEvent, output=output, task=self._task)

    def fail(self, failure: Exception) -> None:
        """The task failed; the failure is given the task's name on its way to the caller."""
        self._ended()
        cause = failure.__cause__ if isinstance(failure, EffectFailed) and failure.__cause__ else failure
        cause.add_note(f"in {self._assignment.where}")
        error = f"{self._assignment.where}: {failure if isinstance(failure, EffectFailed) else cause}"
        if self._working:
            self._tell(AgentExecutionErrorEvent, agent=self._agent, task=self._task, error=error)
        self._tell(TaskFailedEvent, error=error, task=self._task)

    def _tell(self, event: type[BaseEvent], **fields: Any) -> None:
        if crewai_event_bus.wants(event):
            crewai_event_bus.emit(self._task, event(**fields))
