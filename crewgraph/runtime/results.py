"""From what the nodes wrote to what the user gets."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from crewgraph.compiler.assignment import INPUTS, Assignment
from crewgraph.compiler.notes import RunNotes
from crewgraph.definitions.output import CrewOutput, TaskOutput
from crewgraph.errors import OutputInvalid, StorageError
from crewgraph.llm.usage import UsageMetrics

__all__ = ["check_stored", "crew_output", "execution_logs", "outputs_so_far"]

_TIME = "%Y-%m-%d %H:%M:%S"


def crew_output(
    tasks: Sequence[Assignment], written: Mapping[str, Any], thread_id: str | None, notes: RunNotes
) -> CrewOutput:
    """The output of a crew: that of its last task that gave a text, and all of them.

    Args:
        tasks: the crew's tasks in order.
        written: the tasks' outputs as plain data, by channel.
        thread_id: the thread the run is kept under.
        notes: what else is known of those that were done in this process.

    Raises:
        OutputInvalid: no task gave a text.
    """
    outputs, usage = outputs_so_far(tasks, written, notes)
    last = next((output for output in reversed(outputs) if output.raw), None)
    if last is None:
        raise OutputInvalid(
            f"none of the crew's {len(tasks)} tasks gave an output; look at the conditions that skipped them and at what the "
            "models replied."
        )
    return CrewOutput(
        raw=last.raw,
        pydantic=last.pydantic,
        json_dict=last.json_dict,
        tasks_output=outputs,
        token_usage=usage,
        thread_id=thread_id,
    )


def outputs_so_far(
    tasks: Sequence[Assignment], written: Mapping[str, Any], notes: RunNotes
) -> tuple[list[TaskOutput], UsageMetrics]:
    """The outputs that there are, in the order of the tasks, and what the models reported for them."""
    outputs: list[TaskOutput] = []
    usage = UsageMetrics()
    for one in tasks:
        if one.slug in written:
            outputs.append(TaskOutput.from_plain(written[one.slug], one.task.output_pydantic))
            usage.add_usage_metrics(outputs[-1].usage)
            if one.slug in notes.tasks:
                outputs[-1].messages = notes.tasks[one.slug].messages
    return outputs, usage


def execution_logs(
    tasks: Sequence[Assignment], written: Mapping[str, Any], inputs: Mapping[str, Any], notes: RunNotes
) -> list[dict[str, Any]]:
    """An entry for each task that has an output: `was_replayed` says that it was kept from before the run was resumed."""
    return [
        {
            "task_id": str(one.task.id),
            "task_name": one.task.name,
            "expected_output": written[one.slug].get("expected_output"),
            "output": written[one.slug],
            "task_index": index,
            "inputs": dict(inputs),
            "was_replayed": one.slug not in notes.tasks,
            "timestamp": notes.tasks[one.slug].ended.strftime(_TIME) if one.slug in notes.tasks else None,
        }
        for index, one in enumerate(tasks)
        if one.slug in written
    ]


def check_stored(tasks: Sequence[Assignment], values: Mapping[str, Any], thread_id: str | None) -> None:
    """Check what a checkpoint holds, before anything is built on it.

    Raises:
        StorageError: something in it is not what a run wrote.
    """
    at = INPUTS
    try:
        if not isinstance(values.get(INPUTS, {}), Mapping):
            raise TypeError("it is no dict of names and values")
        for one in tasks:
            at = one.slug
            if at in values:
                TaskOutput.from_plain(values[at], one.task.output_pydantic)
    except (ValidationError, TypeError) as error:
        raise StorageError(
            f"what thread `{thread_id}` holds as `{at}` is not what a run of this crew writes, so nothing was run: {error}. If "
            "the state was edited, give whole outputs (`TaskOutput(...).to_plain()`); if the crew was, start a new run."
        ) from error
