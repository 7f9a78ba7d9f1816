"""The items that `crew.stream` and `flow.stream` yield: one dataclass per kind of event."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import to_jsonable_python

from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.llm.usage import UsageMetrics

if TYPE_CHECKING:
    from crewgraph.definitions.flow.feedback import PendingFlow, Question

__all__ = [
    "Asked",
    "CrewFailed",
    "CrewFinished",
    "CrewStarted",
    "Custom",
    "Finished",
    "FlowFinished",
    "FlowPaused",
    "FlowStarted",
    "Judged",
    "MethodFailed",
    "MethodFinished",
    "MethodItem",
    "MethodStarted",
    "ModelFinished",
    "ModelStarted",
    "Started",
    "Step",
    "StreamItem",
    "TaskFailed",
    "TaskFinished",
    "TaskItem",
    "TaskStarted",
    "Token",
    "ToolCallToken",
    "ToolFinished",
    "ToolStarted",
]


@dataclass(frozen=True, kw_only=True)
class StreamItem:
    """An event of a run."""

    kind: str
    """The kind of event; each class has its own."""

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON data, for server-sent events and logs."""
        return {attribute.name: _jsonable(getattr(self, attribute.name)) for attribute in fields(self)}


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Started(StreamItem):
    """The run starts; always the first item."""

    kind: Literal["started"] = field(default="started", init=False)
    crew: str | None
    """The crew's name."""

    thread_id: str | None
    """The name that the run is stored under, for `resume`; None if it is not stored."""

    inputs: Inputs
    """The values for the placeholders."""


@dataclass(frozen=True, kw_only=True)
class TaskStarted(TaskItem):
    """A task starts."""

    kind: Literal["task_started"] = field(default="task_started", init=False)
    index: int
    """The index of the task in the crew, from 0; -1 for planning."""

    name: str | None
    """The task's own name."""

    description: str
    """The task's description, placeholders filled."""


@dataclass(frozen=True, kw_only=True)
class ModelStarted(TaskItem):
    """A model request starts; the tokens of the answer follow, then `ModelFinished`."""

    kind: Literal["model_started"] = field(default="model_started", init=False)
    model: str
    """The model's name."""


@dataclass(frozen=True, kw_only=True)
class Token(TaskItem):
    """A chunk of a model's text, as sent by the provider."""

    kind: Literal["token"] = field(default="token", init=False)
    text: str
    """The chunk."""


@dataclass(frozen=True, kw_only=True)
class ToolCallToken(TaskItem):
    """A chunk of a tool call that a model is writing."""

    kind: Literal["tool_call_token"] = field(default="tool_call_token", init=False)
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


@dataclass(frozen=True, kw_only=True)
class ModelFinished(TaskItem):
    """A model request ended, with an answer or an error."""

    kind: Literal["model_finished"] = field(default="model_finished", init=False)
    model: str
    """The model's name."""

    text: str
    """The complete text; empty if the answer is only tool calls."""

    usage: UsageMetrics | None
    """Token usage of the request; None if the provider does not report it."""

    error: str | None
    """The error, if the request failed."""


@dataclass(frozen=True, kw_only=True)
class ToolStarted(TaskItem):
    """A tool call starts."""

    kind: Literal["tool_started"] = field(default="tool_started", init=False)
    tool: str
    """The tool's name, as defined by its author."""

    args: dict[str, Any] | str
    """The arguments."""


@dataclass(frozen=True, kw_only=True)
class ToolFinished(TaskItem):
    """A tool call ended, failed, or could not be made (then there was no `ToolStarted`)."""

    kind: Literal["tool_finished"] = field(default="tool_finished", init=False)
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


@dataclass(frozen=True, kw_only=True)
class Step(TaskItem):
    """The agent completed a step: a tool call or its answer."""

    kind: Literal["step"] = field(default="step", init=False)
    number: int
    """The number of the step in this attempt, from 1."""

    step: AgentAction | AgentFinish
    """The step, as passed to `step_callback`."""


@dataclass(frozen=True, kw_only=True)
class Judged(TaskItem):
    """A guardrail judged the output."""

    kind: Literal["judged"] = field(default="judged", init=False)
    accepted: bool
    """Whether the output was accepted; if not, the agent retries while retries are left."""

    reason: str | None
    """Why the output was rejected."""

    retries: int
    """How often the output was rejected before."""


@dataclass(frozen=True, kw_only=True)
class TaskFinished(TaskItem):
    """A task completed."""

    kind: Literal["task_finished"] = field(default="task_finished", init=False)
    output: TaskOutput
    """Its output."""


@dataclass(frozen=True, kw_only=True)
class TaskFailed(TaskItem):
    """A task failed; its exception is raised once concurrent tasks have ended."""

    kind: Literal["task_failed"] = field(default="task_failed", init=False)
    error: str
    """The error message."""


@dataclass(frozen=True, kw_only=True)
class Custom(StreamItem):
    """Data that a tool wrote with LangGraph's `get_stream_writer()`."""

    kind: Literal["custom"] = field(default="custom", init=False)
    data: Any
    """The data."""


@dataclass(frozen=True, kw_only=True)
class Finished(StreamItem):
    """The run completed; always the last item."""

    kind: Literal["finished"] = field(default="finished", init=False)
    output: CrewOutput
    """The result, as `kickoff` returns it."""


@dataclass(frozen=True, kw_only=True)
class FlowStarted(StreamItem):
    """The run starts or resumes; the first item, unless nothing is left to do."""

    kind: Literal["flow_started"] = field(default="flow_started", init=False)
    flow: str
    """The flow's name."""

    flow_id: str
    """The id of the run, which is the `id` of its state."""

    inputs: Inputs
    """The inputs; empty if the run resumes."""


@dataclass(frozen=True, kw_only=True)
class MethodItem(StreamItem):
    """An event of a method. Events of concurrent methods are interleaved."""

    method: str
    """The method's name."""

    execution: str
    """The execution: `judge#2` is the second of `judge`; `write#1/draft#1` belongs to a flow that `write` runs."""


@dataclass(frozen=True, kw_only=True)
class MethodStarted(MethodItem):
    """A method starts."""

    kind: Literal["method_started"] = field(default="method_started", init=False)
    params: Mapping[str, Any]
    """The arguments: the result of the trigger as `_0`, others by name."""


@dataclass(frozen=True, kw_only=True)
class MethodFinished(MethodItem):
    """A method returned."""

    kind: Literal["method_finished"] = field(default="method_finished", init=False)
    result: Any
    """The return value."""


@dataclass(frozen=True, kw_only=True)
class MethodFailed(MethodItem):
    """A method raised an exception, which ends the run and is raised after the last item."""

    kind: Literal["method_failed"] = field(default="method_failed", init=False)
    error: str
    """The error message."""


@dataclass(frozen=True, kw_only=True)
class Asked(MethodItem):
    """A method waits for an answer; other methods continue."""

    kind: Literal["asked"] = field(default="asked", init=False)
    question: "Question"
    """The question."""


@dataclass(frozen=True, kw_only=True)
class CrewStarted(MethodItem):
    """A method starts a crew; `TaskItem`s report its tasks."""

    kind: Literal["crew_started"] = field(default="crew_started", init=False)
    crew: str | None
    """The crew's name."""

    thread_id: str | None
    """The name that the crew's run is stored under; None if it is not stored."""

    inputs: Inputs
    """The values for the placeholders."""


@dataclass(frozen=True, kw_only=True)
class CrewFinished(MethodItem):
    """A crew completed."""

    kind: Literal["crew_finished"] = field(default="crew_finished", init=False)
    crew: str | None
    """The crew's name."""

    output: CrewOutput
    """Its output."""


@dataclass(frozen=True, kw_only=True)
class CrewFailed(MethodItem):
    """A crew failed; the method may catch the exception."""

    kind: Literal["crew_failed"] = field(default="crew_failed", init=False)
    crew: str | None
    """The crew's name."""

    error: str
    """The error message."""


@dataclass(frozen=True, kw_only=True)
class FlowFinished(StreamItem):
    """The run completed; always the last item."""

    kind: Literal["flow_finished"] = field(default="flow_finished", init=False)
    result: Any
    """The result, as `kickoff` returns it."""


@dataclass(frozen=True, kw_only=True)
class FlowPaused(StreamItem):
    """The run waits for an answer; the last item, instead of `FlowFinished`."""

    kind: Literal["flow_paused"] = field(default="flow_paused", init=False)
    pending: "PendingFlow"
    """The pending questions, as `kickoff` returns them."""


def _jsonable(value: object) -> object:
    if isinstance(value, TaskOutput):
        return value.to_plain()
    if isinstance(value, CrewOutput):
        plain = value.model_dump(mode="json", exclude={"tasks_output"}, serialize_as_any=True)
        return {**plain, "tasks_output": [output.to_plain() for output in value.tasks_output]}
    return to_jsonable_python(value, fallback=repr)
