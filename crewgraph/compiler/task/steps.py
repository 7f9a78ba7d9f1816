"""A task as a subgraph with a node per step: model, tools, guardrail and finish, all running the same body."""

import operator
from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.utils.runnable import RunnableCallable
from typing_extensions import TypedDict

from crewgraph.compiler.agent.binding import fetches_tools
from crewgraph.compiler.crew.state import INPUTS, MESSAGE, schema
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.body import task_body
from crewgraph.core.pregel import InlineGraph
from crewgraph.core.steps import PENDING, STEPS, StepNode, Stepper
from crewgraph.schema import PlainMapping
from crewgraph.storage.claims.owned_graph import OwnedGraph

_ROUTES = {
    "model": ("tools", "guardrail", "finish"),
    "tools": ("model", "guardrail", "finish"),
    "guardrail": ("model", "finish"),
}
"""The steps that may follow each step; after the last one, the task ends."""

STAGES = (*_ROUTES, "finish")
"""The steps of a task, by the names of their nodes."""


def step_graph(
    assignment: TaskBinding, sources: Collection[str], *, stored: bool, before: Sequence[str], after: Sequence[str]
) -> "CompiledStateGraph[Any]":
    """Build the graph of a task, which becomes a node of its crew's graph.

    Args:
        assignment: the task.
        sources: the channels of the crew that it reads.
        stored: False where the graph is compiled without a checkpointer.
        before: steps to interrupt before.
        after: steps to interrupt after.
    """
    stages = _needed_stages(assignment)
    stepper = Stepper(partial(task_body, assignment), stages, stored=stored)
    graph = StateGraph(
        _state(assignment, sources),
        input_schema=schema(f"{assignment.slug}_input", [INPUTS, *sources], assignment.conversation),
        output_schema=schema(f"{assignment.slug}_result", [assignment.slug], {MESSAGE: Any}),
    )
    for stage in stages:
        graph.add_node(stage, StepNode(stage, stepper))
    graph.add_edge(START, "model")
    for stage, targets in _ROUTES.items():
        if stage in stages:
            existing = [target for target in targets if target in stages]
            graph.add_conditional_edges(stage, _route(existing), existing)
    graph.add_edge("finish", END)
    compiled = graph.compile(
        checkpointer=None if stored else False,
        interrupt_before=[stage for stage in before if stage in stages],
        interrupt_after=[stage for stage in after if stage in stages],
        name=f"Agent: {assignment.agent.template('role')}",  # in traces
    )
    return _StepGraph(**vars(compiled))


class _StepGraph(OwnedGraph, InlineGraph):
    """The graph of a task's steps."""


def _needed_stages(assignment: TaskBinding) -> list[str]:
    missing = {
        "tools": not (assignment.tools or fetches_tools(assignment.agent)),
        "guardrail": not assignment.task.all_guardrails,
    }
    return [stage for stage in STAGES if not missing.get(stage)]


def _state(assignment: TaskBinding, sources: Collection[str]) -> Any:
    fields: dict[str, object] = dict.fromkeys([INPUTS, *sources, assignment.slug], dict[str, Any])
    fields[MESSAGE] = Any
    fields.update(assignment.conversation)
    fields[STEPS] = Annotated[list[dict[str, Any]], operator.add]
    fields[PENDING] = dict[str, Any] | None
    return TypedDict(f"{assignment.slug}_state", fields, total=False)  # pyright: ignore[reportArgumentType]


def _route(targets: Sequence[str]) -> RunnableCallable:
    def route(state: PlainMapping) -> str:
        # After an edit of the state, the pending stage may be done already: any step finds out what comes next.
        pending: PlainMapping = state.get(PENDING) or {}
        return next((target for target in targets if target == pending.get("stage")), targets[0])

    return RunnableCallable(route, name="route", trace=False)
