"""The items that `crew.stream` and `flow.stream` yield: one dataclass per kind of event."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, dataclass_transform

from pydantic_core import to_jsonable_python

from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.llm.usage import UsageMetrics

if TYPE_CHECKING:
    from crewgraph.definitions.flow.feedback import PendingFlow, Question


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
@dataclass(frozen=True, kw_only=True)
class StreamItem:
    """An event of a run. Subclasses are dataclasses of the same form."""

    kind: str = field(init=False)
    """The kind of event; each class has its own: its name in snake case."""

    def __init_subclass__(cls) -> None:
        cls.kind = "_".join(re.findall("[A-Z][a-z]*", cls.__name__)).lower()
        dataclass(frozen=True, kw_only=True)(cls)

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON data, for server-sent events and logs."""
        return {attribute.name: _jsonable(getattr(self, attribute.name)) for attribute in fields(self)}


class TaskItem(StreamItem):
    """An event of a task. Events of concurrent tasks are interleaved.

    In the stream of a flow, also an event of an agent or a model called without a task: `task` is then empty, and for a model
    `agent` is, too.
    """

    task: str
    """The name of the task's node, a short unique word; the task's key in the state of `crew.compile()`."""

    agent: str
    """The agent's role, placeholders filled."""

    crew: str | None = None
    """In the stream of a flow: the crew's name."""

    method: str | None = None
    """In the stream of a flow: the method."""

    execution: str | None = None
    """In the stream of a flow: the execution of the method, such as `judge#2`."""


class Started(StreamItem):
    """The run starts; always the first item."""

    crew: str | None
    """The crew's name."""

    thread_id: str | None
    """The name that the run is stored under, for `resume`; None if it is not stored."""

    inputs: Inputs
    """The values for the placeholders."""


class TaskStarted(TaskItem):
    """A task starts."""

    index: int
    """The index of the task in the crew, from 0; -1 for planning."""

    name: str | None
    """The task's own name."""

    description: str
    """The task's description, placeholders filled."""


class ModelStarted(TaskItem):
    """A model request starts; the tokens of the answer follow, then `ModelFinished`."""

    model: str
    """The model's name."""


class Token(TaskItem):
    """A chunk of a model's text, as sent by the provider."""

    text: str
    """The chunk."""


class ToolCallToken(TaskItem):
    """A chunk of a tool call that a model is writing."""

    tool: str
    """The tool's name."""

    text: str
    """The chunk of the arguments."""

    arguments: str
    """The arguments so far; JSON once complete."""

    id: str | None
    """The provider's id of the call."""

    index: int
    """The index of the call in the answer, from 0."""


class ModelFinished(TaskItem):
    """A model request ended, with an answer or an error."""

    model: str
    """The model's name."""

    text: str
    """The complete text; empty if the answer is only tool calls."""

    usage: UsageMetrics | None
    """Token usage of the request; None if the provider does not report it."""

    error: str | None
    """The error, if the request failed."""


class ToolStarted(TaskItem):
    """A tool call starts."""

    tool: str
    """The tool's name, as defined by its author."""

    args: dict[str, Any] | str
    """The arguments."""


class ToolFinished(TaskItem):
    """A tool call ended, failed, or could not be made (then there was no `ToolStarted`)."""

    tool: str
    """The tool's name."""

    args: dict[str, Any] | str
    """The arguments; a string if the model did not write a JSON object."""

    output: str
    """The result shown to the model."""

    failed: bool
    """Whether the call failed."""

    from_cache: bool = False
    """Whether the result is that of an earlier call: the tool did not run."""


class Step(TaskItem):
    """The agent completed a step: a tool call or its answer."""

    number: int
    """The number of the step in this attempt, from 1."""

    step: AgentAction | AgentFinish
    """The step, as passed to `step_callback`."""


class Judged(TaskItem):
    """A guardrail judged the output."""

    accepted: bool
    """Whether the output was accepted; if not, the agent retries while retries are left."""

    reason: str | None
    """Why the output was rejected."""

    retries: int
    """How often the output was rejected before."""


class TaskFinished(TaskItem):
    """A task completed."""

    output: TaskOutput
    """Its output."""


class TaskFailed(TaskItem):
    """A task failed; its exception is raised once concurrent tasks have ended."""

    error: str
    """The error message."""


class Custom(StreamItem):
    """Data that a tool wrote with LangGraph's `get_stream_writer()`."""

    data: Any
    """The data."""


class Finished(StreamItem):
    """The run completed; always the last item."""

    output: CrewOutput
    """The result, as `kickoff` returns it."""


class FlowStarted(StreamItem):
    """The run starts or resumes; the first item, unless nothing is left to do."""

    flow: str
    """The flow's name."""

    flow_id: str
    """The id of the run, which is the `id` of its state."""

    inputs: Inputs
    """The inputs; empty if the run resumes."""


class MethodItem(StreamItem):
    """An event of a method. Events of concurrent methods are interleaved."""

    method: str
    """The method's name."""

    execution: str
    """The execution: `judge#2` is the second of `judge`; `write#1/draft#1` belongs to a flow that `write` runs."""


class MethodStarted(MethodItem):
    """A method starts."""

    params: Mapping[str, Any]
    """The arguments: the result of the trigger as `_0`, others by name."""


class MethodFinished(MethodItem):
    """A method returned."""

    result: Any
    """The return value."""


class MethodFailed(MethodItem):
    """A method raised an exception, which ends the run and is raised after the last item."""

    error: str
    """The error message."""


class Asked(MethodItem):
    """A method waits for an answer; other methods continue."""

    question: "Question"
    """The question."""


class CrewStarted(MethodItem):
    """A method starts a crew; `TaskItem`s report its tasks."""

    crew: str | None
    """The crew's name."""

    thread_id: str | None
    """The name that the crew's run is stored under; None if it is not stored."""

    inputs: Inputs
    """The values for the placeholders."""


class CrewFinished(MethodItem):
    """A crew completed."""

    crew: str | None
    """The crew's name."""

    output: CrewOutput
    """Its output."""


class CrewFailed(MethodItem):
    """A crew failed; the method may catch the exception."""

    crew: str | None
    """The crew's name."""

    error: str
    """The error message."""


class FlowFinished(StreamItem):
    """The run completed; always the last item."""

    result: Any
    """The result, as `kickoff` returns it."""


class FlowPaused(StreamItem):
    """The run waits for an answer; the last item, instead of `FlowFinished`."""

    pending: "PendingFlow"
    """The pending questions, as `kickoff` returns them."""


def _jsonable(value: object) -> object:
    if isinstance(value, TaskOutput):
        return value.to_plain()
    if isinstance(value, CrewOutput):
        plain = value.model_dump(mode="json", exclude={"tasks_output"}, serialize_as_any=True)
        return {**plain, "tasks_output": [output.to_plain() for output in value.tasks_output]}
    return to_jsonable_python(value, fallback=repr)
