"""Outputs of tasks as one text."""

from collections.abc import Iterable
from typing import Any, Final, cast

from crewgraph.definitions.task.output import TaskOutput
from crewgraph.definitions.task.task import Task
from crewgraph_compat.stand_ins.constants import Unspecified

__all__ = ["DIVIDERS", "aggregate_raw_outputs_from_task_outputs", "aggregate_raw_outputs_from_tasks"]

DIVIDERS: Final = "\n\n----------\n\n"
"""Stands between two outputs."""


def aggregate_raw_outputs_from_task_outputs(task_outputs: Iterable[TaskOutput]) -> str:
    """The raw texts of outputs, one after the other."""
    return DIVIDERS.join(output.raw for output in task_outputs)


def aggregate_raw_outputs_from_tasks(tasks: Iterable[Task] | Unspecified) -> str:
    """The raw texts of the outputs that tasks have."""
    if isinstance(tasks, Unspecified):
        return ""
    outputs = (cast("Any", task.output) for task in tasks)
    return aggregate_raw_outputs_from_task_outputs(output for output in outputs if output is not None)
