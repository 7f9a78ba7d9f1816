"""What an agent is told of a task in a run: the texts of both, their placeholders filled from the inputs.

The task that a user's own version of `execute_sync` or `execute_task` was called for.

Such a version commonly calls ours. That call then works with the texts of this run, whatever the definition shows meanwhile,
and what it uses is counted for the task.
"""

import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from crewgraph.compiler.crew.state import INPUTS, PLANNING
from crewgraph.compiler.task.binding import TaskBinding, context_outputs
from crewgraph.core.files import FileRecord, files_in
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.definitions.placeholders import append_chat_history
from crewgraph.definitions.task.task import Task
from crewgraph.errors import StorageError
from crewgraph.llm.usage import UsageLedger

__all__ = ["AT_WORK", "ONGOING", "TRIGGER", "Briefing", "OngoingTask", "briefing_alone", "briefing_of"]


TRIGGER = "crewai_trigger_payload"
"""The input that holds what came with the event that started a run."""


@dataclass(frozen=True, kw_only=True)
class Briefing:
    """The texts of a run, their placeholders filled."""

    role: str
    goal: str
    backstory: str
    description: str
    expected_output: str
    output_file: str | None
    context: str
    """What other tasks found out; empty where nothing is given."""

    trigger: str = ""
    """What came with the event that started the run; empty where the task is not told."""

    files: Mapping[str, FileRecord] = field(default_factory=dict[str, FileRecord])
    """The files of the run, by name."""


def briefing_of(assignment: TaskBinding, state: Mapping[str, Any]) -> Briefing:
    """The texts of a task and its agent for a run with this state; without inputs, texts stay as they are.

    Raises:
        MissingInput: a placeholder has no value among the inputs.
        StorageError: the state holds something else than outputs where the context should be.
        DefinitionError: an input is nothing that a text can show.
        TypeError: the inputs in the state are no dict.
    """
    inputs: Mapping[str, Any] = state.get(INPUTS) or {}
    if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f'`inputs` in the state is {inputs!r:.80}; give a dict of names and values: {{"topic": "rain"}}'
        )
    task, agent = assignment.task, assignment.agent
    if assignment.told is not None:
        return briefing_alone(task, agent, assignment.told)
    asked, worker = task.rendered_texts(inputs), agent.rendered_texts(inputs)
    return Briefing(
        role=worker["role"] or "",
        goal=worker["goal"] or "",
        backstory=worker["backstory"] or "",
        description=_with_plan(
            append_chat_history(asked["description"] or "", inputs, assignment.book), assignment, state
        ),
        expected_output=asked["expected_output"] or "",
        output_file=asked["output_file"],
        context=context_outputs(assignment, state),
        trigger=_trigger(task, assignment.crew, inputs),
        files=files_in(inputs),
    )


def _with_plan(description: str, assignment: TaskBinding, state: Mapping[str, Any]) -> str:
    """What is to be done, with what the crew's plan says of it."""
    crew = assignment.crew
    if assignment.planned is None or crew is None or PLANNING not in state:
        return description
    try:
        plan = CrewPlan.model_validate(state[PLANNING]["pydantic"])
    except (TypeError, LookupError, ValidationError):
        raise StorageError(
            f"`{PLANNING}` in the state is no plan of a crew; if the state was edited, give the output of a task "
            "(`TaskOutput(...).to_plain()`) whose `pydantic` is one"
        ) from None
    steps = plan.by_number(len(crew.tasks)).get(assignment.planned)
    return assignment.book.slice("planned_task", task=description, plan=steps) if steps else description


def briefing_alone(task: Task, agent: BaseAgent | None, context: str) -> Briefing:
    """The texts of a task outside of a crew's graph: as the definitions show them.

    What triggered the run is that of the agent's last kickoff.
    """
    crew = agent.crew if agent is not None and isinstance(agent.crew, Crew) else None
    return Briefing(
        role=agent.role if agent is not None else "",
        goal=agent.goal if agent is not None else "",
        backstory=agent.backstory if agent is not None else "",
        description=task.description,
        expected_output=task.expected_output,
        output_file=task.output_file,
        context=context,
        trigger=_trigger(task, crew, crew.inputs if crew is not None else {}),
    )


def _trigger(task: Task, crew: Crew | None, inputs: Mapping[str, Any]) -> str:
    payload = inputs.get(TRIGGER)
    allowed = task.allow_crewai_trigger_context
    if allowed is None:  # who is asked first is told, unless he is not to know
        allowed = crew is not None and bool(crew.tasks) and crew.tasks[0] is task
    if not allowed or payload is None or payload == "":
        return ""
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)


@dataclass
class OngoingTask:
    """A task at work, known to the code that a user's version of a verb runs."""

    task: Task
    briefing: Briefing
    usage: UsageLedger = field(default_factory=UsageLedger)
    """What our versions used, when called from the user's."""

    reviewed: bool = False
    """Whether our version of the agent's verb was called, which shows its answer to people where the task asks for it."""

    def enter(self) -> None:
        """Make it known to the code of the current context."""
        ONGOING.set(self)


AT_WORK: ContextVar[Task | None] = ContextVar("crewgraph_task_at_work", default=None)
"""The task around the running code."""

ONGOING: ContextVar[OngoingTask | None] = ContextVar("crewgraph_ongoing_task", default=None)
"""The task around the running code, where a user's version of a verb was called for it."""
