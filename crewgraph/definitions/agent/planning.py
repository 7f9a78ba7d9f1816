"""Planning of a task in steps: the configuration, the steps with their status, and the observations on their results."""

from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, field_validator

__all__ = ["PlanStep", "PlanningConfig", "StepObservation", "StepRefinement", "TodoItem", "TodoList", "TodoStatus"]


class PlanningConfig(BaseModel):
    """How an agent plans a task in steps, and carries them out: `Agent(planning_config=PlanningConfig(...))`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reasoning_effort: Literal["low", "medium", "high"] = "medium"
    """What is made of the outcome of a step. "low": nothing, the next one follows. "medium": a model looks at it; after a step
    that failed it may have the rest planned anew. "high": it may also reword steps to come, have the rest planned anew after any
    step, and end early."""

    observe_steps: bool | None = None
    """Whether a model looks at the outcome of each step; where None, unless the effort is "low"."""

    max_attempts: int | None = None
    """How many plans may be made until one is ready; 10 where None."""

    max_steps: int = Field(default=20, ge=1)
    """The most steps of a plan; further ones are left out."""

    system_prompt: str | None = None
    """What the planner is told about itself, in the place of ours; may hold `{role}`, `{goal}` and `{backstory}`."""

    plan_prompt: str | None = None
    """What it is asked, in the place of ours; may also hold `{description}`, `{expected_output}`, `{tools}` and `{max_steps}`."""

    refine_prompt: str | None = None
    """What it is asked where its plan was not ready, in the place of ours; may also hold `{current_plan}`."""

    max_replans: int = Field(default=3, ge=0)
    """How often the rest of the steps may be planned anew."""

    max_step_iterations: int = Field(default=15, ge=1)
    """After this many model requests for a step it must be answered with what is known."""

    step_timeout: int | None = None
    """After this many seconds a step is given up, and has failed; no bound where None or 0."""

    llm: Any = None
    """The model that plans and looks at outcomes; the agent's where None."""

    @classmethod
    def simplest(cls) -> "PlanningConfig":
        """What `planning=True` by itself means: one plan, carried out without looking back."""
        return cls(reasoning_effort="low", max_attempts=1)

    @property
    def observes(self) -> bool:
        """Whether a model looks at the outcome of each step."""
        return self.reasoning_effort != "low" if self.observe_steps is None else self.observe_steps


TodoStatus = Literal["pending", "running", "completed", "failed"]
"""How far a step is."""


class PlanStep(BaseModel):
    """A step as a planner writes it."""

    step_number: int = Field(description="The number of the step, from 1")
    """Its number, from 1."""

    description: str = Field(description="What is to be done in it")
    """What is to be done."""

    tool_to_use: str | None = Field(default=None, description="The tool that it needs, if any")
    """The tool that it needs, if any."""

    depends_on: list[int] = Field(
        default_factory=list[int], description="The numbers of the steps whose results it needs"
    )
    """The steps whose results it needs."""


class TodoItem(BaseModel):
    """A step that is carried out."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """An identity, made."""

    step_number: int
    """Its number, from 1."""

    description: str
    """What is to be done."""

    tool_to_use: str | None = None
    """The tool that it needs, if any."""

    status: TodoStatus = "pending"
    """How far it is."""

    depends_on: list[int] = Field(default_factory=list[int])
    """The steps whose results it needs."""

    result: str | None = None
    """What came of it; why not, where it failed."""


class TodoList(BaseModel):
    """The steps of a plan, in order."""

    items: list[TodoItem] = Field(default_factory=list[TodoItem])
    """The steps."""

    @property
    def current_todo(self) -> TodoItem | None:
        """The step that is under way."""
        return next(iter(self._of("running")), None)

    @property
    def next_pending(self) -> TodoItem | None:
        """The first step that is not begun."""
        return next(iter(self._of("pending")), None)

    @property
    def is_complete(self) -> bool:
        """Whether there are steps, and all of them are done, or have failed."""
        return bool(self.items) and all(item.status in ("completed", "failed") for item in self.items)

    @property
    def pending_count(self) -> int:
        """How many steps are not begun."""
        return len(self._of("pending"))

    @property
    def running_count(self) -> int:
        """How many steps are under way."""
        return len(self._of("running"))

    @property
    def completed_count(self) -> int:
        """How many steps are done."""
        return len(self._of("completed"))

    @property
    def can_parallelize(self) -> bool:
        """Whether several steps can be begun at once."""
        return len(self.get_ready_todos()) > 1

    def get_by_step_number(self, step_number: int) -> TodoItem | None:
        """A step by its number."""
        return next((item for item in self.items if item.step_number == step_number), None)

    def get_pending_todos(self) -> list[TodoItem]:
        """The steps that are not begun."""
        return self._of("pending")

    def get_completed_todos(self) -> list[TodoItem]:
        """The steps that are done."""
        return self._of("completed")

    def get_failed_todos(self) -> list[TodoItem]:
        """The steps that have failed."""
        return self._of("failed")

    def get_ready_todos(self) -> list[TodoItem]:
        """The steps that can be begun: those that they depend on are done, or have failed."""
        ended = {item.step_number for item in self.items if item.status in ("completed", "failed")}
        return [item for item in self._of("pending") if ended.issuperset(item.depends_on)]

    def mark_running(self, step_number: int) -> None:
        """A step begins."""
        self._mark(step_number, "running", None)

    def mark_completed(self, step_number: int, result: str | None = None) -> None:
        """A step is done."""
        self._mark(step_number, "completed", result)

    def mark_failed(self, step_number: int, result: str | None = None) -> None:
        """A step has failed."""
        self._mark(step_number, "failed", result)

    def replace_pending_todos(self, new_items: list[TodoItem]) -> None:
        """Put other steps in the place of those that are not begun."""
        self.items = [*(item for item in self.items if item.status != "pending"), *new_items]

    def _of(self, status: TodoStatus) -> list[TodoItem]:
        return [item for item in self.items if item.status == status]

    def _mark(self, step_number: int, status: TodoStatus, result: str | None) -> None:
        item = self.get_by_step_number(step_number)
        if item is not None:
            item.status = status
            item.result = item.result if result is None else result


class StepRefinement(BaseModel):
    """Other words for a step to come."""

    step_number: int = Field(description="The number of the step")
    """Which step."""

    new_description: str = Field(description="What is to be done in it now")
    """What is to be done in it now."""


class StepObservation(BaseModel):
    """What a model makes of the outcome of a step."""

    step_completed_successfully: bool = Field(description="Whether the step did what it was for")
    """Whether it did what it was for."""

    key_information_learned: str = Field(default="", description="What is known now that later steps need")
    """What is known now that later steps need."""

    remaining_plan_still_valid: bool = Field(default=True, description="Whether the steps to come still make sense")
    """Whether the steps to come still make sense."""

    suggested_refinements: list[StepRefinement] | None = Field(
        default=None, description="Other words for steps to come, where what is known now makes them more exact"
    )
    """Other words for steps to come."""

    needs_full_replan: bool = Field(default=False, description="Whether the steps to come must be planned anew")
    """Whether the steps to come must be planned anew."""

    replan_reason: str | None = Field(default=None, description="Why they must")
    """Why they must."""

    goal_already_achieved: bool = Field(default=False, description="Whether the whole task is done already")
    """Whether the whole task is done already."""

    @field_validator("suggested_refinements", mode="before")
    @classmethod
    def coerce_single_refinement_to_list(cls, v: Any) -> Any:
        """Take one alone for a list of one."""
        return [v] if isinstance(v, (dict, StepRefinement)) else v
