"""Reasoning: before an agent works on a task it makes a plan, and improves it until it is ready."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

from crewgraph.compiler.bodies.prompt import retold
from crewgraph.compiler.bodies.protocol import text_of
from crewgraph.compiler.briefing import Briefing
from crewgraph.core.effects import Body, EffectFailed, ModelCall, Notify
from crewgraph.core.messages import Reply, ToolSpec
from crewgraph.core.ports import Model
from crewgraph.core.transcript import Transcript
from crewgraph.llm.ledger import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.text import extract_json

__all__ = ["Plan", "Planner", "planned"]

_MOST = 10
"""Plans that are made where nobody says how many."""

_VERDICT = re.compile(r"[\s*_`#>]*\b(NOT[\s_-]+READY|READY)\b")

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


@dataclass(frozen=True)
class Plan:
    """How an agent is going to do a task."""

    text: str
    ready: bool
    """Whether the agent finds it good enough to begin."""


class _Audience(Protocol):
    """Who is told of plans."""

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
    """What planning needs to know."""

    model: Model
    book: Book
    briefing: Briefing
    tools: str
    """The names of the tools."""

    attempts: int | None
    usage: UsageLedger
    audience: _Audience
    refused: tuple[str, str] | None = None
    """An earlier attempt at the task, and why it was refused."""


def planned(planner: Planner) -> Body[Plan | None]:
    """The plan for a task: the first one that is ready, else the last one; None where none could be made.

    A failure of the model is told, and the work goes on without a better plan. A time limit is none of its failures.
    """
    plan: Plan | None = None
    most = _MOST if planner.attempts is None else max(planner.attempts, 1)
    for attempt in range(1, most + 1):
        yield Notify(partial(planner.audience.planning, attempt))
        try:
            reply: Reply = yield _request(planner, plan)
        except EffectFailed as failure:
            if failure.type_name == "TimeLimitReached":
                raise
            yield Notify(partial(planner.audience.planning_failed, attempt, str(failure)))
            return plan
        planner.usage.answered(planner.model, reply)
        plan = _read(reply)
        yield Notify(partial(planner.audience.planned, attempt, plan.text, plan.ready, attempt == most))
        if plan.ready:
            break
    return plan


def _request(planner: Planner, former: Plan | None) -> ModelCall:
    book, briefing, native = planner.book, planner.briefing, planner.model.native_tools
    who = {"role": briefing.role, "goal": briefing.goal, "backstory": briefing.backstory}
    task = briefing.description
    if briefing.context:
        task = book.slice("task_with_context", task=task, context=briefing.context)
    asked = [
        book.filled(
            "reasoning",
            "create_plan_prompt",
            **who,
            description=retold(task, planner.refused, book),
            expected_output=briefing.expected_output,
            tools=planner.tools or "none",
        )
    ]
    system = book.filled("reasoning", "initial_plan", **who)
    if former is not None:
        system = book.filled("reasoning", "refine_plan", **who)
        asked.append(book.filled("reasoning", "refine_plan_prompt", **who, current_plan=former.text))
    if native:
        asked.append(book.filled("reasoning", "hand_in"))
    transcript = Transcript([{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(asked)}])
    return ModelCall(model=planner.model, transcript=transcript, tools=(_HAND_IN,) if native else ())


def _read(reply: Reply) -> Plan:
    """The plan in a reply: handed in by a call, written as JSON, or as text with a verdict at its end."""
    for call in reply["tool_calls"]:
        found = call["args"] if isinstance(call["args"], dict) else extract_json(call["args"])
        if (plan := _of_fields(found)) is not None:
            return plan
    text = text_of(reply["content"]).strip()
    if (plan := _of_fields(extract_json(text))) is not None:
        return plan
    verdicts = list(_VERDICT.finditer(text))
    if not verdicts or verdicts[-1][1] != "READY":
        return Plan(text, ready=False)  # with the reasons, which the next one is to remove
    return Plan(text[: verdicts[-1].start()].strip() or text, ready=True)


def _of_fields(found: Any) -> Plan | None:
    if not isinstance(found, Mapping):
        return None
    fields = cast(Mapping[str, Any], found)
    if not isinstance(fields.get("plan"), str):
        return None
    return Plan(fields["plan"].strip(), ready=str(fields.get("ready")).lower() == "true")
