"""Planning called directly: crew plans, the steps of a plan, and the assessment of their results."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from crewgraph.agent import Agent, BaseAgent
from crewgraph.compiler.agent.binding import bind_agent
from crewgraph.compiler.agent.events import AgentReport
from crewgraph.compiler.agent.models import model_of
from crewgraph.compiler.agent.plan.execution import observe_step
from crewgraph.compiler.agent.plan.planner import Planner
from crewgraph.compiler.agent.plan.report import AgentPlanReport
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.effects import Body
from crewgraph.core.operations import drive
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.definitions.agent.planning import StepObservation, TodoItem, TodoList
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.errors import RunError
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import default_book
from crewgraph.runtime.agent.standalone import run_standalone
from crewgraph.task import Task

__all__ = ["FUNCTION_SCHEMA", "CrewPlanner", "PlannerObserver", "StepExecutionContext", "StepExecutor", "StepResult"]


class CrewPlanner:
    """Plan tasks with a model; `Crew(planning=True)` does this in each run.

    Args:
        tasks: the tasks.
        planning_agent_llm: the planning model; None selects the model of the first task's agent.
    """

    def __init__(self, tasks: list[Task], planning_agent_llm: Any = None) -> None:
        self.tasks = tasks
        self.planning_agent_llm = planning_agent_llm or _first_llm(tasks)

    def _handle_crew_planning(self) -> CrewPlan:
        """Create the plan.

        Raises:
            ValueError: The model's plan could not be parsed.
        """
        task = self._create_planner_task(self._create_planning_agent(), self._create_tasks_summary())
        output: Any = task.execute_sync()
        if not isinstance(output.pydantic, CrewPlan):
            raise ValueError(f"the model's plan could not be parsed; its reply: {output.raw!r:.200}")
        return output.pydantic

    def _create_planning_agent(self) -> Agent:
        book = default_book()
        return Agent(
            role=book.slice("planner_role"),
            goal=book.slice("planner_goal"),
            backstory=book.slice("planner_backstory"),
            llm=self.planning_agent_llm,
        )

    @staticmethod
    def _create_planner_task(planning_agent: Agent, tasks_summary: str) -> Task:
        book = default_book()
        return Task(
            description=book.slice("planning_task", tasks=tasks_summary),
            expected_output=book.slice("planning_result"),
            agent=planning_agent,
            output_pydantic=CrewPlan,
        )

    def _create_tasks_summary(self) -> str:
        return "\n\n".join(_task_outline(number, task) for number, task in enumerate(self.tasks, 1))


def _task_outline(number: int, task: Task) -> str:
    agent: Any = task.agent
    tools: Sequence[Any] = task.tools or getattr(agent, "tools", None) or ()
    return default_book().slice(
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


class PlannerObserver:
    """Assess the results of plan steps with a model; `Agent(planning_config=...)` does this in each run.

    Args:
        agent: the owner of the plan; its `planning_config` model is used, or else its own.
        task: the planned task.
        kickoff_input: the request if there is no task.
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
        """Return the model's assessment of a step; an unreadable reply counts as success.

        Args:
            completed_step: the step.
            result: the result.
            all_completed: the completed steps.
            remaining_todos: the remaining steps.
        """
        earlier = [item for item in all_completed if item.step_number != completed_step.step_number]
        todos = TodoList(items=[*earlier, *remaining_todos])
        outcome = {"ok": True, "text": result}
        request = self.kickoff_input if self.task is None else self.task.description
        report = AgentPlanReport(self.agent, self.task, self.agent.role)

        def body(_: Mapping[str, Any]) -> Body[dict[str, Any]]:
            seen = yield from observe_step(self._planner(request), request, completed_step, outcome, todos, report)
            return {"seen": seen.model_dump()}

        return StepObservation.model_validate(drive(run_standalone("Observation", "seen", body)))

    def apply_refinements(self, observation: StepObservation, remaining_todos: list[TodoItem]) -> list[TodoItem]:
        """Return the remaining steps with the model's suggested wording."""
        by_number = {item.step_number: item for item in remaining_todos}
        for refinement in observation.suggested_refinements or ():
            if refinement.step_number in by_number:
                by_number[refinement.step_number].description = refinement.new_description
        return remaining_todos

    @staticmethod
    def heuristic_observation(*, step_success: bool, result: str = "") -> StepObservation:
        """Assess a step without a model."""
        return StepObservation(step_completed_successfully=step_success)

    def _planner(self, request: str) -> Planner:
        agent, task = self.agent, self.task
        config = getattr(agent, "planning_config", None)
        own = None if config is None else config.llm
        book = agent.wording()
        engagement = bind_agent(agent)
        return Planner(
            model=model_of(agent.llm if own is None else own, agent, task, None),
            book=book,
            briefing=Briefing(
                role=agent.role,
                goal=agent.goal,
                backstory=agent.backstory,
                description=request,
                expected_output=book.slice("reply_expected") if task is None else task.expected_output,
                output_file=None,
                context="",
            ),
            tools="",
            attempts=None,
            usage=UsageLedger(),
            report=AgentReport(engagement, task),
        )


@dataclass(frozen=True)
class StepExecutionContext:
    """The information available to an executor of a single step."""

    task_description: str
    """The description of the whole task."""

    task_goal: str
    """The expected final output."""

    dependency_results: dict[int, str] = field(default_factory=dict[int, str])
    """The results of the steps it depends on, by step number."""

    def get_dependency_result(self, step_number: int) -> str | None:
        """Return the result of a step it depends on, or None."""
        return self.dependency_results.get(step_number)


@dataclass
class StepResult:
    """The result of a step."""

    success: bool
    """Whether the step succeeded."""

    result: str
    """The output; empty if the step failed."""

    error: str | None = None
    """The error message if the step failed."""

    tool_calls_made: list[str] = field(default_factory=list[str])
    """The tools that were used, in order."""

    execution_time: float = 0.0
    """The duration in seconds."""


class StepExecutor:
    """Run a single plan step with an agent; `Agent(planning=True)` does this in each run.

    Args:
        llm: its model.
        tools: the available tools.
        agent: the agent that runs the step.
        original_tools: the tools as the user passed them; these are used.
        tools_handler: not used.
        task: not used; the context describes it.
        crew: not used.
        function_calling_llm: a model for reading arguments of tools.
        request_within_rpm_limit: not used; the agent's `max_rpm` applies.
        callbacks: not used.
    """

    def __init__(
        self,
        llm: Any,
        tools: list[Any],
        agent: BaseAgent,
        original_tools: list[Any] | None = None,
        tools_handler: Any = None,
        task: Any = None,
        crew: Any = None,
        function_calling_llm: Any = None,
        request_within_rpm_limit: Callable[[], bool] | None = None,
        callbacks: list[Any] | None = None,
    ) -> None:
        self.llm, self.tools, self.agent = llm, tools, agent
        self.original_tools = original_tools or []
        self.task, self.crew, self.function_calling_llm = task, crew, function_calling_llm

    def execute(
        self,
        todo: TodoItem,
        context: StepExecutionContext,
        max_step_iterations: int = 15,
        step_timeout: int | None = None,
    ) -> StepResult:
        """Run a step; a failure is returned as a result.

        Args:
            todo: the step.
            context: the whole task and the results of earlier steps.
            max_step_iterations: the number of requests after which the step must be answered.
            step_timeout: the time limit in seconds.
        """
        used: list[str] = []

        def note(step: AgentAction | AgentFinish) -> None:
            if isinstance(step, AgentAction):
                used.append(step.tool)

        worker = Agent(
            role=self.agent.role,
            goal=self.agent.goal,
            backstory=self.agent.backstory,
            llm=self.llm,
            tools=self.original_tools or self.tools,
            max_iter=max_step_iterations,
            max_rpm=self.agent.max_rpm,
            max_execution_time=step_timeout,
            function_calling_llm=self.function_calling_llm,
            step_callback=note,
        )
        begun = time.monotonic()
        try:
            answer = worker.kickoff(self._step_prompt(todo, context)).raw
        except (RunError, ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            took = time.monotonic() - begun
            return StepResult(False, "", f"{type(error).__name__}: {error}", used, took)
        return StepResult(True, answer, None, used, time.monotonic() - begun)

    def _step_prompt(self, todo: TodoItem, context: StepExecutionContext) -> str:
        book = self.agent.wording()
        whole, goal = context.task_description, context.task_goal
        parts = [book.filled("planning", "step", description=whole, expected_output=goal)]
        if context.dependency_results:
            results = "\n\n".join(f"{number}.\n{text}" for number, text in context.dependency_results.items())
            parts.append(book.filled("planning", "step_results", results=results))
        parts.append(book.filled("planning", "step_now", step=todo.description))
        if todo.tool_to_use:
            parts.append(book.filled("planning", "step_tool", tool=todo.tool_to_use))
        return "\n\n".join(parts)


_STEP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "step_number": {"type": "integer", "description": "the step's number, from 1"},
        "description": {"type": "string", "description": "what is done"},
        "tool_to_use": {"type": ["string", "null"], "description": "the tool that does it, if one is needed"},
        "depends_on": {"type": "array", "items": {"type": "integer"}, "description": "the steps before it"},
    },
    "required": ["step_number", "description", "tool_to_use", "depends_on"],
    "additionalProperties": False,
}

FUNCTION_SCHEMA: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": "create_reasoning_plan",
        "description": "Say how the task is going to be done.",
        "parameters": {
            "type": "object",
            "properties": {
                "plan": {"type": "string", "description": "the plan, in a few words"},
                "steps": {"type": "array", "items": _STEP, "description": "its steps"},
                "ready": {"type": "boolean", "description": "whether the work can begin by it"},
            },
            "required": ["plan", "steps", "ready"],
            "additionalProperties": False,
        },
    },
}
"""The plan as a tool for models, in OpenAI format."""
