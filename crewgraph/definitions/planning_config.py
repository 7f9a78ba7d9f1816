"""How an agent plans a task in steps, and carries them out."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["PlanningConfig"]


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
