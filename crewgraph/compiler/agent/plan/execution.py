"""Execution of an agent's plan: steps run in order or in parallel, are observed, and are replanned where needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.plan.planner import AgentPlan, Planner, make_plan, task_text
from crewgraph.compiler.agent.plan.report import AgentPlanReport
from crewgraph.compiler.agent.prompt import prompt_messages, with_rejection
from crewgraph.compiler.agent.react import ReActContext, react_loop
from crewgraph.compiler.task.structure import request_structured
from crewgraph.core.effects import Body, EffectFailed, Notify, Scope, Together
from crewgraph.core.messages import Message
from crewgraph.core.outages import may_carry_on
from crewgraph.definitions.agent.agent import AgentDefinition
from crewgraph.definitions.agent.planning import PlanningConfig, PlanStep, StepObservation, TodoItem, TodoList
from crewgraph.errors import OutputInvalid
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.book import Book
from crewgraph.schema import PlainDict, PlainMapping, model_outline
from crewgraph.text import shorten

__all__ = ["PlanExecution", "PlanOutcome", "execute_plan", "observe_step", "plan_notes"]

_MAX_OBSERVATION_REQUESTS = 2
"""Maximum number of attempts to have a model assess the result of a step."""

_DEFAULT_REPLAN_REASON = "The step did not do what it was for"
_RECOVERABLE = (ContextLengthExceeded, OutputInvalid)
"""Failures that only fail the step; all others end the run, to be resumed later."""


@dataclass
class PlanOutcome:
    """The result of executing a plan."""

    plan: AgentPlan | None
    todos: TodoList
    replans: int = 0
    reason: str | None = None
    """Why the remaining steps were last replanned, or would have been."""


@dataclass(frozen=True, kw_only=True)
class PlanExecution:
    """The parameters of executing a plan."""

    agent: AgentDefinition
    config: PlanningConfig
    planner: Planner
    new_context: Callable[[], ReActContext]
    """Returns a new loop context for one step."""

    system_prompt: str
    """The agent's system prompt."""

    notes: Sequence[str]
    """Notes that follow the description of the task."""

    parallel: bool
    """Whether independent steps run in parallel."""

    counts: dict[str, int]
    """Numbers of tool calls, to which those of the steps are added."""

    report: AgentPlanReport
    runs_steps: bool = True
    """Whether the steps are run; otherwise there is only the plan."""

    @property
    def book(self) -> Book:
        """The prompts."""
        return self.planner.book

    @property
    def task(self) -> str:
        """The description of the task, with its notes and context."""
        text = "\n\n".join((self.planner.briefing.description, *self.notes))
        return task_text(self.planner, with_rejection(text, self.planner.refused, self.book))


def execute_plan(execution: PlanExecution) -> Body[PlanOutcome]:
    """Make a plan and run its steps; none are run if the plan is not ready.

    Raises:
        EffectFailed: a request to a model failed.
    """
    plan = yield from make_plan(execution.planner)
    outcome = PlanOutcome(plan, TodoList(items=_todos(plan) if execution.runs_steps else []))
    while ready := outcome.todos.get_ready_todos():
        reason = yield from _run_steps(execution, outcome, ready if execution.parallel else ready[:1])
        if reason is None:
            continue
        outcome.reason = reason
        if (
            not reason
            or outcome.replans == execution.config.max_replans
            or not (yield from _replan(execution, outcome, reason))
        ):
            break
    outcome.reason = outcome.reason or None
    return outcome


def _todos(plan: AgentPlan | None) -> list[TodoItem]:
    """Return the steps of a plan if it is ready, numbered from 1."""
    return [] if plan is None or not plan.ready else _numbered(plan.steps, 0, ())


def _numbered(steps: Sequence[PlanStep], offset: int, done_numbers: Sequence[int]) -> list[TodoItem]:
    """Number steps in order. They only depend on earlier ones, so one of them can always run.

    Args:
        steps: the steps.
        offset: the number before the first one.
        done_numbers: the numbers of steps that are done.
    """
    numbers: dict[int, int] = {}
    items: list[TodoItem] = []
    for number, step in enumerate(steps, offset + 1):
        dependencies = [
            numbers.get(dependency, dependency if dependency in done_numbers else None)
            for dependency in step.depends_on
        ]
        items.append(
            TodoItem(
                id=str(number),
                step_number=number,
                description=step.description,
                tool_to_use=step.tool_to_use,
                depends_on=sorted({dependency for dependency in dependencies if dependency is not None}),
            )
        )
        numbers.setdefault(step.step_number, number)
    return items


def _run_steps(execution: PlanExecution, plan_outcome: PlanOutcome, steps: Sequence[TodoItem]) -> Body[str | None]:
    """Run steps that are ready.

    Returns:
        why the remaining steps must be replanned; empty if the task is done; None to continue.
    """
    contexts = [execution.new_context() for _ in steps]
    scopes: list[Scope] = []
    for step, context in zip(steps, contexts, strict=True):
        plan_outcome.todos.mark_running(step.step_number)
        yield Notify(partial(execution.report.step_started, step.model_copy()))
        scopes.append(_step_scope(execution, plan_outcome.todos, step, context))
    try:
        outcomes: list[dict[str, object]] = (yield Together(scopes)) if len(scopes) > 1 else [(yield scopes[0])]
    finally:
        for context in contexts:  # counted separately, as they may run in threads
            execution.planner.usage.add(context.usage.to_plain())
            for name, number in context.counts.items():
                execution.counts[name] = execution.counts.get(name, 0) + number
    verdicts: list[str] = []
    for step, outcome in zip(steps, outcomes, strict=True):
        verdict = yield from _assess_step(execution, plan_outcome.todos, step, outcome)
        verdicts += [] if verdict is None else [verdict]
    return None if not verdicts else "" if "" in verdicts else verdicts[0]


def _step_scope(execution: PlanExecution, todos: TodoList, step: TodoItem, context: ReActContext) -> Scope:
    book, briefing = execution.book, execution.planner.briefing
    dependencies = [item for item in todos.items if item.step_number in step.depends_on]
    parts = [book.filled("planning", "step", description=execution.task, expected_output=briefing.expected_output)]
    parts += [book.filled("planning", "step_results", results=_step_results(dependencies))] if dependencies else []
    parts.append(book.filled("planning", "step_now", step=step.description))
    parts += [book.filled("planning", "step_tool", tool=step.tool_to_use)] if step.tool_to_use else []
    texts = {"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory}

    def opening(_: str, progress: str) -> list[Message]:
        summary = [book.slice("summary", merged_summary=progress)] if progress else []
        return prompt_messages(execution.agent, execution.system_prompt, "\n\n".join((*parts, *summary)), texts)

    name = f"Step {step.step_number}: {shorten(step.description, 60)}"
    body = partial(_run_step, execution.config, context, Dialogue(opening, ""), name)
    return Scope(name=name, body=body, stage="model", shown={"what": f"step {step.step_number} of a plan"})


def _run_step(config: PlanningConfig, context: ReActContext, dialogue: Dialogue, name: str) -> Body[dict[str, object]]:
    """Run one step; return whether it succeeded, and its text."""
    seconds = config.step_timeout if config.step_timeout and config.step_timeout > 0 else None
    try:
        if seconds is None:
            text = yield from react_loop(context, dialogue)
        else:
            text = yield Scope(name=name, body=partial(react_loop, context, dialogue), seconds=seconds)
    except _RECOVERABLE as failure:
        return {"ok": False, "text": str(failure)}
    except EffectFailed as failure:
        recoverable = [
            *(failure_type.__name__ for failure_type in _RECOVERABLE),
            *(["TimeLimitReached"] if seconds else []),
        ]
        if failure.type_name not in recoverable:
            raise
        return {"ok": False, "text": str(failure)}
    return {"ok": True, "text": text}


def _assess_step(execution: PlanExecution, todos: TodoList, step: TodoItem, outcome: PlainDict) -> Body[str | None]:
    """Record the result of a step.

    Returns:
        why the remaining steps must be replanned; empty if the task is done; None to continue.
    """
    config, report = execution.config, execution.report
    text: str = outcome["text"]
    observation = StepObservation(step_completed_successfully=outcome["ok"])
    if config.observes:
        observation = yield from observe_step(execution.planner, execution.task, step, outcome, todos, report)
    high_effort, replan = config.reasoning_effort == "high", observation.needs_full_replan
    failed = not (outcome["ok"] and observation.step_completed_successfully) or (high_effort and replan)
    (todos.mark_failed if failed else todos.mark_completed)(step.step_number, text)
    error = (observation.replan_reason or (None if outcome["ok"] else text)) if failed else None
    yield Notify(partial(report.step_ended, step.model_copy(), not failed, text, error))
    if failed:
        return (
            (observation.replan_reason or _DEFAULT_REPLAN_REASON)
            if high_effort or (replan and config.reasoning_effort == "medium")
            else None
        )
    if high_effort and observation.goal_already_achieved:
        if todos.pending_count:
            yield Notify(partial(report.achieved, step.model_copy(), todos.completed_count, todos.pending_count))
        return ""
    if high_effort and observation.suggested_refinements:
        yield from _refine_steps(todos, step, observation, report)
    return None


def observe_step(
    planner: Planner, task: str, step: TodoItem, outcome: PlainMapping, todos: TodoList, report: AgentPlanReport
) -> Body[StepObservation]:
    """Let a model assess the result of a step; fall back to the step's own status if its reply cannot be parsed.

    Args:
        planner: the planner, whose model is used.
        task: the description of the whole task.
        step: the step.
        outcome: whether the step succeeded ("ok"), and its result ("text").
        todos: all steps.
        report: emits the events.
    """
    yield Notify(partial(report.observing, step.model_copy()))
    default = StepObservation(step_completed_successfully=outcome["ok"])
    messages = _observation_messages(planner, task, step, outcome, todos)
    try:
        reply = yield from request_structured(
            messages, StepObservation, planner.model, planner.book, planner.usage, attempts=_MAX_OBSERVATION_REQUESTS
        )
    except EffectFailed as failure:
        if not may_carry_on(failure):
            raise
        yield Notify(partial(report.observation_failed, step.model_copy(), str(failure)))
        return default
    if reply.value is None:
        yield Notify(partial(report.observation_failed, step.model_copy(), reply.problem))
        return default
    yield Notify(partial(report.observed, step.model_copy(), reply.value))
    return reply.value


def _observation_messages(
    planner: Planner, task: str, step: TodoItem, outcome: PlainMapping, todos: TodoList
) -> list[Message]:
    book = planner.book
    finished = [item for item in todos.items if item.status in ("completed", "failed")]
    result: str = outcome["text"] if outcome["ok"] else f"It failed: {outcome['text']}"
    prompt = book.filled(
        "planning",
        "observation_user_prompt",
        description=task,
        expected_output=planner.briefing.expected_output,
        done=_step_list(finished),
        step=f"{step.step_number}. {step.description}",
        result=result,
        rest=_step_list(todos.get_pending_todos()),
    )
    system = book.filled("planning", "observation_system_prompt", schema=model_outline(StepObservation))
    return [{"role": "system", "content": system}, {"role": "user", "content": prompt}]


def _step_list(items: Sequence[TodoItem]) -> str:
    lines = [f"{item.step_number}. {item.description}" + (f"\n{item.result}" if item.result else "") for item in items]
    return "\n".join(lines) or "-"


def _refine_steps(todos: TodoList, step: TodoItem, observation: StepObservation, report: AgentPlanReport) -> Body[None]:
    """Reword pending steps as the observation suggests."""
    pending = {item.step_number: item for item in todos.get_pending_todos()}
    refinements = [
        refinement for refinement in observation.suggested_refinements or () if refinement.step_number in pending
    ]
    for refinement in refinements:
        pending[refinement.step_number].description = refinement.new_description
    if refinements:
        yield Notify(partial(report.refined, step.model_copy(), refinements))


def _replan(execution: PlanExecution, outcome: PlanOutcome, reason: str) -> Body[bool]:
    """Replace the pending steps with those of a new plan; return whether there are any."""
    outcome.replans += 1
    todos = outcome.todos
    yield Notify(partial(execution.report.replanned, reason, outcome.replans, todos.completed_count))
    finished = [item for item in todos.items if item.status != "pending"]
    earlier = execution.book.filled("planning", "replan", steps=_step_results(finished), reason=reason)
    plan = yield from make_plan(replace(execution.planner, earlier=earlier))
    if plan is None or not plan.ready or not plan.steps:
        return False
    outcome.plan = plan
    numbers = [item.step_number for item in finished]
    todos.replace_pending_todos(_numbered(plan.steps, max(numbers, default=0), numbers))
    return True


def _step_results(items: Sequence[TodoItem]) -> str:
    """Return steps and their results as a text."""
    lines = [
        f"{item.step_number}. {item.description}{' (failed)' if item.status == 'failed' else ''}\n{item.result or '-'}"
        for item in items
    ]
    return "\n\n".join(lines) or "-"


def plan_notes(outcome: PlanOutcome, book: Book) -> tuple[str, ...]:
    """Return a note about the plan and its results, for the agent's final answer."""
    if outcome.plan is None:
        return ()
    finished = [item for item in outcome.todos.items if item.status != "pending"]
    if finished:
        return (book.filled("planning", "results", plan=outcome.plan.text, results=_step_results(finished)),)
    steps = [f"{number}. {step.description}" for number, step in enumerate(outcome.plan.steps, 1)]
    text = "\n".join([outcome.plan.text, *steps]).strip()
    return (book.slice("plan", plan=text),) if text else ()
