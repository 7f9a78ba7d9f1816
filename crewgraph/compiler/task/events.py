"""What a task's execution tells: events to the audience, results to the definitions users look at.

What a run of a crew notes of its tasks beside their outputs: it is shown to users, and kept in no checkpoint.

A conversation holds the outputs of earlier tasks. Kept with each task it would make a database that grows with the square of
their number.
"""

import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from crewgraph.compiler.agent.events import AgentReport
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.briefing import AT_WORK, Briefing
from crewgraph.core.effects import EffectFailed
from crewgraph.core.messages import Message
from crewgraph.definitions.task.output import TaskOutput, set_fields
from crewgraph.events.agent import (
    AgentExecutionCompletedEvent,
    AgentExecutionErrorEvent,
    AgentExecutionStartedEvent,
)
from crewgraph.events.task import TaskCompletedEvent, TaskFailedEvent, TaskOutputUnstructuredEvent, TaskStartedEvent

__all__ = ["NOTES", "RunNotes", "TaskNote", "TaskReport", "noted"]


@dataclass(frozen=True)
class TaskNote:
    """A task that was done in this process, in this run."""

    ended: datetime
    messages: list[dict[str, Any]]
    """Its conversation, as the model saw it last."""


@dataclass(frozen=True)
class RunNotes:
    """A run's tasks, by their channels."""

    tasks: dict[str, TaskNote] = field(default_factory=dict[str, TaskNote])

    crew: tuple[str, str] | None = None
    """The `id` and the `key` of the crew; None where an agent works on its own."""


NOTES: ContextVar[RunNotes | None] = ContextVar("crewgraph_run_notes", default=None)
"""The notes of the run around the code; none where somebody else runs the graph."""


def noted(slug: str, messages: list[dict[str, Any]]) -> None:
    """Note that a task is done."""
    notes = NOTES.get()
    if notes is not None:
        notes.tasks[slug] = TaskNote(datetime.now(), messages)


_log = logging.getLogger("crewgraph")


class TaskReport(AgentReport):
    """Tells of one execution of a task.

    Definitions show the run that ended last; the returned output is the authority.
    """

    def __init__(self, assignment: TaskBinding) -> None:
        super().__init__(assignment, assignment.task)
        self._assignment, self._task = assignment, assignment.task
        self._started = datetime.now()
        self._working = False

    def begin(self, briefing: Briefing) -> None:
        """The task begins."""
        AT_WORK.set(self._task)
        task, self.role = self._task, briefing.role
        set_fields(
            task,
            start_time=self._started,
            end_time=None,
            prompt_context=briefing.context,
            # Of this run alone: roles hold inputs, so that a union over all runs would grow without end.
            processed_by_agents={briefing.role},
            delegations=0,
        )
        self.show_texts(briefing)
        self._tell(
            TaskStartedEvent,
            context=briefing.context,
            task=task,
            description=briefing.description,
            agent_role=briefing.role,
            node=self._assignment.slug,
        )

    def show_texts(self, briefing: Briefing) -> None:
        """Let the task and its agent show their texts of this run."""
        self._task.show_texts(
            {
                "description": briefing.description,
                "expected_output": briefing.expected_output,
                "output_file": briefing.output_file,
            }
        )
        self.show_agent(briefing)

    def show_agent(self, briefing: Briefing) -> None:
        """Let the agent show its texts of this run: code of users reads its role where it works, or hears of it."""
        self._agent.show_texts({"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory})

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

    def agent_completes(self, answer: str) -> None:
        """The agent answered."""
        self._working = False
        self._tell(AgentExecutionCompletedEvent, agent=self._agent, task=self._task, output=answer)

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
        used, errors = self.counts["used"], self.counts["errors"]
        set_fields(
            self._task, end_time=datetime.now(), used_tools=used, tools_errors=errors, retry_count=self.sent_back
        )

    def complete(self, output: TaskOutput) -> None:
        """Everything is done."""
        self._tell(TaskCompletedEvent, output=output, task=self._task)

    def fail(self, failure: Exception) -> None:
        """The task failed; the failure is given the task's name on its way to the caller."""
        self._ended()
        cause = failure.__cause__ if isinstance(failure, EffectFailed) and failure.__cause__ else failure
        cause.add_note(f"in {self._assignment.where}")
        error = f"{self._assignment.where}: {failure if isinstance(failure, EffectFailed) else cause}"
        self._tell_agent_failed(error)
        self._tell(TaskFailedEvent, error=error, error_type=type(cause), task=self._task)

    def agent_fails(self, failure: Exception) -> None:
        """A coworker could not do what it was asked; the failure is given its name on the way."""
        cause = failure.__cause__ if isinstance(failure, EffectFailed) and failure.__cause__ else failure
        cause.add_note(f"in {self._assignment.where}")
        self._tell_agent_failed(f"{self._assignment.where}: {failure}")

    def handed_over(self, role: str) -> None:
        """The agent has handed work to a coworker."""
        self._task.increment_delegations(role)

    def _tell_agent_failed(self, error: str) -> None:
        if self._working:
            self._tell(AgentExecutionErrorEvent, agent=self._agent, task=self._task, error=error)
