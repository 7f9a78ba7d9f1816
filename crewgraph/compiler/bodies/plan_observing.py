"""A model looks at what came of a step of a plan."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from crewgraph.compiler.bodies.formed import formed
from crewgraph.compiler.bodies.reasoning import Planner
from crewgraph.compiler.plan_report import PlanReport
from crewgraph.core.effects import Body, EffectFailed, Notify
from crewgraph.core.messages import Message
from crewgraph.definitions.plan_steps import StepObservation, TodoItem, TodoList
from crewgraph.schema import described

__all__ = ["observed"]

_ATTEMPTS = 2


def observed(
    planner: Planner, task: str, step: TodoItem, outcome: Mapping[str, Any], todos: TodoList, report: PlanReport
) -> Body[StepObservation]:
    """What a model makes of the outcome of a step; the outcome's own word where it gives no answer that can be read.

    Args:
        planner: whose model is asked.
        task: what is to be done as a whole.
        step: the step.
        outcome: whether it was done ("ok"), and what came of it ("text").
        todos: all steps.
        report: who is told.
    """
    yield Notify(partial(report.observing, step.model_copy()))
    own = StepObservation(step_completed_successfully=outcome["ok"])
    messages = _messages(planner, task, step, outcome, todos)
    try:
        seen = yield from formed(
            messages, StepObservation, planner.model, planner.book, planner.usage, attempts=_ATTEMPTS
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


def _messages(
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
