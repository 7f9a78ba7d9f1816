"""What the graph's state holds of a run besides progress and flow state, and the names of executions and threads.

Runs inside methods have threads named `<the flow's thread>/<its run>/<the method's execution>/<number>`.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from crewgraph.compiler.flow.algebra import GraphState, Progress
from crewgraph.compiler.flow.record import TAG, VALUE
from crewgraph.definitions.flow.feedback import HumanFeedbackResult
from crewgraph.schema import PlainMapping, is_mapping

_FEEDBACK = HumanFeedbackResult.__qualname__


def of_run(values: GraphState, channel: str) -> Any:
    """Return the value of a channel if it belongs to this run; None if it is from an earlier run."""
    tagged: Mapping[str, object] | None = values.get(channel)
    return tagged["value"] if tagged and tagged["run"] == values["progress"]["run"] else None


def forked_values(values: GraphState, run: str) -> dict[str, object]:
    """Return what a fork takes over from its source run.

    Args:
        values: the state of the graph.
        run: its name.
    """
    progress = cast("Progress", {**values["progress"], "run": run})
    update: dict[str, object] = {"progress": progress}
    for channel in ("feedback", "outputs", "unsaved"):
        if (value := of_run(values, channel)) is not None:
            update[channel] = with_run(progress, value)
    saved: PlainMapping | None = values.get("saved")
    if saved is not None and saved["progress"]["run"] == values["progress"]["run"]:
        update["saved"] = {**saved, "progress": {**saved["progress"], "run": run}}
    return update


def with_run(progress: Progress, value: object) -> dict[str, object]:
    """Return the value of a channel with the run that it belongs to."""
    return {"run": progress["run"], "value": value}


def method_of(execution: str) -> str:
    """Return the method of an execution, given its id."""
    return execution.rpartition("#")[0]


def is_feedback(execution: str, result: object) -> bool:
    """Whether the result of an execution, in the form of checkpoints, is feedback on its output, and not passed on by it."""
    if not is_mapping(result):
        return False
    return str(result.get(TAG)).endswith(_FEEDBACK) and result[VALUE]["method_name"] == method_of(execution)


_INSIDE = re.compile(r"(?P<around>.+)/[0-9a-f]{12}/[^/]+#\d+/\d+", re.DOTALL)


def threads_of(thread_id: str, run: str, execution: str) -> str:
    """Return the prefix of the threads of runs inside an execution.

    Args:
        thread_id: the flow's thread.
        run: the id of its run, unique in the thread.
        execution: the execution's id.
    """
    return f"{thread_id}/{run}/{execution}/"


def enclosing_thread(thread_id: str) -> str | None:
    """Return the thread of the flow that encloses a run; None for a standalone run."""
    match = _INSIDE.fullmatch(thread_id)
    return None if match is None else match["around"]
