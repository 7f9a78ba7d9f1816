"""Making a plan, as a text or in steps, refined until it is ready."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

from pydantic import ValidationError

from crewgraph.compiler.agent.prompt import with_rejection
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, EffectFailed, ModelCall, Notify
from crewgraph.core.messages import Reply, ToolSpec
from crewgraph.core.outages import may_carry_on
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.planning import PlanningConfig, PlanStep
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book, fill_placeholders
from crewgraph.schema import PlainMapping
from crewgraph.text import extract_json

__all__ = ["AgentPlan", "Planner", "make_plan", "task_text"]

_DEFAULT_ATTEMPTS = 10
"""The maximum number of plans if none is set."""

_VERDICT = re.compile(r"\b(NOT[\s_-]++READY|READY)\b")
_MARKUP = "*_`#>"

_STEP_SCHEMA = {
    "type": "object",
    "properties": {
        "step_number": {"type": "integer", "description": "From 1."},
        "description": {"type": "string", "description": "What is to be done."},
        "tool_to_use": {"type": ["string", "null"], "description": "The tool that it needs, if any."},
        "depends_on": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "The numbers of earlier steps whose results it needs.",
        },
    },
    "required": ["step_number", "description", "tool_to_use", "depends_on"],
}

_PLAN_TOOL: ToolSpec = {
    "name": "create_reasoning_plan",
    "description": "Hands in the plan for a task.",
    "parameters": {
        "type": "object",
        "properties": {
            "plan": {"type": "string", "description": "The whole plan."},
            "ready": {"type": "boolean", "description": "Whether the task can be done by this plan."},
        },
        "required": ["plan", "ready"],
    },
}

_STEPS_TOOL: ToolSpec = {
    "name": "create_reasoning_plan",
    "description": "Hands in the plan for a task, in steps.",
    "parameters": {
        "type": "object",
        "properties": {
            "plan": {"type": "string", "description": "The plan in a sentence."},
            "steps": {"type": "array", "items": _STEP_SCHEMA, "description": "Its steps, in order."},
            "ready": {"type": "boolean", "description": "Whether the task can be done by this plan."},
        },
        "required": ["plan", "steps", "ready"],
    },
}


@dataclass(frozen=True)
class AgentPlan:
    """An agent's plan for a task."""

    text: str
    ready: bool
    """Whether the agent considers it good enough to start."""

    steps: tuple[PlanStep, ...] = ()
    """The steps in order, if steps were requested."""


class _Report(Protocol):
    """Emits the events of planning."""

    def planning(self, attempt: int) -> None:
        """The agent starts to plan."""
        ...

    def planned(self, attempt: int, plan: str, ready: bool, last: bool) -> None:
        """The agent has made a plan."""
        ...

    def planning_failed(self, attempt: int, error: str) -> None:
        """Planning failed."""
        ...


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
    report: _Report
    refused: tuple[str, str] | None = None
    """An earlier attempt at the task, and why it was refused."""

    config: PlanningConfig | None = None
    """How the task is divided into steps; None for a plan as a text."""

    earlier: str = ""
    """The results of an earlier plan, when the remaining steps are replanned."""


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


def task_text(planner: Planner, text: str) -> str:
    """Return a task's description with its context."""
    context = planner.briefing.context
    return planner.book.slice("task_with_context", task=text, context=context) if context else text


def _request(planner: Planner, previous: AgentPlan | None) -> ModelCall:
    """Return the request for a plan, or for an improvement of the previous one."""
    task = with_rejection(task_text(planner, planner.briefing.description), planner.refused, planner.book)
    if planner.config is None:
        system, parts = _text_plan_prompt(planner, task, previous)
        hand_in = _PLAN_TOOL
    else:
        system, parts = _step_plan_prompt(planner, planner.config, task, previous)
        hand_in = _STEPS_TOOL
    transcript = Transcript([{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(parts)}])
    tools = (hand_in,) if planner.model.native_tools else ()
    return ModelCall(model=planner.model, transcript=transcript, tools=tools)


def _texts(planner: Planner, task: str) -> dict[str, str]:
    """Return the values for the placeholders of the planning prompts."""
    briefing = planner.briefing
    return {
        "role": briefing.role,
        "goal": briefing.goal,
        "backstory": briefing.backstory,
        "description": task,
        "expected_output": briefing.expected_output,
        "tools": planner.tools or "none",
    }


def _text_plan_prompt(planner: Planner, task: str, previous: AgentPlan | None) -> tuple[str, list[str]]:
    """Return the system prompt and the parts of the user prompt for a plan as a text."""
    book, texts = planner.book, _texts(planner, task)
    system = book.filled("reasoning", "initial_plan", **texts)
    parts = [book.filled("reasoning", "create_plan_prompt", **texts)]
    if previous is not None:
        system = book.filled("reasoning", "refine_plan", **texts)
        parts.append(book.filled("reasoning", "refine_plan_prompt", **texts, current_plan=previous.text))
    if planner.model.native_tools:
        parts.append(book.filled("reasoning", "hand_in"))
    return system, parts


def _step_plan_prompt(
    planner: Planner, config: PlanningConfig, task: str, previous: AgentPlan | None
) -> tuple[str, list[str]]:
    """Return the system prompt and the parts of the user prompt for a plan in steps; the user's prompts replace ours."""
    book = planner.book
    texts = {
        **_texts(planner, f"{task}\n\n{planner.earlier}" if planner.earlier else task),
        "max_steps": str(config.max_steps),
        "current_plan": "" if previous is None else previous.text,
    }

    def fill(custom: str | None, default: str) -> str:
        return default if custom is None else fill_placeholders(custom, **texts)

    parts = [fill(config.plan_prompt, book.filled("planning", "create_plan_prompt", **texts))]
    if previous is not None:
        parts.append(fill(config.refine_prompt, book.filled("planning", "refine_plan_prompt", **texts)))
    form = book.filled("planning", "hand_in") if planner.model.native_tools else book.filled("planning", "written")
    return fill(config.system_prompt, book.filled("planning", "system_prompt", **texts)), [*parts, form]


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
    end = verdicts[-1].start()
    while end and (text[end - 1].isspace() or text[end - 1] in _MARKUP):
        end -= 1
    return AgentPlan(text[:end].strip() or text, ready=True)


def _plan_of_fields(value: Any, max_steps: int) -> AgentPlan | None:
    if not isinstance(value, Mapping):
        return None
    fields = cast(PlainMapping, value)
    if not isinstance(fields.get("plan"), str):
        return None
    ready = str(fields.get("ready")).lower() == "true"
    return AgentPlan(fields["plan"].strip(), ready, _steps(fields.get("steps"))[:max_steps])


def _steps(value: Any) -> tuple[PlanStep, ...]:
    """Parse steps in order, skipping invalid ones."""
    steps: list[PlanStep] = []
    for item in cast("list[Any]", value) if isinstance(value, list) else []:
        try:
            steps.append(PlanStep.model_validate(item))
        except ValidationError:
            continue
    return tuple(steps)
