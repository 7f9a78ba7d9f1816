"""Plans of agents for their tasks (`planning`, `reasoning`), as a text or in steps; a crew's plan is in `compiler.crew.planning`.

A plan is refined until it is ready. Its steps run in order or in parallel, are observed, and are replanned where needed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from pydantic import ValidationError

from crewgraph.compiler.agent.dialogue import Dialogue
from crewgraph.compiler.agent.events import AgentReport
from crewgraph.compiler.agent.prompt import prompt_messages, with_rejection
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.agent.react import ReActContext, react_loop
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.structure import request_structured
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, EffectFailed, ModelCall, Notify, Scope, Together
from crewgraph.core.messages import Message, Reply, ToolSpec
from crewgraph.core.outages import may_carry_on
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import AgentDefinition
from crewgraph.definitions.agent.planning import (
    PlanningConfig,
    PlanStep,
    StepObservation,
    StepRefinement,
    TodoItem,
    TodoList,
)
from crewgraph.errors import OutputInvalid
from crewgraph.events import late
from crewgraph.llm.errors import ContextLengthExceeded
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book, fill_placeholders
from crewgraph.schema import PlainDict, PlainMapping, model_outline
from crewgraph.text import extract_json, shorten

_DEFAULT_ATTEMPTS = 10
"""The maximum number of plans if none is set."""

_MAX_OBSERVATION_REQUESTS = 2
"""Maximum number of attempts to have a model assess the result of a step."""

_DEFAULT_REPLAN_REASON = "The step did not do what it was for"
_RECOVERABLE = (ContextLengthExceeded, OutputInvalid)
"""Failures that only fail the step; all others end the run, to be resumed later."""

_VERDICT = re.compile(r"\b(NOT[\s_-]++READY|READY)\b")
_MARKUP = " \t\r\n*_`#>"


def _object(**fields: PlainDict) -> PlainDict:
    return {"type": "object", "properties": fields, "required": [*fields]}


def _hand_in(description: str, **fields: PlainDict) -> ToolSpec:
    ready = {"type": "boolean", "description": "Whether the task can be done by this plan."}
    parameters = _object(**fields, ready=ready)
    return {"name": "create_reasoning_plan", "description": description, "parameters": parameters}


_STEP_SCHEMA = _object(
    step_number={"type": "integer", "description": "From 1."},
    description={"type": "string", "description": "What is to be done."},
    tool_to_use={"type": ["string", "null"], "description": "The tool that it needs, if any."},
    depends_on={
        "type": "array",
        "items": {"type": "integer"},
        "description": "The numbers of earlier steps whose results it needs.",
    },
)
_PLAN_TOOL = _hand_in("Hands in the plan for a task.", plan={"type": "string", "description": "The whole plan."})
_STEPS_TOOL = _hand_in(
    "Hands in the plan for a task, in steps.",
    plan={"type": "string", "description": "The plan in a sentence."},
    steps={"type": "array", "items": _STEP_SCHEMA, "description": "Its steps, in order."},
)


@dataclass(frozen=True)
class AgentPlan:
    """An agent's plan for a task."""

    text: str
    ready: bool
    """Whether the agent considers it good enough to start."""

    steps: tuple[PlanStep, ...] = ()
    """The steps in order, if steps were requested."""


@dataclass(frozen=True, kw_only=True)
class Planner:
    """The parameters of making a plan."""

    model: Model
    book: Book
    briefing: Briefing
    tools: str
    """The names of the tools."""

    attempts: int | None
    usage: UsageLedger
    report: AgentReport
    refused: tuple[str, str] | None = None
    """An earlier attempt at the task, and why it was refused."""

    config: PlanningConfig | None = None
    """How the task is divided into steps; None for a plan as a text."""

    earlier: str = ""
    """The results of an earlier plan, when the remaining steps are replanned."""

    def task_text(self, text: str) -> str:
        """Return a task's description with its context."""
        context = self.briefing.context
        return self.book.slice("task_with_context", task=text, context=context) if context else text


def make_plan(planner: Planner) -> Body[AgentPlan | None]:
    """Make a plan: the first one that is ready, else the last one; None if planning failed.

    Failures of the model are reported, and the work continues without a better plan; time limits are raised.
    """
    plan: AgentPlan | None = None
    attempts = _DEFAULT_ATTEMPTS if planner.attempts is None else max(planner.attempts, 1)
    for attempt in range(1, attempts + 1):
        yield Notify(partial(planner.report.planning, attempt))
        try:
            reply: Reply = yield _request(planner, plan)
        except EffectFailed as failure:
            if not may_carry_on(failure):
                raise
            planner.usage.failed(failure.spent)
            yield Notify(partial(planner.report.planning_failed, attempt, str(failure)))
            return plan
        planner.usage.answered(planner.model, reply)
        plan = _parse_plan(reply, planner.config)
        yield Notify(partial(planner.report.planned, attempt, plan.text, plan.ready, attempt == attempts))
        if plan.ready:
            break
    return plan


def _request(planner: Planner, previous: AgentPlan | None) -> ModelCall:
    """Return the request for a plan, or for an improvement of the previous one; the user's prompts replace ours."""
    book, briefing, config, natively = planner.book, planner.briefing, planner.config, planner.model.native_tools
    task = with_rejection(planner.task_text(briefing.description), planner.refused, book)
    texts = {
        "role": briefing.role,
        "goal": briefing.goal,
        "backstory": briefing.backstory,
        "description": f"{task}\n\n{planner.earlier}" if planner.earlier else task,
        "expected_output": briefing.expected_output,
        "tools": planner.tools or "none",
        "current_plan": "" if previous is None else previous.text,
    }
    if config is None:
        system = book.filled("reasoning", "initial_plan" if previous is None else "refine_plan", **texts)
        parts = [book.filled("reasoning", "create_plan_prompt", **texts)]
        parts += [] if previous is None else [book.filled("reasoning", "refine_plan_prompt", **texts)]
        parts += [book.filled("reasoning", "hand_in")] if natively else []
    else:
        texts["max_steps"] = str(config.max_steps)

        def fill(custom: str | None, name: str) -> str:
            return book.filled("planning", name, **texts) if custom is None else fill_placeholders(custom, **texts)

        system = fill(config.system_prompt, "system_prompt")
        parts = [fill(config.plan_prompt, "create_plan_prompt")]
        parts += [] if previous is None else [fill(config.refine_prompt, "refine_plan_prompt")]
        parts.append(book.filled("planning", "hand_in" if natively else "written"))
    transcript = Transcript([{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(parts)}])
    tools = (_PLAN_TOOL if config is None else _STEPS_TOOL,) if natively else ()
    return ModelCall(model=planner.model, transcript=transcript, tools=tools)


def _parse_plan(reply: Reply, config: PlanningConfig | None) -> AgentPlan:
    """Parse a plan from a tool call, from JSON, or from text with a verdict at its end."""
    max_steps = 0 if config is None else config.max_steps
    for call in reply["tool_calls"]:
        fields = call["args"] if isinstance(call["args"], dict) else extract_json(call["args"])
        if (plan := _plan_of_fields(fields, max_steps)) is not None:
            return plan
    text = reply_text(reply["content"]).strip()
    if (plan := _plan_of_fields(extract_json(text), max_steps)) is not None:
        return plan
    verdicts = list(_VERDICT.finditer(text))
    if not verdicts or verdicts[-1][1] != "READY":
        return AgentPlan(text, ready=False)  # with the reasons, for the next attempt
    return AgentPlan(text[: verdicts[-1].start()].rstrip(_MARKUP) or text, ready=True)


def _plan_of_fields(value: Any, max_steps: int) -> AgentPlan | None:
    """Return a plan from its fields, without steps that are invalid; None if they are not a plan's."""
    if not isinstance(value, Mapping):
        return None
    fields = cast(PlainMapping, value)
    if not isinstance(fields.get("plan"), str):
        return None
    steps, given = list[PlanStep](), fields.get("steps")
    for item in cast("list[Any]", given) if isinstance(given, list) else []:
        try:
            steps.append(PlanStep.model_validate(item))
        except ValidationError:
            continue
    return AgentPlan(fields["plan"].strip(), str(fields.get("ready")).lower() == "true", tuple(steps[:max_steps]))


@dataclass
class PlanOutcome:
    """The result of executing a plan."""

    plan: AgentPlan | None = None
    todos: TodoList = field(default_factory=TodoList)
    replans: int = 0
    reason: str | None = None
    """Why the remaining steps were last replanned, or would have been."""


@dataclass(kw_only=True)
class PlanExecution:
    """A plan that is made and executed."""

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

    runs_steps: bool
    """Whether the steps are run; otherwise there is only the plan."""

    outcome: PlanOutcome = field(default_factory=PlanOutcome)

    def run(self) -> Body[PlanOutcome]:
        """Make a plan and run its steps; none are run if the plan is not ready.

        Raises:
            EffectFailed: a request to a model failed.
        """
        outcome = self.outcome
        outcome.plan = plan = yield from make_plan(self.planner)
        if self.runs_steps and plan is not None and plan.ready:
            outcome.todos.items = _numbered(plan.steps, 0, ())
        while ready := outcome.todos.get_ready_todos():
            reason = yield from self._run_steps(ready if self.parallel else ready[:1])
            if reason is None:
                continue
            outcome.reason = reason or None
            if not reason or outcome.replans == self.config.max_replans or not (yield from self._replan(reason)):
                break
        return outcome

    @property
    def _task(self) -> str:
        """The description of the task, with its notes and context."""
        planner = self.planner
        text = "\n\n".join((planner.briefing.description, *self.notes))
        return planner.task_text(with_rejection(text, planner.refused, planner.book))

    def _told(self, event: Any, step: TodoItem | None, **fields: object) -> Notify:
        """Return the notification of an event of a step, or of all."""
        if step is not None:
            fields |= {"step_number": step.step_number, "step_description": step.description}
        report = self.planner.report
        return Notify(partial(report.of_plan, event, {**fields, "agent_role": self.planner.briefing.role}))

    def _run_steps(self, steps: Sequence[TodoItem]) -> Body[str | None]:
        """Run steps that are ready.

        Returns:
            why the remaining steps must be replanned; empty if the task is done; None to continue.
        """
        contexts = [self.new_context() for _ in steps]
        scopes: list[Scope] = []
        for step, context in zip(steps, contexts, strict=True):
            self.outcome.todos.mark_running(step.step_number)
            yield self._told(late.PlanStepStartedEvent, step, tool_to_use=step.tool_to_use)
            scopes.append(self._step_scope(step, context))
        try:
            outcomes: list[dict[str, object]] = (yield Together(scopes)) if len(scopes) > 1 else [(yield scopes[0])]
        finally:
            counts = self.planner.report.counts
            for context in contexts:  # counted separately, as they may run in threads
                self.planner.usage.add(context.usage.to_plain())
                for name, number in context.counts.items():
                    counts[name] = counts.get(name, 0) + number
        verdicts: list[str] = []
        for step, outcome in zip(steps, outcomes, strict=True):
            verdict = yield from self._assess_step(step, outcome)
            verdicts += [] if verdict is None else [verdict]
        return None if not verdicts else "" if "" in verdicts else verdicts[0]

    def _step_scope(self, step: TodoItem, context: ReActContext) -> Scope:
        book, briefing = self.planner.book, self.planner.briefing
        dependencies = [item for item in self.outcome.todos.items if item.step_number in step.depends_on]
        parts = [book.filled("planning", "step", description=self._task, expected_output=briefing.expected_output)]
        parts += [book.filled("planning", "step_results", results=_step_results(dependencies))] if dependencies else []
        parts.append(book.filled("planning", "step_now", step=step.description))
        parts += [book.filled("planning", "step_tool", tool=step.tool_to_use)] if step.tool_to_use else []
        texts = {"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory}
        agent, system = self.agent, self.system_prompt

        def opening(_: str, progress: str) -> list[Message]:
            summary = [book.slice("summary", merged_summary=progress)] if progress else []
            return prompt_messages(agent, system, "\n\n".join((*parts, *summary)), texts)

        name = f"Step {step.step_number}: {shorten(step.description, 60)}"
        body = partial(_run_step, self.config, context, Dialogue(opening, ""), name)
        return Scope(name=name, body=body, stage="model", shown={"what": f"step {step.step_number} of a plan"})

    def _assess_step(self, step: TodoItem, outcome: PlainDict) -> Body[str | None]:
        """Record the result of a step; returns as `_run_steps`."""
        config, todos = self.config, self.outcome.todos
        text: str = outcome["text"]
        observation = StepObservation(step_completed_successfully=outcome["ok"])
        if config.observes:
            observation = yield from self._observe_step(step, outcome, observation)
        high_effort, replan = config.reasoning_effort == "high", observation.needs_full_replan
        failed = not (outcome["ok"] and observation.step_completed_successfully) or (high_effort and replan)
        (todos.mark_failed if failed else todos.mark_completed)(step.step_number, text)
        error = (observation.replan_reason or (None if outcome["ok"] else text)) if failed else None
        yield self._told(
            late.PlanStepCompletedEvent,
            step,
            tool_to_use=step.tool_to_use,
            success=not failed,
            result=text,
            error=error,
        )
        if failed:
            replans = high_effort or (replan and config.reasoning_effort == "medium")
            return observation.replan_reason or _DEFAULT_REPLAN_REASON if replans else None
        if high_effort and observation.goal_already_achieved:
            if todos.pending_count:
                numbers = {"steps_completed": todos.completed_count, "steps_remaining": todos.pending_count}
                yield self._told(late.GoalAchievedEarlyEvent, None, step_number=step.step_number, **numbers)
            return ""
        if high_effort and observation.suggested_refinements:
            yield from self._refine_steps(step, observation.suggested_refinements)
        return None

    def _observe_step(self, step: TodoItem, outcome: PlainMapping, default: StepObservation) -> Body[StepObservation]:
        """Let a model assess the result of a step; fall back to the step's own status if its reply cannot be parsed."""
        planner, book, todos = self.planner, self.planner.book, self.outcome.todos
        yield self._told(late.StepObservationStartedEvent, step)
        prompt = book.filled(
            "planning",
            "observation_user_prompt",
            description=self._task,
            expected_output=planner.briefing.expected_output,
            done=_step_list([item for item in todos.items if item.status in ("completed", "failed")]),
            step=f"{step.step_number}. {step.description}",
            result=outcome["text"] if outcome["ok"] else f"It failed: {outcome['text']}",
            rest=_step_list(todos.get_pending_todos()),
        )
        system = book.filled("planning", "observation_system_prompt", schema=model_outline(StepObservation))
        messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        try:
            reply = yield from request_structured(
                messages, StepObservation, planner.model, book, planner.usage, attempts=_MAX_OBSERVATION_REQUESTS
            )
        except EffectFailed as failure:
            if not may_carry_on(failure):
                raise
            yield self._told(late.StepObservationFailedEvent, step, error=str(failure))
            return default
        if (seen := reply.value) is None:
            yield self._told(late.StepObservationFailedEvent, step, error=reply.problem)
            return default
        fields: PlainDict = seen.model_dump()
        fields["suggested_refinements"] = seen.suggested_refinements and _refinement_texts(seen.suggested_refinements)
        yield self._told(late.StepObservationCompletedEvent, step, **fields)
        return seen

    def _refine_steps(self, step: TodoItem, suggested: Sequence[StepRefinement]) -> Body[None]:
        """Reword pending steps as an observation suggests."""
        pending = {item.step_number: item for item in self.outcome.todos.get_pending_todos()}
        refinements = [refinement for refinement in suggested if refinement.step_number in pending]
        for refinement in refinements:
            pending[refinement.step_number].description = refinement.new_description
        if refinements:
            fields = {"refined_step_count": len(refinements), "refinements": _refinement_texts(refinements)}
            yield self._told(late.PlanRefinementEvent, None, step_number=step.step_number, **fields)

    def _replan(self, reason: str) -> Body[bool]:
        """Replace the pending steps with those of a new plan; return whether there are any."""
        outcome, todos = self.outcome, self.outcome.todos
        outcome.replans += 1
        fields = {"replan_count": outcome.replans, "completed_steps_preserved": todos.completed_count}
        yield self._told(late.PlanReplanTriggeredEvent, None, step_number=0, replan_reason=reason, **fields)
        finished = [item for item in todos.items if item.status != "pending"]
        earlier = self.planner.book.filled("planning", "replan", steps=_step_results(finished), reason=reason)
        plan = yield from make_plan(replace(self.planner, earlier=earlier))
        if plan is None or not plan.ready or not plan.steps:
            return False
        outcome.plan = plan
        numbers = [item.step_number for item in finished]
        todos.replace_pending_todos(_numbered(plan.steps, max(numbers, default=0), numbers))
        return True


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
        recoverable = [kind.__name__ for kind in _RECOVERABLE] + (["TimeLimitReached"] if seconds else [])
        if failure.type_name not in recoverable:
            raise
        return {"ok": False, "text": str(failure)}
    return {"ok": True, "text": text}


def _step_list(items: Sequence[TodoItem]) -> str:
    lines = [f"{item.step_number}. {item.description}" + (f"\n{item.result}" if item.result else "") for item in items]
    return "\n".join(lines) or "-"


def _step_results(items: Sequence[TodoItem]) -> str:
    """Return steps and their results as a text."""
    lines = [
        f"{item.step_number}. {item.description}{' (failed)' if item.status == 'failed' else ''}\n{item.result or '-'}"
        for item in items
    ]
    return "\n\n".join(lines) or "-"


def _refinement_texts(refinements: Sequence[StepRefinement]) -> list[str]:
    return [f"Step {refinement.step_number}: {refinement.new_description}" for refinement in refinements]


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
