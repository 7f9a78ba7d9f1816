"""The body that makes the plan of a crew, before any of its tasks is done."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from crewgraph.compiler.assignment import Assignment
from crewgraph.compiler.bodies.formed import Formed, formed
from crewgraph.compiler.bodies.prompt import Opening
from crewgraph.compiler.briefing import Briefing
from crewgraph.compiler.limited import model_of
from crewgraph.compiler.planning import listed
from crewgraph.compiler.report import TaskReport
from crewgraph.compiler.state import INPUTS
from crewgraph.compiler.toolbox import Toolbox
from crewgraph.core.effects import Body, Notify, Scope
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.crew_plan import CrewPlan
from crewgraph.definitions.output import OutputFormat, TaskOutput
from crewgraph.errors import OutputInvalid
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.usage import UsageLedger
from crewgraph.text import shorten

__all__ = ["crew_plan_body"]

_log = logging.getLogger("crewgraph")


def crew_plan_body(planning: Assignment, tasks: Sequence[Assignment], state: Mapping[str, Any]) -> Body[dict[str, Any]]:
    """Make the plan; the update holds it as the output of a task, as plain data.

    Args:
        planning: the planner's task.
        tasks: the tasks that are planned.
        state: the crew's state.

    Raises:
        OutputInvalid: the model wrote no plan that can be read.
    """
    report = TaskReport(planning)
    try:
        output = yield from _planned(planning, tasks, state, report)
        yield Notify(partial(report.publish, output))
    except Exception as failure:
        yield Notify(partial(report.fail, failure))
        raise
    yield Notify(partial(report.complete, output))
    return {planning.slug: output.to_plain()}


def _planned(
    planning: Assignment, tasks: Sequence[Assignment], state: Mapping[str, Any], report: TaskReport
) -> Body[TaskOutput]:
    briefing = _briefing(planning, listed(tasks, state.get(INPUTS) or {}, planning.book))
    model = model_of(planning.agent.llm, planning.agent, planning.task, planning.crew)
    messages = _asked(planning, briefing)
    usage = UsageLedger()
    yield Notify(partial(report.begin, briefing))
    yield Notify(partial(report.agent_begins, messages, ()))
    asked: Formed[CrewPlan] = yield Scope(
        name=f"Agent: {briefing.role}",
        body=lambda: formed(messages, CrewPlan, model, planning.book, usage),
        given={"messages": messages},
        metadata={"agent_role": briefing.role},
    )
    if asked.found is None:
        raise OutputInvalid(_unread(asked, model))
    yield Notify(partial(report.agent_completes, asked.text))
    yield Notify(partial(_tell_unplanned, asked.found, tasks))
    output = TaskOutput(
        name=planning.task.name,
        description=briefing.description,
        expected_output=briefing.expected_output,
        raw=asked.text,
        pydantic=asked.found,
        agent=briefing.role,
        output_format=OutputFormat.PYDANTIC,
    )
    output.usage, output.usage_by_model = usage.total, usage.told
    output.messages = openai_messages(messages)
    return output


def _briefing(planning: Assignment, description: str) -> Briefing:
    agent = planning.agent
    return Briefing(
        role=agent.role,
        goal=agent.goal,
        backstory=agent.backstory,
        description=description,
        expected_output=planning.task.expected_output,
        output_file=None,
        context="",
    )


def _asked(planning: Assignment, briefing: Briefing) -> list[Message]:
    opening = Opening(
        agent=planning.agent,
        task=planning.task,
        briefing=briefing,
        tools=Toolbox({}),
        native=False,
        book=planning.book,
    )
    return opening.messages("", "")


def _unread(asked: Formed[CrewPlan], model: Model) -> str:
    return (
        f"the model `{model.name}` wrote no plan that can be read, also when it was asked again: {asked.problem}. Its last "
        f"reply: {shorten(asked.text, 200)!r}. No task was begun. Give the planning to a model that writes JSON "
        "(`Crew(planning_llm=...)`) and resume, or leave `planning` out."
    )


def _tell_unplanned(plan: CrewPlan, tasks: Sequence[Assignment]) -> None:
    planned = plan.by_number(len(tasks))
    missing = [one.slug for number, one in enumerate(tasks, 1) if number not in planned]
    if missing:
        _log.warning("the plan of the crew says nothing of %s, done without", ", ".join(f"`{one}`" for one in missing))
