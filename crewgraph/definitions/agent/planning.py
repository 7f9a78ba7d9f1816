"""Planning of a task in steps: the configuration, the steps with their status, and the observations on their results."""

from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, field_validator

from crewgraph.definitions.fields import KeptModelField


class PlanningConfig(BaseModel, defer_build=True):
    """How an agent plans a task in steps and runs them: `Agent(planning_config=PlanningConfig(...))`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reasoning_effort: Literal["low", "medium", "high"] = "medium"
    """How step results are used. "low": the next step simply follows. "medium": a model observes each result and may replan the
    rest after a failed step. "high": it may also refine later steps, replan after any step, and finish early."""

    observe_steps: bool | None = None
    """Whether a model observes the result of each step; None means unless the effort is "low"."""

    max_attempts: int | None = None
    """Maximum number of plans until one is ready; None means 10."""

    max_steps: int = Field(default=20, ge=1)
    """Maximum number of steps; further ones are dropped."""

    system_prompt: str | None = None
    """Replacement of the planner's system prompt; may contain `{role}`, `{goal}` and `{backstory}`."""

    plan_prompt: str | None = None
    """Replacement of the planning prompt; may also contain `{description}`, `{expected_output}`, `{tools}` and `{max_steps}`."""

    refine_prompt: str | None = None
    """Replacement of the prompt that refines a plan that is not ready; may also contain `{current_plan}`."""

    max_replans: int = Field(default=3, ge=0)
    """Maximum number of replans."""

    max_step_iterations: int = Field(default=15, ge=1)
    """Number of model requests after which a step must be answered with what is known."""

    step_timeout: int | None = None
    """Seconds after which a step fails; None or 0 is unlimited."""

    llm: KeptModelField = None
    """The model that plans and observes; None uses the agent's."""

    @classmethod
    def simplest(cls) -> "PlanningConfig":
        """Return the configuration for `planning=True`: a single plan, run without observation."""
        return cls(reasoning_effort="low", max_attempts=1)

    @property
    def observes(self) -> bool:
        """Whether a model observes the result of each step."""
        return self.reasoning_effort != "low" if self.observe_steps is None else self.observe_steps


TodoStatus = Literal["pending", "running", "completed", "failed"]
"""Status of a step."""


class PlanStep(BaseModel, defer_build=True):
    """A step as a planner writes it."""

    step_number: int = Field(description="The number of the step, from 1")
    """Its number, from 1."""

    description: str = Field(description="What is to be done in it")
    """The task of the step."""

    tool_to_use: str | None = Field(default=None, description="The tool that it needs, if any")
    """The tool that it needs, if any."""

    depends_on: list[int] = Field(
        default_factory=list[int], description="The numbers of the steps whose results it needs"
    )
    """The steps whose results it needs."""


class TodoItem(BaseModel, defer_build=True):
    """A step of a plan with its status and result."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """Generated id."""

    step_number: int
    """Number of the step, from 1."""

    description: str
    """The instruction."""

    tool_to_use: str | None = None
    """The tool that it needs, if any."""

    status: TodoStatus = "pending"
    """Status of the step."""

    depends_on: list[int] = Field(default_factory=list[int])
    """The steps whose results it needs."""

    result: str | None = None
    """The result, or the reason of the failure."""


class TodoList(BaseModel, defer_build=True):
    """The steps of a plan, in order."""

    items: list[TodoItem] = Field(default_factory=list[TodoItem])
    """The steps."""

    @property
    def pending_count(self) -> int:
        """Number of pending steps."""
        return len(self._with_status("pending"))

    @property
    def completed_count(self) -> int:
        """Number of completed steps."""
        return len(self._with_status("completed"))

    def get_by_step_number(self, step_number: int) -> TodoItem | None:
        """A step by its number."""
        return next((item for item in self.items if item.step_number == step_number), None)

    def get_pending_todos(self) -> list[TodoItem]:
        """The steps that have not started."""
        return self._with_status("pending")

    def get_ready_todos(self) -> list[TodoItem]:
        """Return the pending steps whose dependencies have completed or failed."""
        finished = {item.step_number for item in self.items if item.status in ("completed", "failed")}
        return [item for item in self._with_status("pending") if finished.issuperset(item.depends_on)]

    def mark_running(self, step_number: int) -> None:
        """Mark a step as running."""
        self._mark(step_number, "running", None)

    def mark_completed(self, step_number: int, result: str | None = None) -> None:
        """Mark a step as completed."""
        self._mark(step_number, "completed", result)

    def mark_failed(self, step_number: int, result: str | None = None) -> None:
        """Mark a step as failed."""
        self._mark(step_number, "failed", result)

    def replace_pending_todos(self, new_items: list[TodoItem]) -> None:
        """Replace the pending steps."""
        self.items = [*(item for item in self.items if item.status != "pending"), *new_items]

    def _with_status(self, status: TodoStatus) -> list[TodoItem]:
        return [item for item in self.items if item.status == status]

    def _mark(self, step_number: int, status: TodoStatus, result: str | None) -> None:
        item = self.get_by_step_number(step_number)
        if item is not None:
            item.status = status
            item.result = item.result if result is None else result


class StepRefinement(BaseModel, defer_build=True):
    """Other words for a step to come."""

    step_number: int = Field(description="The number of the step")
    """Which step."""

    new_description: str = Field(description="What is to be done in it now")
    """The new task of the step."""


class StepObservation(BaseModel, defer_build=True):
    """What a model makes of the outcome of a step."""

    step_completed_successfully: bool = Field(description="Whether the step did what it was for")
    """Whether it achieved its purpose."""

    key_information_learned: str = Field(default="", description="What is known now that later steps need")
    """What is known now that later steps need."""

    remaining_plan_still_valid: bool = Field(default=True, description="Whether the steps to come still make sense")
    """Whether the steps to come still make sense."""

    suggested_refinements: list[StepRefinement] | None = Field(
        default=None, description="Other words for steps to come, where what is known now makes them more exact"
    )
    """Other words for steps to come."""

    needs_full_replan: bool = Field(default=False, description="Whether the steps to come must be planned anew")
    """Whether the remaining steps must be replanned."""

    replan_reason: str | None = Field(default=None, description="Why they must")
    """Why they must."""

    goal_already_achieved: bool = Field(default=False, description="Whether the whole task is done already")
    """Whether the whole task is done already."""

    @field_validator("suggested_refinements", mode="before")
    @classmethod
    def coerce_single_refinement_to_list(cls, v: object) -> Any:
        """Wrap a single refinement in a list."""
        return [v] if isinstance(v, (dict, StepRefinement)) else v
