"""`LiteAgent`, an agent used only by `kickoff`, and `LiteAgentOutput`, the result of an agent's `kickoff`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.agent.planning import TodoItem
from crewgraph.definitions.task.output import dump_model, load_model
from crewgraph.hooks.llm_hooks import get_after_llm_call_hooks, get_before_llm_call_hooks
from crewgraph.lazy import lazy
from crewgraph.llm.usage import UsageMetrics
from crewgraph.tools.failure import ToolFailureRecord

if TYPE_CHECKING:
    from crewgraph.core.messages import Message
    from crewgraph.definitions.flow.state import current_flow
else:
    current_flow = lazy("crewgraph.definitions.flow.state:current_flow")

__all__ = ["LiteAgent", "LiteAgentOutput", "TodoExecutionResult"]


class LiteAgent(Agent):
    """An agent for conversations: `LiteAgent(...).kickoff("...")`. Any `Agent` does the same."""

    max_iterations: int = 15
    """After this many model requests it must answer with what it has."""

    response_format: type[BaseModel] | None = None
    """A pydantic model that its answers are given as, too."""

    parent_flow: Any = Field(default_factory=lambda: current_flow(), exclude=True, repr=False)
    """The flow in whose method it was made."""

    request_within_rpm_limit: Callable[[], bool] | None = Field(default=None, exclude=True, repr=False)
    """Called before each request; the request waits for as long as it does not return."""

    original_agent: Any = Field(default=None, exclude=True, repr=False)
    """The agent that it stands for, which shows its messages and its tools' failures as its own, too."""

    def model_post_init(self, context: Any, /) -> None:
        """Let `max_iterations` and `request_within_rpm_limit` count."""
        super().model_post_init(context)
        self.max_iter = self.max_iterations
        if self.request_within_rpm_limit is not None:
            self.set_rpm_controller(_RpmGate(self.request_within_rpm_limit))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What was said in its last kickoff, the answer included."""
        return self.last_messages

    @property
    def iterations(self) -> int:
        """How many replies of its model the last kickoff took."""
        return sum(one["role"] == "assistant" for one in self.messages)

    @property
    def use_stop_words(self) -> bool:
        """Whether its model stops at given texts."""
        asks: Any = getattr(self.llm, "supports_stop_words", None)
        return bool(asks()) if callable(asks) else True

    @property
    def before_llm_call_hooks(self) -> list[Any]:
        """The hooks that are called before its requests."""
        return list(get_before_llm_call_hooks())

    @property
    def after_llm_call_hooks(self) -> list[Any]:
        """The hooks that are called after them."""
        return list(get_after_llm_call_hooks())

    def record_messages(self, messages: "Sequence[Message]") -> None:
        """Show a conversation as that of the last work."""
        super().record_messages(messages)
        if self.original_agent is not None:
            self.original_agent.record_messages(messages)

    def record_tool_failures(self, failures: "Sequence[ToolFailureRecord]") -> None:
        """Show the failures of some work as those of the last."""
        super().record_tool_failures(failures)
        if self.original_agent is not None:
            self.original_agent.record_tool_failures(failures)

    def kickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: type[BaseModel] | None = None,
        input_files: Any = None,
        from_checkpoint: Any = None,
    ) -> "LiteAgentOutput":
        """As `Agent.kickoff`; `response_format` is its own where None."""
        return super().kickoff(messages, response_format or self.response_format, input_files, from_checkpoint)

    async def akickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: type[BaseModel] | None = None,
        input_files: Any = None,
        from_checkpoint: Any = None,
    ) -> "LiteAgentOutput":
        """As `Agent.akickoff`; `response_format` is its own where None."""
        return await super().akickoff(messages, response_format or self.response_format, input_files, from_checkpoint)


@dataclass(frozen=True)
class _RpmGate:
    """What requests wait for."""

    passes: Callable[[], bool]

    def check_or_wait(self) -> bool:
        return self.passes()


class TodoExecutionResult(BaseModel):
    """What became of a step of a plan."""

    step_number: int
    """Its number, from 1."""

    description: str
    """What was to be done."""

    tool_used: str | None = None
    """The tool that it was planned with."""

    status: str
    """How far it came: pending, running, completed or failed."""

    result: str | None = None
    """What came of it; why not, where it failed."""

    depends_on: list[int] = Field(default_factory=list[int])
    """The steps whose results it needed."""


class LiteAgentOutput(BaseModel):
    """The result of an agent without a crew."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    raw: str = ""
    """The text as the model wrote it."""

    pydantic: SerializeAsAny[BaseModel] | None = None
    """The text as an instance of `response_format`."""

    agent_role: str
    """The role of the agent."""

    usage_metrics: dict[str, Any] | None = None
    """What the models reported, all attempts included: the fields of `UsageMetrics`."""

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """The conversation with the model, from its first message to the answer, as role and content."""

    plan: str | None = None
    """The plan that the agent made, where it plans."""

    todos: list[TodoExecutionResult] = Field(default_factory=list[TodoExecutionResult])
    """The steps of the plan, and what became of them."""

    replan_count: int = 0
    """How often the rest of the steps was planned anew."""

    last_replan_reason: str | None = None
    """Why it was, or would have been, the last time."""

    @classmethod
    def from_todo_items(cls, todo_items: Sequence[TodoItem]) -> list[TodoExecutionResult]:
        """What became of steps, as `todos` holds it."""
        return [
            TodoExecutionResult(
                step_number=item.step_number,
                description=item.description,
                tool_used=item.tool_to_use,
                status=item.status,
                result=item.result,
                depends_on=item.depends_on,
            )
            for item in todo_items
        ]

    @property
    def completed_todos(self) -> list[TodoExecutionResult]:
        """The steps that are done."""
        return [todo for todo in self.todos if todo.status == "completed"]

    @property
    def failed_todos(self) -> list[TodoExecutionResult]:
        """The steps that have failed."""
        return [todo for todo in self.todos if todo.status == "failed"]

    @property
    def had_plan(self) -> bool:
        """Whether there was a plan."""
        return self.plan is not None or bool(self.todos)

    tool_failures: list[ToolFailureRecord] = Field(default_factory=list[ToolFailureRecord])
    """The failures of tools on the way to it, unless the policy is to ignore them."""

    @property
    def has_tool_failures(self) -> bool:
        """Whether tools failed."""
        return bool(self.tool_failures)

    @property
    def token_usage(self) -> UsageMetrics:
        """What the models reported."""
        return UsageMetrics.model_validate(self.usage_metrics or {})

    def to_dict(self) -> dict[str, Any]:
        """The structured form as a dict; empty where there is none."""
        return self.pydantic.model_dump() if self.pydantic is not None else {}

    def __str__(self) -> str:
        return self.raw

    def to_plain(self) -> dict[str, Any]:
        """As plain data, the form that checkpoints hold."""
        plain = self.model_dump(mode="json", exclude={"pydantic"})
        plain["pydantic"] = dump_model(self.pydantic)
        return plain

    @classmethod
    def from_plain(cls, data: Mapping[str, Any], model: type[BaseModel] | None = None) -> Self:
        """The output that `to_plain` described.

        Args:
            data: plain data, checked like a constructor's arguments.
            model: what `pydantic` is an instance of.

        Raises:
            pydantic.ValidationError: the data does not fit.
        """
        return cls.model_validate({**data, "pydantic": load_model(data.get("pydantic"), model)})
