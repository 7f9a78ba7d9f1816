"""The result of an agent's `kickoff`."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from crewgraph.definitions.agent.planning import TodoItem
from crewgraph.definitions.html import html_answer
from crewgraph.definitions.task.output import StructuredForm, dump_model, load_model, model_named, name_model
from crewgraph.llm.usage import UsageMetrics
from crewgraph.tools.failure import ToolFailureRecord


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

    def __await__(self) -> Generator[None, None, Self]:
        """Return itself: in an event loop CrewAI's `kickoff` returns a coroutine."""
        yield from ()
        return self

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

    def _repr_html_(self) -> str:
        return html_answer(self.agent_role, self.raw)

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
