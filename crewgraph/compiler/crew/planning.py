"""The plan of a crew (`Crew(planning=True)`): the task that makes it before all others, and its body.

Plans of agents for their own tasks are in `compiler.agent.plan`.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial

from crewgraph.compiler.agent.models import first_llm, model_of
from crewgraph.compiler.agent.prompt import Opening
from crewgraph.compiler.agent.toolbox import Toolbox
from crewgraph.compiler.crew.state import INPUTS, PLANNING
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.events import TaskReport, record_task_note
from crewgraph.compiler.task.structure import StructuredReply, request_structured
from crewgraph.core.effects import Body, Notify, Scope
from crewgraph.definitions.agent.agent import AgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.definitions.placeholders import TemplatedDefinition
from crewgraph.definitions.task.output import OutputFormat, TaskOutput
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import OutputInvalid
from crewgraph.llm.conversation import openai_messages
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.redaction import redacted_logger
from crewgraph.schema import PlainMapping
from crewgraph.text import shorten

_log = redacted_logger("crewgraph")


def planning_binding(crew: CrewDefinition, tasks: Sequence[TaskBinding]) -> TaskBinding | None:
    """Bind the task that plans the others; None if the crew does not plan.

    It becomes `crew.planning_tasks`.
    """
    if not crew.planning:
        crew.planning_tasks = []
        return None
    book = crew.texts.book
    planner = AgentDefinition.public_class(
        role=book.slice("planner_role"),
        goal=book.slice("planner_goal"),
        backstory=book.slice("planner_backstory"),
        llm=first_llm(crew, crew.planning_llm),
        verbose=crew.verbose,
    )
    planner.crew = crew
    task = TaskDefinition.public_class(
        name=PLANNING,
        description=_request(tasks, None, book),
        expected_output=book.slice("planning_result"),
        agent=planner,
        output_pydantic=CrewPlan,
    )
    crew.planning_tasks = [task]
    return TaskBinding(crew=crew, task=task, agent=planner, slug=PLANNING, context=(), given_tools=[], tools={})


def crew_plan_key(crew: CrewDefinition) -> Hashable:
    """Return a key of everything the planning of a crew depends on, besides its tasks; None if it does not plan."""
    return (id(first_llm(crew, crew.planning_llm)), id(crew.texts), crew.verbose) if crew.planning else None


def _request(tasks: Sequence[TaskBinding], inputs: PlainMapping | None, book: Book) -> str:
    """Return the planner's prompt: all tasks and their agents, with the placeholders filled; None leaves them open.

    Raises:
        MissingInput: a placeholder has no value among the inputs.
    """
    lines = [_task_lines(number, assignment, inputs, book) for number, assignment in enumerate(tasks, 1)]
    return book.slice("planning_task", tasks="\n\n".join(lines))


def _task_lines(number: int, assignment: TaskBinding, inputs: PlainMapping | None, book: Book) -> str:
    task = _texts(assignment.task, inputs, "description", "expected_output")
    agent = _texts(assignment.task.agent or assignment.agent, inputs, "role", "goal")
    return book.slice(
        "planning_of_task",
        number=str(number),
        description=task["description"] or "",
        expected_output=task["expected_output"] or "",
        role=agent["role"] or "",
        goal=agent["goal"] or "",
        tools=", ".join(assignment.tools) or "none",
    )


def _texts(definition: TemplatedDefinition, inputs: PlainMapping | None, *fields: str) -> Mapping[str, str | None]:
    # Without inputs a file's name with a placeholder cannot be completed, and is not asked for.
    return (
        {field: definition.written(field) for field in fields} if inputs is None else definition.rendered_texts(inputs)
    )


def crew_plan_body(
    planning: TaskBinding, tasks: Sequence[TaskBinding], state: Mapping[str, object]
) -> Body[dict[str, object]]:
    """Make the plan; the update holds it as the output of a task, as plain data.

    Args:
        planning: the planner's task.
        tasks: the tasks to plan.
        state: the crew's state.

    Raises:
        OutputInvalid: the model's plan cannot be parsed.
    """
    report = TaskReport(planning)
    try:
        output = yield from _make_plan(planning, tasks, state, report)
        yield Notify(partial(report.publish, output=output))
    except Exception as failure:  # whatever fails the planning is reported, then raised again
        yield Notify(partial(report.fail, failure))
        raise
    yield Notify(partial(report.complete, output))
    record_task_note(planning.slug, output.messages)
    return {planning.slug: output.to_plain()}


def _make_plan(
    planning: TaskBinding, tasks: Sequence[TaskBinding], state: PlainMapping, report: TaskReport
) -> Body[TaskOutput]:
    agent = planning.agent
    briefing = Briefing(
        role=agent.role,
        goal=agent.goal,
        backstory=agent.backstory,
        description=_request(tasks, state.get(INPUTS) or {}, planning.book),
        expected_output=planning.task.expected_output,
        output_file=None,
        context="",
    )
    model = model_of(agent.llm, agent, planning.task, planning.crew)
    opening = Opening(
        agent=agent,
        task=planning.task,
        briefing=briefing,
        tools=Toolbox({}),
        native=False,
        book=planning.book,
    )
    messages = opening.messages("", "")
    usage = UsageLedger()
    yield Notify(partial(report.begin, briefing))
    yield Notify(partial(report.agent_started, messages, ()))
    reply: StructuredReply[CrewPlan] = yield Scope(
        name=f"Agent: {briefing.role}",
        body=lambda: request_structured(messages, CrewPlan, model, planning.book, usage),
        trace_input={"messages": messages},
        metadata={"agent_role": briefing.role, "lc_agent_name": briefing.role},
    )
    if reply.value is None:
        raise OutputInvalid(
            f"the model `{model.name}` wrote no plan that can be parsed, even after retries: {reply.problem}. Its last "
            f"reply: {shorten(reply.text, 200)!r}. No task was started. Plan with a model that writes JSON "
            "(`Crew(planning_llm=...)`) and resume, or turn `planning` off."
        )
    yield Notify(partial(report.agent_completed, reply.text))
    yield Notify(partial(_warn_of_unplanned, reply.value, tasks))
    output = TaskOutput(
        name=planning.task.name,
        description=briefing.description,
        expected_output=briefing.expected_output,
        raw=reply.text,
        pydantic=reply.value,
        agent=briefing.role,
        output_format=OutputFormat.PYDANTIC,
    )
    output.usage, output.usage_by_model = usage.total, usage.by_model
    output.messages = openai_messages(messages)
    return output


def _warn_of_unplanned(plan: CrewPlan, tasks: Sequence[TaskBinding]) -> None:
    planned = plan.by_number(len(tasks))
    missing = [task.slug for number, task in enumerate(tasks, 1) if number not in planned]
    if missing:
        _log.warning(
            "the plan of the crew says nothing about %s, which run without a plan",
            ", ".join(f"`{slug}`" for slug in missing),
        )
