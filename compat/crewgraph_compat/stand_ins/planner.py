"""Planning the tasks of a crew by hand."""

from collections.abc import Sequence
from typing import Any

from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.definitions.task.task import Task
from crewgraph.prompts.book import english

__all__ = ["CrewPlanner"]


class CrewPlanner:
    """Has a model plan tasks; `Crew(planning=True)` does it in each run.

    Args:
        tasks: the tasks.
        planning_agent_llm: who plans; None is the model of the first task's agent.
    """

    def __init__(self, tasks: list[Task], planning_agent_llm: Any = None) -> None:
        self.tasks = tasks
        self.planning_agent_llm = planning_agent_llm or _first_llm(tasks)

    def _handle_crew_planning(self) -> CrewPlan:
        """The plan.

        Raises:
            ValueError: the model wrote none that can be read.
        """
        task = self._create_planner_task(self._create_planning_agent(), self._create_tasks_summary())
        output: Any = task.execute_sync()
        if not isinstance(output.pydantic, CrewPlan):
            raise ValueError(f"the model wrote no plan that can be read; its reply: {output.raw!r:.200}")
        return output.pydantic

    def _create_planning_agent(self) -> Agent:
        book = english()
        return Agent(
            role=book.slice("planner_role"),
            goal=book.slice("planner_goal"),
            backstory=book.slice("planner_backstory"),
            llm=self.planning_agent_llm,
        )

    @staticmethod
    def _create_planner_task(planning_agent: Agent, tasks_summary: str) -> Task:
        book = english()
        return Task(
            description=book.slice("planning_task", tasks=tasks_summary),
            expected_output=book.slice("planning_result"),
            agent=planning_agent,
            output_pydantic=CrewPlan,
        )

    def _create_tasks_summary(self) -> str:
        return "\n\n".join(_told(number, task) for number, task in enumerate(self.tasks, 1))


def _told(number: int, task: Task) -> str:
    agent: Any = task.agent
    tools: Sequence[Any] = task.tools or getattr(agent, "tools", None) or ()
    return english().slice(
        "planning_of_task",
        number=str(number),
        description=task.description,
        expected_output=task.expected_output,
        role=getattr(agent, "role", None) or "-",
        goal=getattr(agent, "goal", None) or "-",
        tools=", ".join(str(getattr(tool, "name", tool)) for tool in tools) or "-",
    )


def _first_llm(tasks: Sequence[Task]) -> Any:
    return next((llm for task in tasks if (llm := getattr(task.agent, "llm", None)) is not None), None)
