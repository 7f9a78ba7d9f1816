"""Looking at the outcome of a step of a plan by hand."""

from collections.abc import Mapping
from typing import Any

from crewgraph.compiler.agent.binding import engaged
from crewgraph.compiler.agent.events import AgentReport
from crewgraph.compiler.agent.models import model_of
from crewgraph.compiler.agent.plan.execution import observe_step
from crewgraph.compiler.agent.plan.planner import Planner
from crewgraph.compiler.agent.plan.report import AgentPlanReport
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.effects import Body
from crewgraph.core.operations import drive
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.agent.planning import StepObservation, TodoItem, TodoList
from crewgraph.definitions.task.task import Task
from crewgraph.llm.usage import UsageLedger
from crewgraph.runtime.agent.standalone import body_alone

__all__ = ["PlannerObserver"]


class PlannerObserver:
    """Has a model look at what came of the steps of a plan; `Agent(planning_config=...)` does so in each run.

    Args:
        agent: whose plan it is; the model is that of its `planning_config`, else its own.
        task: what was planned.
        kickoff_input: what was asked, where there is no task.
    """

    def __init__(self, agent: BaseAgent, task: Task | None = None, kickoff_input: str = "") -> None:
        self.agent, self.task, self.kickoff_input = agent, task, kickoff_input

    def observe(
        self,
        completed_step: TodoItem,
        result: str,
        all_completed: list[TodoItem],
        remaining_todos: list[TodoItem],
    ) -> StepObservation:
        """What the model makes of the outcome of a step; that it was done, where it gives no answer that can be read.

        Args:
            completed_step: the step.
            result: what came of it.
            all_completed: the steps that are done.
            remaining_todos: the steps to come.
        """
        others = [item for item in all_completed if item.step_number != completed_step.step_number]
        todos = TodoList(items=[*others, *remaining_todos])
        outcome = {"ok": True, "text": result}
        asked = self.kickoff_input if self.task is None else self.task.description
        report = AgentPlanReport(self.agent, self.task, self.agent.role)

        def body(_: Mapping[str, Any]) -> Body[dict[str, Any]]:
            seen = yield from observe_step(self._planner(asked), asked, completed_step, outcome, todos, report)
            return {"seen": seen.model_dump()}

        return StepObservation.model_validate(drive(body_alone("Observation", "seen", body)))

    def apply_refinements(self, observation: StepObservation, remaining_todos: list[TodoItem]) -> list[TodoItem]:
        """The steps to come in the words that the model suggests."""
        by_number = {item.step_number: item for item in remaining_todos}
        for one in observation.suggested_refinements or ():
            if one.step_number in by_number:
                by_number[one.step_number].description = one.new_description
        return remaining_todos

    @staticmethod
    def heuristic_observation(*, step_success: bool, result: str = "") -> StepObservation:
        """What is made of an outcome without a model."""
        return StepObservation(step_completed_successfully=step_success)

    def _planner(self, asked: str) -> Planner:
        agent, task = self.agent, self.task
        config = getattr(agent, "planning_config", None)
        own = None if config is None else config.llm
        book = agent.wording()
        engagement = engaged(agent)
        return Planner(
            model=model_of(agent.llm if own is None else own, agent, task, None),
            book=book,
            briefing=Briefing(
                role=agent.role,
                goal=agent.goal,
                backstory=agent.backstory,
                description=asked,
                expected_output=book.slice("reply_expected") if task is None else task.expected_output,
                output_file=None,
                context="",
            ),
            tools="",
            attempts=None,
            usage=UsageLedger(),
            report=AgentReport(engagement, task),
        )
