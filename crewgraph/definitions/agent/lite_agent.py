"""`LiteAgent`, an agent used only by `kickoff`, and `LiteAgentOutput`, the result of an agent's `kickoff`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.agent.planning import TodoItem
from crewgraph.definitions.task.output import StructuredForm, dump_model, load_model, model_named, name_model
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
    """Number of model requests after which it must answer with what it has."""

    response_format: type[BaseModel] | None = None
    """Pydantic model of its structured answers."""

    parent_flow: Any = Field(default_factory=lambda: current_flow(), exclude=True, repr=False)
    """The flow in whose method it was created."""

    request_within_rpm_limit: Callable[[], bool] | None = Field(default=None, exclude=True, repr=False)
    """Called before each request, which waits until it returns."""

    original_agent: Any = Field(default=None, exclude=True, repr=False)
    """The agent that it represents; its messages and tool failures are recorded there as well."""

    def model_post_init(self, context: object, /) -> None:
        """Apply `max_iterations` and `request_within_rpm_limit`."""
        super().model_post_init(context)
        self.max_iter = self.max_iterations
        if self.request_within_rpm_limit is not None:
            self.set_rpm_controller(_RpmGate(self.request_within_rpm_limit))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Messages of the last kickoff, including the answer."""
        return self.last_messages

    @property
    def iterations(self) -> int:
        """Number of model replies in the last kickoff."""
        return sum(message["role"] == "assistant" for message in self.messages)

    @property
    def use_stop_words(self) -> bool:
        """Whether its model supports stop words."""
        supports: object = getattr(self.llm, "supports_stop_words", None)
        return bool(supports()) if callable(supports) else True

    @property
    def before_llm_call_hooks(self) -> list[Any]:
        """The hooks called before its requests."""
        return list(get_before_llm_call_hooks())

    @property
    def after_llm_call_hooks(self) -> list[Any]:
        """The hooks called after its requests."""
        return list(get_after_llm_call_hooks())

    def record_messages(self, messages: "Sequence[Message]") -> None:
        """Record the messages of the latest work."""
        super().record_messages(messages)
        if self.original_agent is not None:
            self.original_agent.record_messages(messages)

    def record_tool_failures(self, failures: "Sequence[ToolFailureRecord]") -> None:
        """Record the tool failures of the latest work."""
        super().record_tool_failures(failures)
        if self.original_agent is not None:
            self.original_agent.record_tool_failures(failures)

    def kickoff(
        self,
        messages: "str | Sequence[object]",
        response_format: type[BaseModel] | None = None,
        input_files: object = None,
        from_checkpoint: Any = None,
    ) -> "LiteAgentOutput":
        """See `Agent.kickoff`; `response_format` defaults to the agent's own."""
        return super().kickoff(messages, response_format or self.response_format, input_files, from_checkpoint)

    async def akickoff(
        self,
        messages: "str | Sequence[Any]",
        response_format: type[BaseModel] | None = None,
        input_files: object = None,
        from_checkpoint: Any = None,
    ) -> "LiteAgentOutput":
        """See `Agent.akickoff`; `response_format` defaults to the agent's own."""
        return await super().akickoff(messages, response_format or self.response_format, input_files, from_checkpoint)


@dataclass(frozen=True)
class _RpmGate:
    """Adapts `request_within_rpm_limit` to a rate limit controller."""

    passes: Callable[[], bool]

    def check_or_wait(self) -> bool:
        return self.passes()


class TodoExecutionResult(BaseModel):
    """The outcome of a plan's step."""

    step_number: int
    """Number of the step, from 1."""

    description: str
    """The instruction."""

    tool_used: str | None = None
    """The tool that it was planned with."""

    status: str
    """Status: pending, running, completed or failed."""

    result: str | None = None
    """The result, or the reason of the failure."""

    depends_on: list[int] = Field(default_factory=list[int])
    """The steps whose results it needed."""


class LiteAgentOutput(BaseModel):
    """The result of an agent's own `kickoff`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    raw: str = ""
    """The model's text."""

    pydantic: StructuredForm | None = None
    """The answer as an instance of `response_format`."""

    agent_role: str
    """The role of the agent."""

    usage_metrics: dict[str, Any] | None = None
    """Usage that the models reported, including all attempts: the fields of `UsageMetrics`."""

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """The messages of the conversation, from the first to the answer, as role and content."""

    plan: str | None = None
    """The agent's plan, if it plans."""

    todos: list[TodoExecutionResult] = Field(default_factory=list[TodoExecutionResult])
    """The steps of the plan with their outcomes."""

    replan_count: int = 0
    """Number of replans."""

    last_replan_reason: str | None = None
    """Reason of the latest replan, including one beyond the limit."""

    @classmethod
    def from_todo_items(cls, todo_items: Sequence[TodoItem]) -> list[TodoExecutionResult]:
        """Convert plan steps to the items of `todos`."""
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
        """The completed steps."""
        return [todo for todo in self.todos if todo.status == "completed"]

    @property
    def failed_todos(self) -> list[TodoExecutionResult]:
        """The failed steps."""
        return [todo for todo in self.todos if todo.status == "failed"]

    @property
    def had_plan(self) -> bool:
        """Whether there was a plan."""
        return self.plan is not None or bool(self.todos)

    tool_failures: list[ToolFailureRecord] = Field(default_factory=list[ToolFailureRecord])
    """Tool failures during the run, unless the policy ignores them."""

    @property
    def has_tool_failures(self) -> bool:
        """Whether tools failed."""
        return bool(self.tool_failures)

    @property
    def token_usage(self) -> UsageMetrics:
        """The reported usage."""
        return UsageMetrics.model_validate(self.usage_metrics or {})

    @property
    def is_structured(self) -> bool:
        """Whether there is a structured form."""
        return self.pydantic is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the structured answer as a dict, empty if there is none."""
        return self.pydantic.model_dump() if self.pydantic is not None else {}

    def __str__(self) -> str:
        return self.raw

    def to_plain(self) -> dict[str, Any]:
        """Return plain data, the form stored in checkpoints."""
        plain = self.model_dump(mode="json", exclude={"pydantic"})
        plain["pydantic"] = dump_model(self.pydantic)
        if self.pydantic is not None:
            plain["pydantic_class"] = name_model(type(self.pydantic))
        return plain

    @classmethod
    def from_plain(cls, data: Mapping[str, object], model: type[BaseModel] | None = None) -> Self:
        """Recreate an output from the data of `to_plain`.

        Args:
            data: The plain data, validated like constructor arguments.
            model: The class of `pydantic`, unless an output of this process named another.

        Raises:
            pydantic.ValidationError: If the data is invalid.
        """
        model = model_named(data.get("pydantic_class")) or model
        return cls.model_validate({**data, "pydantic": load_model(data.get("pydantic"), model)})
