"""A task or an agent at work outside of a crew: a graph of one node, a part of the graph around it where there is one."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from langgraph.graph import END, START, StateGraph

from crewgraph.compiler.assignment import Assignment, alone
from crewgraph.compiler.bodies.task import answer_body, own_task_body, plan_body
from crewgraph.compiler.notes import RunNotes
from crewgraph.compiler.ongoing import ONGOING
from crewgraph.compiler.state import INPUTS, schema
from crewgraph.core.effects import Body
from crewgraph.core.node import BodyNode
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.definitions.agent import BaseAgent
from crewgraph.definitions.faults import title
from crewgraph.definitions.output import TaskOutput
from crewgraph.definitions.task import Task
from crewgraph.errors import RunError
from crewgraph.runtime.operations import Run
from crewgraph.runtime.place import RunPlace, place_around

__all__ = ["aanswer", "aexecute", "answer", "execute", "plan"]

_NOWHERE = RunPlace(checkpointer=False, thread_id=None, detached=True)

_Body = Callable[[Assignment, Mapping[str, Any]], Body[dict[str, Any]]]


def execute(task: Task, agent: BaseAgent | None, context: str | None, tools: Sequence[Any] | None) -> TaskOutput:
    """Do a task; see `Task.execute_sync`."""
    return drive(_executed(task, agent, context, tools))


async def aexecute(task: Task, agent: BaseAgent | None, context: str | None, tools: Sequence[Any] | None) -> TaskOutput:
    """Do a task on this event loop; see `Task.aexecute_sync`."""
    return await adrive(_executed(task, agent, context, tools))


def answer(agent: BaseAgent, task: Task, context: str | None, tools: Sequence[Any] | None) -> str:
    """Work on a task; see `Agent.execute_task`."""
    return drive(_answered(agent, task, context, tools))


async def aanswer(agent: BaseAgent, task: Task, context: str | None, tools: Sequence[Any] | None) -> str:
    """Work on a task on this event loop; see `Agent.aexecute_task`."""
    return await adrive(_answered(agent, task, context, tools))


def _executed(
    task: Task, agent: BaseAgent | None, context: str | None, tools: Sequence[Any] | None
) -> Program[TaskOutput]:
    agent = agent or task.agent
    if agent is None:
        raise RunError(f"{title(task)} has no agent assigned; give it `agent=`, or pass one: `execute_sync(agent)`")
    assignment = alone(task, agent, context, tools)
    notes = RunNotes()
    plain = yield from _ran(assignment, own_task_body, notes)
    output = TaskOutput.from_plain(plain, task.output_pydantic)
    if assignment.slug in notes.tasks:
        output.messages = notes.tasks[assignment.slug].messages
    _counted(task, output.usage_by_model)
    return output


def _answered(agent: BaseAgent, task: Task, context: str | None, tools: Sequence[Any] | None) -> Program[str]:
    plain = yield from _ran(alone(task, agent, context, tools), answer_body)
    _counted(task, plain["usage"])
    return plain["answer"]


def plan(agent: BaseAgent, task: Task) -> Program[dict[str, Any] | None]:
    """The agent's plan for a task: its text as `plan`, and whether it is `ready`; None where none could be made."""
    plain = yield from _ran(alone(task, agent, None, None), plan_body)
    _counted(task, plain["usage"])
    return plain["plan"]


def _ran(assignment: Assignment, body: _Body, notes: RunNotes | None = None) -> Program[Any]:
    place = place_around() or _NOWHERE
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(schema("TaskState", [INPUTS, assignment.slug]))
    stored = place.checkpointer is not False
    graph.add_node(assignment.slug, BodyNode(assignment.slug, partial(body, assignment), stored=stored))
    graph.add_edge(START, assignment.slug)
    graph.add_edge(assignment.slug, END)
    compiled = graph.compile(checkpointer=place.checkpointer, name=f"Task: {assignment.slug}")
    run = yield Run(
        compiled,
        {INPUTS: {}},
        {},
        durability=place.durability,
        detached=place.detached,
        again=place.again,
        notes=notes,
    )
    return run.written[assignment.slug]


def _counted(task: Task, used: Mapping[str, Any]) -> None:
    """What a user's version of a verb uses by calling ours is used by the task it was called for."""
    ongoing = ONGOING.get()
    if ongoing is not None and ongoing.task is task:
        ongoing.usage.add(used)
