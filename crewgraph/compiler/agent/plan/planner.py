"""How an agent makes a plan: as a text or in steps, refined until it is ready."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

from pydantic import ValidationError

from crewgraph.compiler.agent.prompt import retold
from crewgraph.compiler.agent.protocol import reply_text
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.core.digests import Transcript
from crewgraph.core.effects import Body, EffectFailed, ModelCall, Notify
from crewgraph.core.messages import Reply, ToolSpec
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.planning import PlanningConfig, PlanStep
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book, filled
from crewgraph.text import extract_json

__all__ = ["AgentPlan", "Planner", "make_plan", "task_text"]

_MOST = 10
"""Plans that are made where nobody says how many."""

_VERDICT = re.compile(r"[\s*_`#>]*\b(NOT[\s_-]+READY|READY)\b")

_STEP = {
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

_HAND_IN: ToolSpec = {
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

_HAND_IN_STEPS: ToolSpec = {
    "name": "create_reasoning_plan",
    "description": "Hands in the plan for a task, in steps.",
    "parameters": {
        "type": "object",
        "properties": {
            "plan": {"type": "string", "description": "The plan in a sentence."},
            "steps": {"type": "array", "items": _STEP, "description": "Its steps, in order."},
            "ready": {"type": "boolean", "description": "Whether the task can be done by this plan."},
        },
        "required": ["plan", "steps", "ready"],
    },
}


@dataclass(frozen=True)
class AgentPlan:
    """How an agent is going to do a task."""

    text: str
    ready: bool
    """Whether the agent finds it good enough to begin."""

    steps: tuple[PlanStep, ...] = ()
    """What is to be done, in order, where that was asked for."""


class _Report(Protocol):
    """Emits the events of planning."""

    def planning(self, attempt: int) -> None:
        """A plan is about to be made."""
        ...

    def planned(self, attempt: int, plan: str, ready: bool, last: bool) -> None:
        """A plan was made."""
        ...

    def planning_failed(self, attempt: int, error: str) -> None:
        """No plan could be made."""
        ...


@dataclass(frozen=True, kw_only=True)
class Planner:
    """What is needed to make a plan."""

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
    """How the task is divided into steps; None where a text is wanted."""

    earlier: str = ""
    """What an earlier plan has led to, where the rest is planned again."""


def make_plan(planner: Planner) -> Body[AgentPlan | None]:
    """The plan for a task: the first one that is ready, else the last one; None where none could be made.

    A failure of the model is reported, and the work continues without a better plan. A time limit is no such failure.
    """
    plan: AgentPlan | None = None
    most = _MOST if planner.attempts is None else max(planner.attempts, 1)
    for attempt in range(1, most + 1):
        yield Notify(partial(planner.report.planning, attempt))
        try:
            reply: Reply = yield _request(planner, plan)
        except EffectFailed as failure:
            if failure.type_name == "TimeLimitReached":
                raise
            yield Notify(partial(planner.report.planning_failed, attempt, str(failure)))
            return plan
        planner.usage.answered(planner.model, reply)
        plan = _read(reply, planner.config)
        yield Notify(partial(planner.report.planned, attempt, plan.text, plan.ready, attempt == most))
        if plan.ready:
            break
    return plan


def task_text(planner: Planner, text: str) -> str:
    """The task as the agent reads it, with what others found out."""
    context = planner.briefing.context
    return planner.book.slice("task_with_context", task=text, context=context) if context else text


def _request(planner: Planner, former: AgentPlan | None) -> ModelCall:
    """Ask for a plan, or for a better one than a former one."""
    task = retold(task_text(planner, planner.briefing.description), planner.refused, planner.book)
    if planner.config is None:
        system, asked = _for_a_text(planner, task, former)
        hand_in = _HAND_IN
    else:
        system, asked = _for_steps(planner, planner.config, task, former)
        hand_in = _HAND_IN_STEPS
    transcript = Transcript([{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(asked)}])
    tools = (hand_in,) if planner.model.native_tools else ()
    return ModelCall(model=planner.model, transcript=transcript, tools=tools)


def _texts(planner: Planner, task: str) -> dict[str, str]:
    """What the prompts of planning are filled with."""
    briefing = planner.briefing
    return {
        "role": briefing.role,
        "goal": briefing.goal,
        "backstory": briefing.backstory,
        "description": task,
        "expected_output": briefing.expected_output,
        "tools": planner.tools or "none",
    }


def _for_a_text(planner: Planner, task: str, former: AgentPlan | None) -> tuple[str, list[str]]:
    """The system prompt and the parts of the question, for a plan as a text."""
    book, texts = planner.book, _texts(planner, task)
    system = book.filled("reasoning", "initial_plan", **texts)
    asked = [book.filled("reasoning", "create_plan_prompt", **texts)]
    if former is not None:
        system = book.filled("reasoning", "refine_plan", **texts)
        asked.append(book.filled("reasoning", "refine_plan_prompt", **texts, current_plan=former.text))
    if planner.model.native_tools:
        asked.append(book.filled("reasoning", "hand_in"))
    return system, asked


def _for_steps(planner: Planner, config: PlanningConfig, task: str, former: AgentPlan | None) -> tuple[str, list[str]]:
    """The system prompt and the parts of the question, for a plan in steps; prompts of the user's take the place of ours."""
    book = planner.book
    texts = {
        **_texts(planner, f"{task}\n\n{planner.earlier}" if planner.earlier else task),
        "max_steps": str(config.max_steps),
        "current_plan": "" if former is None else former.text,
    }

    def worded(own: str | None, ours: str) -> str:
        return ours if own is None else filled(own, **texts)

    asked = [worded(config.plan_prompt, book.filled("planning", "create_plan_prompt", **texts))]
    if former is not None:
        asked.append(worded(config.refine_prompt, book.filled("planning", "refine_plan_prompt", **texts)))
    form = book.filled("planning", "hand_in") if planner.model.native_tools else book.filled("planning", "written")
    return worded(config.system_prompt, book.filled("planning", "system_prompt", **texts)), [*asked, form]


def _read(reply: Reply, config: PlanningConfig | None) -> AgentPlan:
    """The plan in a reply: handed in by a call, written as JSON, or as text with a verdict at its end."""
    most = 0 if config is None else config.max_steps
    for call in reply["tool_calls"]:
        found = call["args"] if isinstance(call["args"], dict) else extract_json(call["args"])
        if (plan := _of_fields(found, most)) is not None:
            return plan
    text = reply_text(reply["content"]).strip()
    if (plan := _of_fields(extract_json(text), most)) is not None:
        return plan
    verdicts = list(_VERDICT.finditer(text))
    if not verdicts or verdicts[-1][1] != "READY":
        return AgentPlan(text, ready=False)  # with the reasons, which the next one is to remove
    return AgentPlan(text[: verdicts[-1].start()].strip() or text, ready=True)


def _of_fields(found: Any, most: int) -> AgentPlan | None:
    if not isinstance(found, Mapping):
        return None
    fields = cast(Mapping[str, Any], found)
    if not isinstance(fields.get("plan"), str):
        return None
    ready = str(fields.get("ready")).lower() == "true"
    return AgentPlan(fields["plan"].strip(), ready, _steps(fields.get("steps"))[:most])


def _steps(found: Any) -> tuple[PlanStep, ...]:
    """Steps as a model wrote them, numbered in their order; what is none is left out."""
    written: list[PlanStep] = []
    for one in cast("list[Any]", found) if isinstance(found, list) else []:
        try:
            written.append(PlanStep.model_validate(one))
        except ValidationError:
            continue
    return tuple(written)
