"""Evaluates agents while they run."""

import asyncio
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
    aggregate_results,
)
from crewgraph.contrib.evaluation.trace import LITE_TASK, create_evaluation_callbacks
from crewgraph.core.cancellation import is_control_flow
from crewgraph.core.loops.bridge import call
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
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainDict
from crewgraph.tracebacks import raised_by_signal

__all__ = ["AgentEvaluator", "EventSubscriptions", "create_default_evaluator"]


_log = redacted_logger("crewgraph")


class AgentEvaluator:
    """Evaluates what agents do, in crews and in standalone kickoffs.

        evaluator = create_default_evaluator([writer], llm="openai/gpt-4o")
        crew.kickoff()
        evaluator.get_evaluation_results()["Writer"][0].metrics

    It listens from its construction until it is closed or garbage-collected. Evaluation runs in a separate thread, one task at a
    time; a kickoff returns once its tasks are evaluated. The cost of evaluation does not count towards the usage and the budgets
    of the evaluated runs.

    Args:
        agents: The agents to evaluate.
        evaluators: One evaluator per metric; None uses all six metrics with the agent's own model.
    """

    def __init__(self, agents: Sequence[Any], evaluators: Sequence[BaseEvaluator] | None = None) -> None:
        self.agents = agents
        self.evaluators: Sequence[BaseEvaluator] = _all_metrics(None) if evaluators is None else evaluators
        self.callback = create_evaluation_callbacks()
        self.display_formatter = EvaluationDisplayFormatter()
        self._execution_state = ExecutionState()
        self._state_lock = Lock()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="crewgraph-evaluation")
        self._futures: list[Future[None]] = []
        self._subscriptions = EventSubscriptions(self, crewai_event_bus)
        self._subscriptions.add(TaskCompletedEvent, self._task_completed)
        self._subscriptions.add(LiteAgentExecutionCompletedEvent, self._lite_completed)
        for event in (TaskCompletedEvent, LiteAgentExecutionCompletedEvent):
            self._subscriptions.add_awaited(event, self.afinish)

    def __enter__(self) -> "AgentEvaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and finish pending evaluations. The results remain available."""
        self._subscriptions.close()
        self.finish()
        self._executor.shutdown()

    def finish(self) -> None:
        """Wait for pending evaluations."""
        for future in self._pending():
            future.result()

    async def afinish(self) -> None:
        """Async version of `finish`."""
        for future in self._pending():
            await asyncio.wrap_future(future)

    def set_iteration(self, iteration: int) -> None:
        """Set the iteration, counted from 1, under which results are stored."""
        self.finish()
        self._execution_state.iteration = iteration

    def reset_iterations_results(self) -> None:
        """Discard the results of all iterations."""
        self.finish()
        self._execution_state.iterations_results = {}

    def get_evaluation_results(self) -> dict[str, list[AgentEvaluationResult]]:
        """Return the results of this iteration by agent role, one per task."""
        self.finish()
        by_role = self._execution_state.iterations_results.get(self._execution_state.iteration, {})
        return {role: [*results] for role, results in by_role.items()}

    def get_agent_evaluation(
        self,
        strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE,
        include_evaluation_feedback: bool = True,
    ) -> dict[str, AgentAggregatedEvaluationResult]:
        """Aggregate the results of this iteration by agent role, and print the scores of all iterations.

        Args:
            strategy: How the scores of several tasks are combined.
            include_evaluation_feedback: Whether to print the feedback as well.
        """
        aggregates = self.aggregate(strategy)
        self.display_results_with_iterations()
        if include_evaluation_feedback:
            self.display_evaluation_with_feedback()
        return aggregates

    def aggregate(
        self, strategy: AggregationStrategy = AggregationStrategy.SIMPLE_AVERAGE
    ) -> dict[str, AgentAggregatedEvaluationResult]:
        """Aggregate the results of this iteration by agent role, without printing."""
        by_role = self.get_evaluation_results().items()
        return {
            role: aggregate_results(results[0].agent_id, role, results, strategy)
            for role, results in by_role
            if results
        }

    def display_results_with_iterations(self) -> None:
        """Print the scores of all iterations as a table."""
        self.finish()
        self.display_formatter.display_summary_results(self._execution_state.iterations_results)

    def display_evaluation_with_feedback(self) -> None:
        """Print the scores of all iterations with their feedback."""
        self.finish()
        self.display_formatter.display_evaluation_with_feedback(self._execution_state.iterations_results)

    def evaluate(
        self,
        agent: Any,
        execution_trace: PlainDict,
        final_output: object,
        state: ExecutionState,
        task: Any = None,
    ) -> AgentEvaluationResult:
        """Evaluate one piece of work with every evaluator; those that fail emit an event and are skipped.

        Args:
            agent: The agent.
            execution_trace: What it did; see `EvaluationTraceCallback`.
            final_output: A `TaskOutput`, or text.
            state: The state of the evaluation.
            task: The agent's task, if there is one.
        """
        task_id = str(task.id) if task is not None else str(execution_trace.get("task_id", "unknown_task"))
        steps = len(execution_trace.get("llm_calls") or ()) + len(execution_trace.get("tool_uses") or ())
        result = AgentEvaluationResult(agent_id=str(agent.id), task_id=task_id, complexity=max(steps, 1))
        state.current_agent_id, state.current_task_id = result.agent_id, task_id
        subject: PlainDict = {
            "agent_role": str(agent.role),
            "agent_id": result.agent_id,
            "task_id": None if task is None else task_id,
        }
        for evaluator in self.evaluators:
            category = evaluator.metric_category
            self.emit_evaluation_started_event(**subject)
            try:
                score = call(
                    evaluator.evaluate,
                    agent=agent,
                    task=task,
                    execution_trace=execution_trace,
                    final_output=final_output,
                )
            except Exception as error:  # reported, and the other metrics are evaluated
                if is_control_flow(error) or raised_by_signal(error):
                    raise
                _log.warning(
                    "%s of agent `%s` could not be evaluated: %s", category.title(), subject["agent_role"], error
                )
                self.emit_evaluation_failed_event(**subject, error=str(error))
                continue
            result.metrics[category] = score
            self.emit_evaluation_completed_event(**subject, metric_category=category, score=score)
        return result

    def emit_evaluation_started_event(self, agent_role: str, agent_id: str, task_id: str | None = None) -> None:
        """Emit the start of an evaluation."""
        self._emit(AgentEvaluationStartedEvent, agent_role, agent_id, task_id)

    def emit_evaluation_completed_event(
        self,
        agent_role: str,
        agent_id: str,
        task_id: str | None = None,
        metric_category: MetricCategory | None = None,
        score: EvaluationScore | None = None,
    ) -> None:
        """Emit the completion of an evaluation."""
        fields = {"metric_category": metric_category, "score": score}
        self._emit(AgentEvaluationCompletedEvent, agent_role, agent_id, task_id, **fields)

    def emit_evaluation_failed_event(
        self, agent_role: str, agent_id: str, error: str, task_id: str | None = None
    ) -> None:
        """Emit the failure of an evaluation."""
        self._emit(AgentEvaluationFailedEvent, agent_role, agent_id, task_id, error=error)

    def _emit(
        self, event: Callable[..., BaseEvent], agent_role: str, agent_id: str, task_id: str | None, **more: object
    ) -> None:
        fields: dict[str, object] = {"agent_role": agent_role, "agent_id": agent_id, "task_id": task_id, **more}
        crewai_event_bus.emit(self, event(**fields, iteration=self._execution_state.iteration))

    def _task_completed(self, source: object, event: TaskCompletedEvent) -> None:
        task, agent = event.task, self._agent_by_id(getattr(getattr(event.task, "agent", None), "id", event.agent_id))
        trace = None if agent is None else self.callback.trace_of(event)
        if trace is not None and not is_replaying():
            self._submit(agent, dict(trace), event.output, task)

    def _lite_completed(self, source: Any, event: LiteAgentExecutionCompletedEvent) -> None:
        agent = self._agent_by_id(event.agent_id)
        trace = None if agent is None else self.callback.get_trace(event.agent_id, LITE_TASK)
        if trace is not None and not is_replaying():
            self._submit(agent, dict(trace), event.output, None)

    def _agent_by_id(self, agent_id: object) -> object:
        return next((agent for agent in self.agents if str(agent.id) == str(agent_id)), None)

    def _submit(self, agent: Any, trace: dict[str, object], output: object, task: object) -> None:
        # In an empty context, so that the run's budgets, streams and traces do not include the evaluation.
        future = self._executor.submit(Context().run, self._evaluate_and_store, agent, trace, output, task)
        with self._state_lock:
            self._futures = [*(pending for pending in self._futures if not pending.done()), future]

    def _evaluate_and_store(self, agent: Any, trace: dict[str, object], output: object, task: object) -> None:
        state = self._execution_state
        result = self.evaluate(agent, trace, output, state, task)
        with self._state_lock:
            state.iterations_results.setdefault(state.iteration, {}).setdefault(str(agent.role), []).append(result)

    def _pending(self) -> list[Future[None]]:
        with self._state_lock:
            return [*self._futures]


def create_default_evaluator(agents: Sequence[object], llm: object = None) -> AgentEvaluator:
    """Create an evaluator of all six metrics.

    Args:
        agents: The agents to evaluate.
        llm: The model that evaluates; None uses the agent's own.

    Raises:
        ModelError: If `llm` is not a model.
    """
    return AgentEvaluator(agents, _all_metrics(llm))


def _all_metrics(llm: object) -> list[BaseEvaluator]:
    return [
        GoalAlignmentEvaluator(llm),
        SemanticQualityEvaluator(llm),
        ToolSelectionEvaluator(llm),
        ParameterExtractionEvaluator(llm),
        ToolInvocationEvaluator(llm),
        ReasoningEfficiencyEvaluator(llm),
    ]


class EventSubscriptions:
    """Subscriptions of an object's methods to events, which end when it is garbage-collected or this is closed.

    Args:
        owner: The object.
        bus: The event bus.
    """

    def __init__(self, owner: object, bus: EventBus) -> None:
        self._bus = bus
        self._handlers: list[tuple[type[BaseEvent], Callable[..., object]]] = []
        self._finalizer = finalize(owner, _unsubscribe, bus, self._handlers)
        self._finalizer.atexit = False

    def add(self, event: type[BaseEvent], method: Callable[[Any, Any], None]) -> None:
        """Call a method for each event of a class."""
        reference = WeakMethod(method)

        def handle(source: object, event: BaseEvent) -> None:
            if (bound := reference()) is not None:
                bound(source, event)

        self._register(event, handle)

    def add_awaited(self, event: type[BaseEvent], method: Callable[[], Any]) -> None:
        """Make waiting for the listeners of an event class also await this method."""
        reference = WeakMethod(method)

        async def wait(source: Any, event: BaseEvent) -> None:
            if (bound := reference()) is not None:
                await bound()

        self._register(event, wait)

    def close(self) -> None:
        """End all subscriptions."""
        self._finalizer()

    def _register(self, event: type[BaseEvent], handler: Callable[..., object]) -> None:
        self._handlers.append((event, handler))
        self._bus.register_handler(event, handler, alone=True)


def _unsubscribe(bus: EventBus, handlers: list[tuple[type[BaseEvent], Callable[..., object]]]) -> None:
    for event, handler in handlers:
        bus.off(event, handler)
    handlers.clear()
