"""Whether a crew's graph runs all that is left of a stored run, which the crew may have begun with other tasks."""

from collections.abc import Collection
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.graph.state import CompiledStateGraph

from crewgraph.compiler.crew.graph import node_task
from crewgraph.core.pregel import coming, pending_input, reached
from crewgraph.errors import DefinitionChanged
from crewgraph.schema import PlainMapping

__all__ = ["check_continues"]


def check_continues(
    graph: "CompiledStateGraph[Any]", saved: CheckpointTuple, done: Collection[str], *, can_fork: bool = True
) -> None:
    """Check that a crew can continue a stored run: LangGraph would end it silently where a node is missing.

    Args:
        graph: the crew's graph.
        saved: the run's checkpoint.
        done: the tasks that need not run.
        can_fork: whether the run is stored where `crew.fork` finds it.

    Raises:
        DefinitionChanged: the crew has been edited since, so that some of its tasks would not run.
    """
    values = saved.checkpoint["channel_values"]
    if pending_input(values) is not None:
        return
    order = list(dict.fromkeys(map(node_task, graph.builder.nodes)))
    following = list(dict.fromkeys(map(node_task, coming(values))))  # also those that have ended while others have not
    unknown = [node_task(node) for node in coming(values) if node not in graph.nodes]
    runs = {node_task(node) for node in reached(graph, saved)}
    missing = [name for name in order if name not in done and name not in runs]
    if not unknown and not missing:
        return
    coming_task = next((name for name in following if name not in done), following[0] if following else None)
    if unknown:
        problem = f"continues with task `{unknown[0]}`, which the crew does not have"
    elif not following:
        problem = f"is done, and has no output of task `{missing[0]}`"
    elif missing[0] in following:
        problem = f"continues with task `{missing[0]}`, which now waits for other tasks"
    elif order.index(missing[0]) < min(map(order.index, following)):
        problem = f"continues with task `{coming_task}`, and has no output of task `{missing[0]}` before it"
    else:
        problem = f"continues with task `{coming_task}`, and would end without task `{missing[0]}`"
    place: PlainMapping = saved.config.get("configurable") or {}
    thread, first = str(place["thread_id"]), next((name for name in order if name not in done), None)
    fork = f"crew.fork({first!r}, thread_id={thread!r})" if can_fork and first is not None else None
    raise DefinitionChanged(
        f"the run of thread `{thread}` {problem}: the crew has changed since, and nothing was run. Resume with the "
        "tasks that the run began with (a task without a `name` is known by its description)"
        + (f", or run the others in a new thread: `{fork}`." if fork else ".")
    )
