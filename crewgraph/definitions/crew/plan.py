"""The plan that a crew makes before its tasks are done."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, Field, field_validator

__all__ = ["CrewPlan", "PlanPerTask"]


class PlanPerTask(BaseModel):
    """How one task is to be done."""

    task_number: int = Field(description="The number of the task")
    """The number of the task, from 1."""

    task: str = Field("", description="What the task is about, in a few words")
    """What it is about."""

    plan: str = Field(description="The steps that lead to the expected result, in order, one on each line")
    """The steps to its result, in order."""

    @field_validator("plan", mode="before")
    @classmethod
    def _join_steps(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        steps = [str(step).strip() for step in cast(list[Any], value)]
        return "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))


class CrewPlan(BaseModel):
    """How the tasks of a crew are to be done, one after the other."""

    list_of_plans_per_task: list[PlanPerTask] = Field(description="One plan for each task")
    """A plan for each task."""

    def by_number(self, tasks: int) -> Mapping[int, str]:
        """The plans by the numbers of their tasks, from 1.

        Args:
            tasks: how many tasks there are. Where a number is none of theirs, the order of the plans counts.
        """
        plans = [one for one in self.list_of_plans_per_task if one.plan.strip()]
        numbers = [one.task_number for one in plans]
        if not set(numbers) <= set(range(1, tasks + 1)) or len(set(numbers)) < len(numbers):
            numbers = list(range(1, len(plans) + 1))
        return {number: one.plan.strip() for number, one in zip(numbers, plans, strict=True) if number <= tasks}
