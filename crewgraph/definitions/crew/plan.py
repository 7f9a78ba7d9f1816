"""The plan that a crew makes before its tasks run, if `planning=True`."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field, field_validator

from crewgraph.schema import is_list


class PlanPerTask(BaseModel, defer_build=True):
    """The plan for one task."""

    task_number: int = Field(description="The number of the task")
    """The number of the task, from 1."""

    task: str = Field("", description="A short summary of the task")
    """What the task is about."""

    plan: str = Field(description="The steps to the expected result in order, one per line")
    """The steps to the result, in order."""

    @field_validator("plan", mode="before")
    @classmethod
    def _join_steps(cls, value: Any) -> object:
        if not is_list(value):
            return value
        steps = [str(step).strip() for step in value]
        return "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))


class CrewPlan(BaseModel, defer_build=True):
    """The plans for the tasks of a crew."""

    list_of_plans_per_task: list[PlanPerTask] = Field(description="One plan for each task")
    """One plan per task."""

    def by_number(self, tasks: int) -> Mapping[int, str]:
        """Return the plans by task number, from 1.

        Args:
            tasks: The number of tasks. If the planner's numbers are out of range or not unique, plans are numbered in order.
        """
        plans = [plan for plan in self.list_of_plans_per_task if plan.plan.strip()]
        numbers = [plan.task_number for plan in plans]
        if not set(numbers) <= set(range(1, tasks + 1)) or len(set(numbers)) < len(numbers):
            numbers = list(range(1, len(plans) + 1))
        return {number: plan.plan.strip() for number, plan in zip(numbers, plans, strict=True) if number <= tasks}
