"""What `crew.stream` and `flow.stream` report of a run, one item after the other."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import to_jsonable_python

from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
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
    """Something that happened in a run."""

    kind: str
    """What happened, one word; each class has its own."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, for server-sent events and logs."""
        return {one.name: _jsonable(getattr(self, one.name)) for one in fields(self)}


@dataclass(frozen=True, kw_only=True)
class TaskItem(StreamItem):
    """Something that happened while a task was worked on; tasks that run at once tell in turns.

    In the stream of a flow also while an agent or a model was asked without a task; `task` is empty then, and `agent` is where a
    model was.
    """

    task: str
    """The task, by the name of its node: its own name as a short unique word, the key of `crew.compile()`'s state."""

    agent: str
    """The role of the agent, its placeholders filled."""

    crew: str | None = None
    """In the stream of a flow: the crew's name."""

    method: str | None = None
    """In the stream of a flow: the method."""

    execution: str | None = None
    """In the stream of a flow: which of the method's executions it is, as `judge#2`."""


@dataclass(frozen=True, kw_only=True)
class Started(StreamItem):
    """The run begins; always the first."""

    kind: Literal["started"] = field(default="started", init=False)
    crew: str | None
    """The crew's name."""

    thread_id: str | None
    """What the run is kept under, for `resume`; None where it is not kept."""

    inputs: Mapping[str, Any]
    """The values for the placeholders."""


@dataclass(frozen=True, kw_only=True)
class TaskStarted(TaskItem):
    """A task begins."""

    kind: Literal["task_started"] = field(default="task_started", init=False)
    index: int
    """The place of the task in the crew, from 0; -1 for the planning before them."""

    name: str | None
    """The task's own name."""

    description: str
    """What is to be done, its placeholders filled."""


@dataclass(frozen=True, kw_only=True)
class ModelStarted(TaskItem):
    """The agent asks a model; the pieces of the answer come between this and `ModelFinished`."""

    kind: Literal["model_started"] = field(default="model_started", init=False)
    model: str
    """The model's name."""


@dataclass(frozen=True, kw_only=True)
class Token(TaskItem):
    """A piece of a model's text, as the provider cut it."""

    kind: Literal["token"] = field(default="token", init=False)
    text: str
    """The piece."""


@dataclass(frozen=True, kw_only=True)
class ToolCallToken(TaskItem):
    """A piece of a tool call that a model writes."""

    kind: Literal["tool_call_token"] = field(default="tool_call_token", init=False)
    tool: str
    """The tool's name."""

    text: str
    """The piece of the arguments."""

    arguments: str
    """The arguments so far, JSON when they are whole."""

    id: str | None
    """The provider's id of the call."""

    index: int
    """Which of the answer's calls it is, from 0."""


@dataclass(frozen=True, kw_only=True)
class ModelFinished(TaskItem):
    """The model has answered, or failed to."""

    kind: Literal["model_finished"] = field(default="model_finished", init=False)
    model: str
    """The model's name."""

    text: str
    """The whole answer; empty where it is tool calls alone."""

    usage: UsageMetrics | None
    """What the request cost, in tokens; None where the provider does not say."""

    error: str | None
    """Why there is no answer."""


@dataclass(frozen=True, kw_only=True)
class ToolStarted(TaskItem):
    """A tool begins its work."""

    kind: Literal["tool_started"] = field(default="tool_started", init=False)
    tool: str
    """The tool's name, as its author gave it."""

    args: dict[str, Any] | str
    """The arguments."""


@dataclass(frozen=True, kw_only=True)
class ToolFinished(TaskItem):
    """A tool has done its work, failed, or could not be called as the model wished (then it did not start)."""

    kind: Literal["tool_finished"] = field(default="tool_finished", init=False)
    tool: str
    """The tool's name."""

    args: dict[str, Any] | str
    """The arguments; text where the model wrote something that is no JSON object."""

    output: str
    """What the model is shown."""

    failed: bool
    """Whether that is an error."""


@dataclass(frozen=True, kw_only=True)
class Step(TaskItem):
    """The agent made a step: a tool's result is there, or the answer."""

    kind: Literal["step"] = field(default="step", init=False)
    number: int
    """Which step of the attempt it is, from 1."""

    step: AgentAction | AgentFinish
    """The step, as a `step_callback` gets it."""


@dataclass(frozen=True, kw_only=True)
class Judged(TaskItem):
    """A guardrail has judged the output."""

    kind: Literal["judged"] = field(default="judged", init=False)
    accepted: bool
    """Whether the output may stay; else the agent tries again, as long as it may."""

    reason: str | None
    """Why it was refused."""

    retries: int
    """How often it was refused before."""


@dataclass(frozen=True, kw_only=True)
class TaskFinished(TaskItem):
    """A task is done."""

    kind: Literal["task_finished"] = field(default="task_finished", init=False)
    output: TaskOutput
    """Its output."""


@dataclass(frozen=True, kw_only=True)
class TaskFailed(TaskItem):
    """A task failed; its exception is raised once the tasks beside it have ended."""

    kind: Literal["task_failed"] = field(default="task_failed", init=False)
    error: str
    """What went wrong."""


@dataclass(frozen=True, kw_only=True)
class Custom(StreamItem):
    """What the code of a tool wrote with LangGraph's `get_stream_writer()`."""

    kind: Literal["custom"] = field(default="custom", init=False)
    data: Any
    """What was written."""


@dataclass(frozen=True, kw_only=True)
class Finished(StreamItem):
    """The run is done; always the last."""

    kind: Literal["finished"] = field(default="finished", init=False)
    output: CrewOutput
    """The result, as `kickoff` returns it."""


@dataclass(frozen=True, kw_only=True)
class FlowStarted(StreamItem):
    """The run begins, or goes on; always the first of a run that does anything."""

    kind: Literal["flow_started"] = field(default="flow_started", init=False)
    flow: str
    """The flow's name."""

    flow_id: str
    """The run: the `id` of its state."""

    inputs: Mapping[str, Any]
    """What it was given; nothing where it goes on."""


@dataclass(frozen=True, kw_only=True)
class MethodItem(StreamItem):
    """Something that happened in a method; methods that run at once tell in turns."""

    method: str
    """The method."""

    execution: str
    """Which of its executions it is: `judge#2` is the second, `write#1/draft#1` belongs to a flow that `write` runs."""


@dataclass(frozen=True, kw_only=True)
class MethodStarted(MethodItem):
    """A method begins."""

    kind: Literal["method_started"] = field(default="method_started", init=False)
    params: Mapping[str, Any]
    """What it is called with: what came of its trigger as `_0`, the rest by name."""


@dataclass(frozen=True, kw_only=True)
class MethodFinished(MethodItem):
    """A method has returned."""

    kind: Literal["method_finished"] = field(default="method_finished", init=False)
    result: Any
    """What it returned."""


@dataclass(frozen=True, kw_only=True)
class MethodFailed(MethodItem):
    """A method has raised; the exception ends the run, and is raised behind the last item."""

    kind: Literal["method_failed"] = field(default="method_failed", init=False)
    error: str
    """What went wrong."""


@dataclass(frozen=True, kw_only=True)
class Asked(MethodItem):
    """A method waits for somebody's answer; others go on."""

    kind: Literal["asked"] = field(default="asked", init=False)
    question: "Question"
    """What is asked."""


@dataclass(frozen=True, kw_only=True)
class CrewStarted(MethodItem):
    """A method kicks off a crew; what its tasks do is told by `TaskItem`s."""

    kind: Literal["crew_started"] = field(default="crew_started", init=False)
    crew: str | None
    """The crew's name."""

    thread_id: str | None
    """What the crew's run is kept under; None where it is not kept."""

    inputs: Mapping[str, Any]
    """The values for the placeholders."""


@dataclass(frozen=True, kw_only=True)
class CrewFinished(MethodItem):
    """A crew is done."""

    kind: Literal["crew_finished"] = field(default="crew_finished", init=False)
    crew: str | None
    """The crew's name."""

    output: CrewOutput
    """Its output."""


@dataclass(frozen=True, kw_only=True)
class CrewFailed(MethodItem):
    """A crew failed; the method may catch that."""

    kind: Literal["crew_failed"] = field(default="crew_failed", init=False)
    crew: str | None
    """The crew's name."""

    error: str
    """What went wrong."""


@dataclass(frozen=True, kw_only=True)
class FlowFinished(StreamItem):
    """The run is done; always the last."""

    kind: Literal["flow_finished"] = field(default="flow_finished", init=False)
    result: Any
    """The result, as `kickoff` returns it."""


@dataclass(frozen=True, kw_only=True)
class FlowPaused(StreamItem):
    """The run waits for somebody's answer; the last, instead of `FlowFinished`."""

    kind: Literal["flow_paused"] = field(default="flow_paused", init=False)
    pending: "PendingFlow"
    """What it waits for, as `kickoff` returns it."""


def _jsonable(value: object) -> Any:
    if isinstance(value, TaskOutput):
        return value.to_plain()
    if isinstance(value, CrewOutput):
        plain = value.model_dump(mode="json", exclude={"tasks_output"}, serialize_as_any=True)
        return {**plain, "tasks_output": [output.to_plain() for output in value.tasks_output]}
    return to_jsonable_python(value, fallback=repr)
