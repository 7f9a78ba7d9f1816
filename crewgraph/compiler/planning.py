"""Who makes the plan of a crew, and where it stands in the graph."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.compiler.limited import first_llm
from crewgraph.compiler.state import PLANNING
from crewgraph.definitions.agent import Agent
from crewgraph.definitions.crew import Crew
from crewgraph.definitions.crew_plan import CrewPlan
from crewgraph.definitions.task import Task
from crewgraph.prompts.book import Book

__all__ = ["listed", "planning_made_of", "planning_of"]


def planning_of(crew: Crew, tasks: Sequence[Assignment]) -> Assignment | None:
    """The task that stands before the others and makes the plan for them; None where the crew does not plan.

    It is shown as `crew.planning_tasks`.
    """
    if not crew.planning:
        crew.planning_tasks = []
        return None
    book = crew.texts.book
    planner = Agent(
        role=book.slice("planner_role"),
        goal=book.slice("planner_goal"),
        backstory=book.slice("planner_backstory"),
        llm=first_llm(crew, crew.planning_llm),
        verbose=crew.verbose,
    )
    planner.crew = crew
    task = Task(
        name=PLANNING,
        description=listed(tasks, {}, book),
        expected_output=book.slice("planning_result"),
        agent=planner,
        output_pydantic=CrewPlan,
    )
    crew.planning_tasks = [task]
    return Assignment(crew=crew, task=task, agent=planner, slug=PLANNING, context=(), given_tools=[], tools={})


def planning_made_of(crew: Crew) -> Hashable:
    """What the planning of a crew is made of, besides its tasks."""
    return (id(first_llm(crew, crew.planning_llm)), id(crew.texts), crew.verbose) if crew.planning else None


def listed(tasks: Sequence[Assignment], inputs: Mapping[str, Any], book: Book) -> str:
    """What the planner is asked: all tasks with who does them, the placeholders filled.

    Raises:
        MissingInput: a placeholder has no value among the inputs.
    """
    told = [_told(number, one, inputs, book) for number, one in enumerate(tasks, 1)]
    return book.slice("planning_task", tasks="\n\n".join(told))


def _told(number: int, one: Assignment, inputs: Mapping[str, Any], book: Book) -> str:
    asked, worker = one.task.worded(inputs), (one.task.agent or one.agent).worded(inputs)
    return book.slice(
        "planning_of_task",
        number=str(number),
        description=asked["description"] or "",
        expected_output=asked["expected_output"] or "",
        role=worker["role"] or "",
        goal=worker["goal"] or "",
        tools=", ".join(one.tools) or "none",
    )
