"""What an agent's `kickoff` gives back."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny

from crewgraph.definitions.agent_plan import TodoItem
from crewgraph.definitions.plain_model import model_again, plain_model
from crewgraph.llm.usage import UsageMetrics
from crewgraph.tools.failure import ToolFailureRecord

__all__ = ["LiteAgentOutput", "TodoExecutionResult"]


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
        plain["pydantic"] = plain_model(self.pydantic)
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
        return cls.model_validate({**data, "pydantic": model_again(data.get("pydantic"), model)})
