"""Doing one step of a plan by hand."""

import time
from collections.abc import Callable
from typing import Any

from crewgraph.definitions.agent.agent import Agent, BaseAgent
from crewgraph.definitions.agent.last_run import AgentAction, AgentFinish
from crewgraph.definitions.agent.planning import TodoItem
from crewgraph.errors import RunError
from crewgraph_compat.stand_ins.step_execution import StepExecutionContext, StepResult

__all__ = ["StepExecutor"]


class StepExecutor:
    """Has an agent do one step of a plan; `Agent(planning=True)` does so in each run.

    Args:
        llm: its model.
        tools: what it may use.
        agent: who does it.
        original_tools: the same as the user gave them, which count.
        tools_handler: not used.
        task: not used: the context says what is to be done.
        crew: not used.
        function_calling_llm: a model for reading arguments of tools.
        request_within_rpm_limit: not used: the agent's `max_rpm` counts.
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
        """Do a step; a failure is a result that says so.

        Args:
            todo: the step.
            context: the whole task, and what came of the steps before.
            max_step_iterations: after so many requests it is answered with what is known.
            step_timeout: after so many seconds it is given up.
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
            answer = worker.kickoff(self._asked(todo, context)).raw
        except (RunError, ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            took = time.monotonic() - begun
            return StepResult(False, "", f"{type(error).__name__}: {error}", used, took)
        return StepResult(True, answer, None, used, time.monotonic() - begun)

    def _asked(self, todo: TodoItem, context: StepExecutionContext) -> str:
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
