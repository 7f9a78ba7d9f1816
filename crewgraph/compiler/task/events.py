"""The events of a task's execution, and the results shown on its definitions.

`RunNotes` hold each task's conversation for the user and are not checkpointed: a conversation contains the outputs of
earlier tasks, so the database would grow with the square of their number.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from crewgraph.compiler.agent.events import AgentReport
from crewgraph.compiler.surroundings import AROUND, TaskNote
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.effects import EffectFailed
from crewgraph.core.messages import Message
from crewgraph.definitions.task.output import TaskOutput, set_fields
from crewgraph.events import late
from crewgraph.events.bus import crewai_event_bus
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict


def record_task_note(
    slug: str, messages: list[dict[str, object]], output: TaskOutput | None = None, plain: PlainDict | None = None
) -> None:
    """Note that a task is done, with its output and that as plain data if they are at hand."""
    notes = AROUND.get().notes
    if notes is not None:
        notes.tasks[slug] = TaskNote(datetime.now(), messages, output, plain)


_log = redacted_logger("crewgraph")


class TaskReport(AgentReport):
    """Emits the events of one execution of a task, and shows its results on the definitions.

    Definitions show the run that ended last; only the returned output is authoritative.
    """

    def __init__(self, assignment: TaskBinding) -> None:
        super().__init__(assignment, assignment.task)
        self._assignment, self._task = assignment, assignment.task
        self._started = datetime.now()
        self._agent_started = False

    def begin(self, briefing: Briefing, *, with_event: bool = True) -> None:
        """The task starts; without the event, this is only shown on the definitions."""
        task, self.role = self._task, briefing.role
        set_fields(
            task,
            start_time=self._started,
            end_time=None,
            prompt_context=briefing.context,
            # Only of this run: roles contain inputs, so a union over all runs would grow without bound.
            processed_by_agents={briefing.role},
            delegations=0,
        )
        self.show_texts(briefing)
        if with_event:
            self._emit(
                late.TaskStartedEvent,
                context=briefing.context,
                task=task,
                description=briefing.description,
                agent_role=briefing.role,
                node=self._assignment.slug,
            )

    def show_texts(self, briefing: Briefing) -> None:
        """Show the texts of this run on the task and its agent."""
        self._task.show_texts(
            {
                "description": briefing.description,
                "expected_output": briefing.expected_output,
                "output_file": briefing.output_file,
            }
        )
        self.show_agent(briefing)

    def show_agent(self, briefing: Briefing) -> None:
        """Show the texts of this run on the agent, which user code reads during tasks and in events, and no failures yet."""
        self._agent.reset_tool_failures()
        self._agent.show_texts({"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory})

    def agent_started(self, messages: Sequence[Message], tools: Sequence[Any]) -> None:
        """The agent starts an attempt."""
        self._agent_started = True
        self._emit(
            late.AgentExecutionStartedEvent,
            agent=self._agent,
            task=self._task,
            tools=tools,
            task_prompt=str(messages[-1]["content"]),
        )
        if crewai_event_bus.wants(late.AgentLogsStartedEvent):
            self._emit(late.AgentLogsStartedEvent, **self._log_fields, task_description=self._task.description)

    def agent_completed(self, answer: str) -> None:
        """The agent has answered."""
        self._agent_started = False
        self._emit(late.AgentExecutionCompletedEvent, agent=self._agent, task=self._task, output=answer)

    def unstructured(self, problem: str) -> None:
        """The answer could not be converted to the structure asked for; its text is used."""
        _log.warning("%s: no structured output, the text is kept: %s", self.where, problem)
        self._emit(late.TaskOutputUnstructuredEvent, task=self._task, error=problem)

    def publish_override_output(self, plain: Mapping[str, object]) -> None:
        """Set the output of a user's override, which has emitted its events itself."""
        set_fields(self._task, output=TaskOutput.from_plain(plain, self._task.output_pydantic))
        record_task_note(self._assignment.slug, [])

    def publish(self, **results: TaskOutput) -> None:
        """Show what has come of the task, which the user sees from now on: its `output`, unless it failed."""
        set_fields(
            self._task,
            end_time=datetime.now(),
            used_tools=self.counts["used"],
            tools_errors=self.counts["errors"],
            retry_count=self.guardrail_retries,
            **results,
        )

    def complete(self, output: TaskOutput) -> None:
        """The task is complete."""
        self._emit(late.TaskCompletedEvent, output=output, task=self._task)

    def fail(self, failure: Exception) -> None:
        """The task failed; the failure gets a note with the task's name."""
        self.publish()
        cause = self._located(failure)
        error = f"{self.where}: {failure if isinstance(failure, EffectFailed) else cause}"
        self._emit_agent_error(error)
        self._emit(late.TaskFailedEvent, error=error, error_type=type(cause), task=self._task)

    def agent_failed(self, failure: Exception) -> None:
        """A coworker failed; the failure gets a note with its name."""
        self._located(failure)
        self._emit_agent_error(f"{self.where}: {failure}")

    def delegated(self, role: str) -> None:
        """The agent has delegated work to a coworker."""
        self._task.increment_delegations(role)

    def _emit_agent_error(self, error: str) -> None:
        if self._agent_started:
            self._emit(late.AgentExecutionErrorEvent, agent=self._agent, task=self._task, error=error)
