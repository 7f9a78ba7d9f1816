"""Agents whose work is judged while they do it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context
from threading import Lock
from typing import Any
from weakref import WeakMethod, finalize

from crewgraph.contrib.evaluation.display import EvaluationDisplayFormatter
from crewgraph.contrib.evaluation.evaluator import BaseEvaluator
from crewgraph.contrib.evaluation.metrics import (
    GoalAlignmentEvaluator,
    ParameterExtractionEvaluator,
    ReasoningEfficiencyEvaluator,
    SemanticQualityEvaluator,
    ToolInvocationEvaluator,
    ToolSelectionEvaluator,
)
from crewgraph.contrib.evaluation.results import (
    AgentAggregatedEvaluationResult,
    AgentEvaluationResult,
    AggregationStrategy,
    EvaluationScore,
    ExecutionState,
    MetricCategory,
    aggregated,
)
from crewgraph.contrib.evaluation.trace import LITE_TASK, create_evaluation_callbacks
from crewgraph.events import (
    AgentEvaluationCompletedEvent,
    AgentEvaluationFailedEvent,
    AgentEvaluationStartedEvent,
    BaseEvent,
    LiteAgentExecutionCompletedEvent,
    TaskCompletedEvent,
    crewai_event_bus,
)
from crewgraph.events.bus import EventBus, is_replaying

__all__ = ["AgentEvaluator", "Listening", "create_default_evaluator"]


_log = logging.getLogger("crewgraph")


class AgentEvaluator:
    """Judges what agents do, whenever they do something: in a crew, or in a kickoff of their own.

        evaluator = create_default_evaluator([writer], llm="openai/gpt-4o")
        crew.kickoff()
        evaluator.get_evaluation_results()["Writer"][0].metrics

    It listens from when it is made until it is closed, or nobody holds it any longer. Judging is done on a thread of its own, one
    task after the other; a kickoff ends when its tasks are judged. What it costs is not counted in the usage and the budgets of
    the runs that are judged.

    Args:
        agents: whose work is judged.
        evaluators: what is judged, each side by one; all six sides by the agent's own model where None.
    """

    def __init__(self, agents: Sequence[Any], evaluators: Sequence[BaseEvaluator] | None = None) -> None:
        self.agents = agents
        self.evaluators: Sequence[BaseEvaluator] = _all_sides(None) if evaluators is None else evaluators
        self.callback = create_evaluation_callbacks()
        self.display_formatter = EvaluationDisplayFormatter()
        self._execution_state = ExecutionState()
        self._state_lock = Lock()
        self._judge = ThreadPoolExecutor(1, thread_name_prefix="crewgraph-evaluation")
        self._judging: list[Future[None]] = []
        self._listening = Listening(self, crewai_event_bus)
        self._listening.to(TaskCompletedEvent, self._task_completed)
        self._listening.to(LiteAgentExecutionCompletedEvent, self._lite_completed)
        for ended in (TaskCompletedEvent, LiteAgentExecutionCompletedEvent):
            self._listening.waiting(ended, self.afinish)

    def __enter__(self) -> "AgentEvaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Judge no more; what is under way is finished. The results stay."""
        self._listening.close()
        self.finish()
        self._judge.shutdown()

    def finish(self) -> None:
        """Wait until all that was done is judged."""
        for future in self._left():
            future.result()

    async def afinish(self) -> None:
        """Wait on this event loop until all that was done is judged."""
        for future in self._left():
            await asyncio.wrap_future(future)

    def set_iteration(self, iteration: int) -> None:
        """Say which round it is, from 1: results are kept by rounds."""
        self.finish()
        self._execution_state.iteration = iteration

    def reset_iterations_results(self) -> None:
        """Forget the results of all rounds."""
        self.finish()
        self._execution_state.iterations_results = {}

    def get_evaluation_results(self) -> dict[str, list[AgentEvaluationResult]]:
        """What this round found out: by the agents' roles, a result for each task."""
        self.finish()
        found = self._execution_state.iterations_results.get(self._execution_state.iteration, {})
        return {role: [*results] for role, results in found.items()}

    def get_agent_evaluation(
        self,
        strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE,
        include_evaluation_feedback: bool = True,
    ) -> dict[str, AgentAggregatedEvaluationResult]:
        """What this round found out, each agent's tasks together, by the agents' roles; prints the scores of all rounds.

        Args:
            strategy: how the marks of several tasks become one.
            include_evaluation_feedback: whether the reasons are printed, too.
        """
        together = self.aggregate(strategy)
        self.display_results_with_iterations()
        if include_evaluation_feedback:
            self.display_evaluation_with_feedback()
        return together

    def aggregate(
        self, strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE
    ) -> dict[str, AgentAggregatedEvaluationResult]:
        """The same, and nothing is printed."""
        found = self.get_evaluation_results().items()
        return {role: aggregated(results[0].agent_id, role, results, strategy) for role, results in found if results}

    def display_results_with_iterations(self) -> None:
        """Print the scores of all rounds as a table."""
        self.finish()
        self.display_formatter.display_summary_results(self._execution_state.iterations_results)

    def display_evaluation_with_feedback(self) -> None:
        """Print the scores of all rounds with their reasons."""
        self.finish()
        self.display_formatter.display_evaluation_with_feedback(self._execution_state.iterations_results)

    def evaluate(
        self,
        agent: Any,
        execution_trace: dict[str, Any],
        final_output: Any,
        state: ExecutionState,
        task: Any = None,
    ) -> AgentEvaluationResult:
        """Judge one piece of work, each side by its evaluator; one that fails is told, and the others go on.

        Args:
            agent: who worked.
            execution_trace: what it did; see `EvaluationTraceCallback`.
            final_output: a `TaskOutput`, or text.
            state: where the evaluation stands.
            task: what it worked on, if it is one.
        """
        task_id = str(task.id) if task is not None else str(execution_trace.get("task_id", "unknown_task"))
        steps = len(execution_trace.get("llm_calls") or ()) + len(execution_trace.get("tool_uses") or ())
        result = AgentEvaluationResult(agent_id=str(agent.id), task_id=task_id, complexity=max(steps, 1))
        state.current_agent_id, state.current_task_id = result.agent_id, task_id
        who: dict[str, Any] = {
            "agent_role": str(agent.role),
            "agent_id": result.agent_id,
            "task_id": None if task is None else task_id,
        }
        for evaluator in self.evaluators:
            category = evaluator.metric_category
            self.emit_evaluation_started_event(**who)
            try:
                score = evaluator.evaluate(
                    agent=agent, task=task, execution_trace=execution_trace, final_output=final_output
                )
            except Exception as error:  # noqa: BLE001 - told, and the other sides are judged
                _log.warning("%s of agent `%s` could not be judged: %s", category.title(), who["agent_role"], error)
                self.emit_evaluation_failed_event(**who, error=str(error))
                continue
            result.metrics[category] = score
            self.emit_evaluation_completed_event(**who, metric_category=category, score=score)
        return result

    def emit_evaluation_started_event(self, agent_role: str, agent_id: str, task_id: str | None = None) -> None:
        """Tell that a side of an agent's work begins to be judged."""
        self._emit(AgentEvaluationStartedEvent, agent_role, agent_id, task_id)

    def emit_evaluation_completed_event(
        self,
        agent_role: str,
        agent_id: str,
        task_id: str | None = None,
        metric_category: MetricCategory | None = None,
        score: EvaluationScore | None = None,
    ) -> None:
        """Tell that it is judged."""
        told = {"metric_category": metric_category, "score": score}
        self._emit(AgentEvaluationCompletedEvent, agent_role, agent_id, task_id, **told)

    def emit_evaluation_failed_event(
        self, agent_role: str, agent_id: str, error: str, task_id: str | None = None
    ) -> None:
        """Tell that it could not be judged."""
        self._emit(AgentEvaluationFailedEvent, agent_role, agent_id, task_id, error=error)

    def _emit(
        self, event: Callable[..., BaseEvent], agent_role: str, agent_id: str, task_id: str | None, **told: Any
    ) -> None:
        about: dict[str, Any] = {"agent_role": agent_role, "agent_id": agent_id, "task_id": task_id, **told}
        crewai_event_bus.emit(self, event(**about, iteration=self._execution_state.iteration))

    def _task_completed(self, source: Any, event: TaskCompletedEvent) -> None:
        task, agent = event.task, self._of(getattr(getattr(event.task, "agent", None), "id", event.agent_id))
        trace = None if agent is None else self.callback.trace_of(event)
        if trace is not None and not is_replaying():
            self._submit(agent, dict(trace), event.output, task)

    def _lite_completed(self, source: Any, event: LiteAgentExecutionCompletedEvent) -> None:
        agent = self._of(event.agent_id)
        trace = None if agent is None else self.callback.get_trace(event.agent_id, LITE_TASK)
        if trace is not None and not is_replaying():
            self._submit(agent, dict(trace), event.output, None)

    def _of(self, agent_id: Any) -> Any:
        return next((agent for agent in self.agents if str(agent.id) == str(agent_id)), None)

    def _submit(self, agent: Any, trace: dict[str, Any], output: Any, task: Any) -> None:
        # In a context of its own: budgets, streams and traces of the run have nothing to do with it.
        future = self._judge.submit(Context().run, self._judged, agent, trace, output, task)
        with self._state_lock:
            self._judging = [*(one for one in self._judging if not one.done()), future]

    def _judged(self, agent: Any, trace: dict[str, Any], output: Any, task: Any) -> None:
        state = self._execution_state
        result = self.evaluate(agent, trace, output, state, task)
        with self._state_lock:
            state.iterations_results.setdefault(state.iteration, {}).setdefault(str(agent.role), []).append(result)

    def _left(self) -> list[Future[None]]:
        with self._state_lock:
            return [*self._judging]


def create_default_evaluator(agents: Sequence[Any], llm: Any = None) -> AgentEvaluator:
    """Whoever judges all six sides of what agents do.

    Args:
        agents: whose work is judged.
        llm: the model that judges; the agent's own one where None.

    Raises:
        ModelError: that is no model.
    """
    return AgentEvaluator(agents, _all_sides(llm))


def _all_sides(llm: Any) -> list[BaseEvaluator]:
    return [
        GoalAlignmentEvaluator(llm),
        SemanticQualityEvaluator(llm),
        ToolSelectionEvaluator(llm),
        ParameterExtractionEvaluator(llm),
        ToolInvocationEvaluator(llm),
        ReasoningEfficiencyEvaluator(llm),
    ]


class Listening:
    """Methods of an object that are called for events until it is gone, or this is closed.

    Args:
        owner: whose methods they are.
        bus: where they listen.
    """

    def __init__(self, owner: object, bus: EventBus) -> None:
        self._bus = bus
        self._handlers: list[tuple[type[BaseEvent], Callable[..., Any]]] = []
        self._gone = finalize(owner, _forget, bus, self._handlers)
        self._gone.atexit = False

    def to(self, event: type[BaseEvent], method: Callable[[Any, Any], None]) -> None:
        """Have a method called for a class of events."""
        held = WeakMethod(method)

        def hear(source: Any, heard: BaseEvent) -> None:
            if (alive := held()) is not None:
                alive(source, heard)

        self._add(event, hear)

    def waiting(self, event: type[BaseEvent], method: Callable[[], Any]) -> None:
        """Have what a method gives awaited behind a class of events, by whoever waits for all listeners."""
        held = WeakMethod(method)

        async def wait(source: Any, heard: BaseEvent) -> None:
            if (alive := held()) is not None:
                await alive()

        self._add(event, wait)

    def close(self) -> None:
        """Hear no more."""
        self._gone()

    def _add(self, event: type[BaseEvent], handler: Callable[..., Any]) -> None:
        self._handlers.append((event, handler))
        self._bus.register_handler(event, handler, alone=True)


def _forget(bus: EventBus, handlers: list[tuple[type[BaseEvent], Callable[..., Any]]]) -> None:
    for event, handler in handlers:
        bus.off(event, handler)
    handlers.clear()
