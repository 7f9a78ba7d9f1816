"""A flow as LangGraph draws graphs: its methods, and the labels between them."""

from collections.abc import Iterator

from langchain_core.runnables import RunnablePassthrough
from langchain_core.runnables.graph import Graph
from langgraph.graph import END, START

from crewgraph.compiler.flow.plan import Plan
from crewgraph.definitions.flow.labels import mentioned

__all__ = ["drawn", "edges_of"]


def edges_of(plan: Plan) -> Iterator[tuple[str, str, str | None]]:
    """The ways through a flow: from which method, to which, and the label that leads there, if one does."""
    for name in plan.methods:
        for event in (*sorted(plan.triggers[name]), *sorted(plan.again[name])):
            if event in plan.methods:
                if event in plan.triggers[name]:
                    yield event, name, None
                sources = [one.name for one in plan.methods.values() if one.is_router and event in one.labels]
            else:
                sources = _sources(plan, event)
            for source in sources:
                yield source, name, event


def _sources(plan: Plan, label: str) -> list[str]:
    """Who fires a label; routers whose labels nobody knows may fire any that nobody else does."""
    known = [
        name
        for name, method in plan.methods.items()
        if (method.is_router or label in plan.said) and (label in method.labels or label in mentioned(method.func))
    ]
    return known or [name for name, method in plan.methods.items() if method.is_router and not method.labels]


def drawn(plan: Plan) -> Graph:
    """The drawing."""
    graph = Graph()
    nodes = {name: graph.add_node(RunnablePassthrough(), name) for name in (START, *plan.methods, END)}
    for name in plan.starts:
        graph.add_edge(nodes[START], nodes[name], conditional=plan.methods[name].predicate is not None)
    ends = dict.fromkeys(plan.methods)
    for source, target, label in dict.fromkeys(edges_of(plan)):
        graph.add_edge(nodes[source], nodes[target], data=label, conditional=label is not None)
        ends.pop(source, None)
    for name in ends:
        graph.add_edge(nodes[name], nodes[END])
    return graph
