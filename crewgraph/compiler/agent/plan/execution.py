"""An agent's plan carried out step by step: observed after each step, and made again where it does not hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.plan.planner import AgentPlan, Planner, make_plan, task_text
from crewgraph.compiler.agent.plan.report import AgentPlanReport
from crewgraph.compiler.agent.prompt import prompt_messages, retold
from crewgraph.compiler.agent.react import ReActContext, react_loop
from crewgraph.compiler.task.structured_answer import request_structured
from crewgraph.core.effects import Body, EffectFailed, Notify, Scope, Together
from crewgraph.core.messages import Message
from crewgraph.definitions.agent.agent import Agent
from crewgraph.definitions.agent.planning import PlanningConfig, PlanStep, StepObservation, TodoItem, TodoList
from crewgraph.errors import OutputInvalid
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.prompts.book import Book
from crewgraph.schema import described
from crewgraph.text import shorten

__all__ = ["PlanExecution", "PlanOutcome", "execute_plan", "observe_step", "plan_notes"]

_OBSERVATIONS = 2
"""How often a model is asked what it makes of an outcome."""

_FAILED = "The step did not do what it was for"
_OWN_FAILURES = (ContextLengthExceeded, OutputInvalid)
"""Failures of a step that others can make up for; all else ends the run, which a resume goes on with."""


@dataclass
class PlanOutcome:
    """What came of a plan that was carried out."""

    plan: AgentPlan | None
    todos: TodoList
    replans: int = 0
    reason: str | None = None
    """Why the rest was planned anew, or would have been, the last time."""


@dataclass(frozen=True, kw_only=True)
class PlanExecution:
    """What is needed to carry out a plan."""

    agent: Agent
    config: PlanningConfig
    planner: Planner
    worker: Callable[[], ReActContext]
    """Makes what does one step."""

    told: str
    """What the agent is told about itself."""

    notes: Sequence[str]
    """What it is told with the task."""

    side_by_side: bool
    """Whether steps that do not need each other are done at once."""

    counts: dict[str, int]
    """How many tool calls were made; is added to."""

    report: AgentPlanReport
    carries_out: bool = True
    """Whether steps are carried out; else the plan is all there is."""

    @property
    def book(self) -> Book:
        """The wording."""
        return self.planner.book

    @property
    def task(self) -> str:
        """What is to be done, with what others found out."""
        text = "\n\n".join((self.planner.briefing.description, *self.notes))
        return task_text(self.planner, retold(text, self.planner.refused, self.book))


def execute_plan(work: PlanExecution) -> Body[PlanOutcome]:
    """Plan, and carry the plan out; without steps where there is no plan that is ready.

    Raises:
        EffectFailed: a model could not be asked.
    """
    plan = yield from make_plan(work.planner)
    done = PlanOutcome(plan, TodoList(items=_todos(plan) if work.carries_out else []))
    while ready := done.todos.get_ready_todos():
        reason = yield from _batch(work, done, ready if work.side_by_side else ready[:1])
        if reason is None:
            continue
        done.reason = reason
        if not reason or done.replans == work.config.max_replans or not (yield from _replanned(work, done, reason)):
            break
    done.reason = done.reason or None
    return done


def _todos(plan: AgentPlan | None) -> list[TodoItem]:
    """The steps of a plan that is ready, from 1 on."""
    return [] if plan is None or not plan.ready else _numbered(plan.steps, 0, ())


def _numbered(steps: Sequence[PlanStep], begin: int, kept: Sequence[int]) -> list[TodoItem]:
    """Steps in their order. They depend on earlier ones alone, so that there is always one that can be begun.

    Args:
        steps: the steps.
        begin: the number before the first one.
        kept: numbers of steps that are done.
    """
    numbers: dict[int, int] = {}
    items: list[TodoItem] = []
    for number, step in enumerate(steps, begin + 1):
        needed = [numbers.get(one, one if one in kept else None) for one in step.depends_on]
        items.append(
            TodoItem(
                id=str(number),
                step_number=number,
                description=step.description,
                tool_to_use=step.tool_to_use,
                depends_on=sorted({one for one in needed if one is not None}),
            )
        )
        numbers.setdefault(step.step_number, number)
    return items


def _batch(work: PlanExecution, done: PlanOutcome, steps: Sequence[TodoItem]) -> Body[str | None]:
    """Do steps that can be done now. Why the rest is to be planned anew; empty where all is done; None to go on."""
    workers = [work.worker() for _ in steps]
    scopes: list[Scope] = []
    for step, worker in zip(steps, workers, strict=True):
        done.todos.mark_running(step.step_number)
        yield Notify(partial(work.report.begins, step.model_copy()))
        scopes.append(_scope(work, done.todos, step, worker))
    try:
        outcomes: list[dict[str, Any]] = (yield Together(scopes)) if len(scopes) > 1 else [(yield scopes[0])]
    finally:
        for worker in workers:  # each counts for itself, for they may work in threads of their own
            work.planner.usage.add(worker.usage.to_plain())
            for name, number in worker.counts.items():
                work.counts[name] = work.counts.get(name, 0) + number
    verdicts: list[str] = []
    for step, outcome in zip(steps, outcomes, strict=True):
        verdict = yield from _judged(work, done.todos, step, outcome)
        verdicts += [] if verdict is None else [verdict]
    return None if not verdicts else "" if "" in verdicts else verdicts[0]


def _scope(work: PlanExecution, todos: TodoList, step: TodoItem, worker: ReActContext) -> Scope:
    book, asked = work.book, work.planner.briefing
    needed = [one for one in todos.items if one.step_number in step.depends_on]
    parts = [book.filled("planning", "step", description=work.task, expected_output=asked.expected_output)]
    parts += [book.filled("planning", "step_results", results=_results(needed))] if needed else []
    parts.append(book.filled("planning", "step_now", step=step.description))
    parts += [book.filled("planning", "step_tool", tool=step.tool_to_use)] if step.tool_to_use else []
    texts = {"role": asked.role, "goal": asked.goal, "backstory": asked.backstory}

    def opening(_: str, done: str) -> list[Message]:
        summary = [book.slice("summary", merged_summary=done)] if done else []
        return prompt_messages(work.agent, work.told, "\n\n".join((*parts, *summary)), texts)

    name = f"Step {step.step_number}: {shorten(step.description, 60)}"
    body = partial(_done, work.config, worker, Dialogue(opening, ""), name)
    return Scope(name=name, body=body, stage="model", shown={"what": f"step {step.step_number} of a plan"})


def _done(config: PlanningConfig, worker: ReActContext, dialogue: Dialogue, name: str) -> Body[dict[str, Any]]:
    """What came of a step: whether it was done, and the text."""
    seconds = config.step_timeout if config.step_timeout and config.step_timeout > 0 else None
    try:
        if seconds is None:
            text = yield from react_loop(worker, dialogue)
        else:
            text = yield Scope(name=name, body=partial(react_loop, worker, dialogue), seconds=seconds)
    except _OWN_FAILURES as failure:
        return {"ok": False, "text": str(failure)}
    except EffectFailed as failure:
        own = [*(one.__name__ for one in _OWN_FAILURES), *(["TimeLimitReached"] if seconds else [])]
        if failure.type_name not in own:
            raise
        return {"ok": False, "text": str(failure)}
    return {"ok": True, "text": text}


def _judged(work: PlanExecution, todos: TodoList, step: TodoItem, outcome: dict[str, Any]) -> Body[str | None]:
    """Note what became of a step. Why the rest is to be planned anew; empty where all is done; None to go on."""
    config, report = work.config, work.report
    text: str = outcome["text"]
    seen = StepObservation(step_completed_successfully=outcome["ok"])
    if config.observes:
        seen = yield from observe_step(work.planner, work.task, step, outcome, todos, report)
    high, again = config.reasoning_effort == "high", seen.needs_full_replan
    failed = not (outcome["ok"] and seen.step_completed_successfully) or (high and again)
    (todos.mark_failed if failed else todos.mark_completed)(step.step_number, text)
    error = (seen.replan_reason or (None if outcome["ok"] else text)) if failed else None
    yield Notify(partial(report.ends, step.model_copy(), not failed, text, error))
    if failed:
        return (seen.replan_reason or _FAILED) if high or (again and config.reasoning_effort == "medium") else None
    if high and seen.goal_already_achieved:
        if todos.pending_count:
            yield Notify(partial(report.achieved, step.model_copy(), todos.completed_count, todos.pending_count))
        return ""
    if high and seen.suggested_refinements:
        yield from _refined(todos, step, seen, report)
    return None


def observe_step(
    planner: Planner, task: str, step: TodoItem, outcome: Mapping[str, Any], todos: TodoList, report: AgentPlanReport
) -> Body[StepObservation]:
    """What a model makes of the outcome of a step; the outcome's own word where it gives no answer that can be read.

    Args:
        planner: whose model is asked.
        task: what is to be done as a whole.
        step: the step.
        outcome: whether it was done ("ok"), and what came of it ("text").
        todos: all steps.
        report: emits the events.
    """
    yield Notify(partial(report.observing, step.model_copy()))
    own = StepObservation(step_completed_successfully=outcome["ok"])
    messages = _observation_messages(planner, task, step, outcome, todos)
    try:
        seen = yield from request_structured(
            messages, StepObservation, planner.model, planner.book, planner.usage, attempts=_OBSERVATIONS
        )
    except EffectFailed as failure:
        if failure.type_name == "TimeLimitReached":
            raise
        yield Notify(partial(report.unobserved, step.model_copy(), str(failure)))
        return own
    if seen.found is None:
        yield Notify(partial(report.unobserved, step.model_copy(), seen.problem))
        return own
    yield Notify(partial(report.observed, step.model_copy(), seen.found))
    return seen.found


def _observation_messages(
    planner: Planner, task: str, step: TodoItem, outcome: Mapping[str, Any], todos: TodoList
) -> list[Message]:
    book = planner.book
    done = [item for item in todos.items if item.status in ("completed", "failed")]
    result: str = outcome["text"] if outcome["ok"] else f"It failed: {outcome['text']}"
    asked = book.filled(
        "planning",
        "observation_user_prompt",
        description=task,
        expected_output=planner.briefing.expected_output,
        done=_listed(done),
        step=f"{step.step_number}. {step.description}",
        result=result,
        rest=_listed(todos.get_pending_todos()),
    )
    told = book.filled("planning", "observation_system_prompt", schema=described(StepObservation))
    return [{"role": "system", "content": told}, {"role": "user", "content": asked}]


def _listed(items: Sequence[TodoItem]) -> str:
    told = [f"{item.step_number}. {item.description}" + (f"\n{item.result}" if item.result else "") for item in items]
    return "\n".join(told) or "-"


def _refined(todos: TodoList, step: TodoItem, seen: StepObservation, report: AgentPlanReport) -> Body[None]:
    """Give steps to come other words."""
    pending = {item.step_number: item for item in todos.get_pending_todos()}
    fitting = [one for one in seen.suggested_refinements or () if one.step_number in pending]
    for one in fitting:
        pending[one.step_number].description = one.new_description
    if fitting:
        yield Notify(partial(report.refined, step.model_copy(), fitting))


def _replanned(work: PlanExecution, done: PlanOutcome, reason: str) -> Body[bool]:
    """Put other steps in the place of those to come; whether there are some."""
    done.replans += 1
    todos = done.todos
    yield Notify(partial(work.report.replanned, reason, done.replans, todos.completed_count))
    ended = [item for item in todos.items if item.status != "pending"]
    earlier = work.book.filled("planning", "replan", steps=_results(ended), reason=reason)
    plan = yield from make_plan(replace(work.planner, earlier=earlier))
    if plan is None or not plan.ready or not plan.steps:
        return False
    done.plan = plan
    numbers = [item.step_number for item in ended]
    todos.replace_pending_todos(_numbered(plan.steps, max(numbers, default=0), numbers))
    return True


def _results(items: Sequence[TodoItem]) -> str:
    """What came of steps, one below the other."""
    told = [
        f"{item.step_number}. {item.description}{' (failed)' if item.status == 'failed' else ''}\n{item.result or '-'}"
        for item in items
    ]
    return "\n\n".join(told) or "-"


def plan_notes(done: PlanOutcome, book: Book) -> tuple[str, ...]:
    """What the agent is told of its plan, and of what came of it, before it gives the result."""
    if done.plan is None:
        return ()
    ended = [item for item in done.todos.items if item.status != "pending"]
    if ended:
        return (book.filled("planning", "results", plan=done.plan.text, results=_results(ended)),)
    steps = [f"{number}. {step.description}" for number, step in enumerate(done.plan.steps, 1)]
    text = "\n".join([done.plan.text, *steps]).strip()
    return (book.slice("plan", plan=text),) if text else ()
