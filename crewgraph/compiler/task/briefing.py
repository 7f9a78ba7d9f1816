"""The texts of a task and its agent for one run, their placeholders filled from the inputs.

An override of `execute_sync` or `execute_task` commonly calls our version. `OngoingTask` lets that call work with the texts
of this run, whatever the definition shows meanwhile, and counts its usage for the task.
"""

import json
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field

from pydantic import ValidationError

from crewgraph.compiler.crew.state import INPUTS, MESSAGES, PLANNING
from crewgraph.compiler.task.binding import TaskBinding, context_outputs
from crewgraph.core.files import FileRecord, files_in
from crewgraph.core.messages import Block, Message
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.definitions.placeholders import append_chat_history
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import StorageError
from crewgraph.llm.conversation import read_messages, text_of
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.schema import PlainMapping

TRIGGER = "crewai_trigger_payload"
"""The input with the payload of the event that triggered the run."""


@dataclass(kw_only=True, eq=False)
class Briefing:
    """The texts of a task and its agent, rendered for a run."""

    role: str
    goal: str
    backstory: str
    description: str
    expected_output: str
    output_file: str | None
    context: str
    """The outputs of other tasks; empty without any."""

    trigger: str = ""
    """The payload of the event that triggered the run; empty where the task does not get it."""

    files: Mapping[str, FileRecord] = field(default_factory=dict[str, FileRecord])
    """The files of the run, by name."""

    conversation: Sequence[Message] = ()
    """The messages before the task, without the last one if its text is in the description."""

    blocks: Sequence[Block] = ()
    """What else the last message holds, such as images."""


def briefing_of(assignment: TaskBinding, state: PlainMapping, book: Book) -> Briefing:
    """Render the texts of a task and its agent for a run with this state; without inputs, texts stay as they are.

    Raises:
        MissingInput: a placeholder has no value among the inputs.
        StorageError: the state holds something else than outputs where the context should be.
        DefinitionError: an input cannot be rendered as text.
        TypeError: the inputs in the state are not a dict.
    """
    inputs: Mapping[str, object] = state.get(INPUTS) or {}
    if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f'`inputs` in the state is {inputs!r:.80}; pass a dict of names and values: {{"topic": "rain"}}'
        )
    task, agent = assignment.task, assignment.agent
    if assignment.context_text is not None:
        return standalone_briefing(task, agent, assignment.context_text)
    task_texts, agent_texts = task.rendered_texts(inputs), agent.rendered_texts(inputs)
    description = task_texts["description"] or ""
    if inputs:
        description = append_chat_history(description, inputs, book)
    if assignment.plan_number is not None:
        description = _with_plan(description, assignment.plan_number, assignment, state)
    conversation, blocks = _conversation(state.get(MESSAGES), assignment, inputs) if assignment.converses else ((), ())
    return Briefing(
        role=agent_texts["role"] or "",
        goal=agent_texts["goal"] or "",
        backstory=agent_texts["backstory"] or "",
        description=description,
        expected_output=task_texts["expected_output"] or "",
        output_file=task_texts["output_file"],
        context=context_outputs(assignment, state),
        trigger=_trigger(task, assignment.crew, inputs) if inputs else "",
        files=files_in(inputs) if inputs else {},
        conversation=conversation,
        blocks=blocks,
    )


def _conversation(
    given: object, assignment: TaskBinding, inputs: PlainMapping
) -> tuple[Sequence[Message], Sequence[Block]]:
    """Return the messages before a task, and the blocks of the last one if the task's placeholder has taken its text."""
    messages = read_messages(given or [])
    last, name = messages[-1] if messages else None, assignment.conversed
    if last is None or last["role"] != "user" or name is None or inputs.get(name) != text_of(last["content"]):
        return messages, ()
    if name not in assignment.task.open_placeholders("description"):
        return messages, ()
    blocks = [block for block in last["content"] if isinstance(block, dict) and block.get("type") != "text"]
    return messages[:-1], blocks


def _with_plan(description: str, number: int, assignment: TaskBinding, state: PlainMapping) -> str:
    """Append the crew's plan for the task of this number to its description."""
    crew = assignment.crew
    if crew is None or PLANNING not in state:
        return description
    try:
        plan = CrewPlan.model_validate(state[PLANNING]["pydantic"])
    except (TypeError, LookupError, ValidationError):
        raise StorageError(
            f"`{PLANNING}` in the state is not a crew's plan; if the state was edited, set it to the output of a task "
            "(`TaskOutput(...).to_plain()`) whose `pydantic` is a plan"
        ) from None
    steps = plan.by_number(len(crew.tasks)).get(number)
    return assignment.book.slice("planned_task", task=description, plan=steps) if steps else description


def standalone_briefing(task: TaskDefinition, agent: BaseAgentDefinition | None, context: str) -> Briefing:
    """Return the texts of a task outside of a crew's graph, as the definitions show them.

    The trigger payload is that of the crew's last kickoff.
    """
    crew = agent.crew if agent is not None and isinstance(agent.crew, CrewDefinition) else None
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


def _trigger(task: TaskDefinition, crew: CrewDefinition | None, inputs: PlainMapping) -> str:
    payload = inputs.get(TRIGGER)
    allowed = task.allow_crewai_trigger_context
    if allowed is None:  # by default, only the first task gets it
        allowed = crew is not None and bool(crew.tasks) and crew.tasks[0] is task
    if not allowed or payload is None or payload == "":
        return ""
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)


@dataclass
class OngoingTask:
    """The task being executed, for code that a user's override calls."""

    task: TaskDefinition
    briefing: Briefing
    usage: UsageLedger = field(default_factory=UsageLedger)
    """The usage of our versions when the user's override calls them."""

    reviewed: bool = False
    """Whether the override called our implementation, which has its answer reviewed if the task requires that."""

    def enter(self) -> None:
        """Set this task in the current context."""
        ONGOING.set(self)


ONGOING: ContextVar[OngoingTask | None] = ContextVar("crewgraph_ongoing_task", default=None)
"""The task around the running code, while a user's override runs for it."""
