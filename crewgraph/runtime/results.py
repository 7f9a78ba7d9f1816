"""From what the nodes wrote to what the user gets."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from pydantic import ValidationError

from crewgraph.compiler.assignment import INPUTS, Assignment
from crewgraph.compiler.notes import RunNotes
from crewgraph.core.pregel import written_since_start
from crewgraph.definitions.output import CrewOutput, TaskOutput
from crewgraph.errors import OutputInvalid, StorageError
from crewgraph.llm.usage import total

__all__ = ["check_stored", "crew_output", "execution_logs", "partial_output", "written_so_far"]

_TIME = "%Y-%m-%d %H:%M:%S"


def crew_output(
    tasks: Sequence[Assignment],
    written: Mapping[str, Any],
    thread_id: str | None,
    notes: RunNotes,
    planning: Assignment | None = None,
) -> CrewOutput:
    """The output of a crew: that of its last task that gave a text, and all of them.

    Args:
        tasks: the crew's tasks in order.
        written: the tasks' outputs as plain data, by channel.
        thread_id: the thread the run is kept under.
        notes: what else is known of those that were done in this process.
        planning: the task that made the plan for them, which shows it from now on.

    Raises:
        OutputInvalid: no task gave a text.
    """
    outputs, plan = _outputs(tasks, planning, written, notes)
    if not any(output.raw for output in outputs):
        raise OutputInvalid(
            f"none of the crew's {len(tasks)} tasks gave an output; look at the conditions that skipped them and at what the "
            "models replied."
        )
    return _joined(outputs, plan, thread_id)


def partial_output(
    tasks: Sequence[Assignment],
    written: Mapping[str, Any],
    thread_id: str | None,
    notes: RunNotes,
    planning: Assignment | None = None,
) -> CrewOutput:
    """The output of a run that has not come to its end: the tasks that are done, if any; see `crew_output`."""
    outputs, plan = _outputs(tasks, planning, written, notes)
    return _joined(outputs, plan, thread_id)


def written_so_far(saved: CheckpointTuple | None, written: Mapping[str, Any]) -> dict[str, Any]:
    """What the nodes of a run have written, by channel.

    Args:
        saved: its latest checkpoint.
        written: what they have written in this process.
    """
    if saved is None:
        return dict(written)
    pending = {channel: value for _, channel, value in saved.pending_writes or ()}
    return {**written_since_start(saved), **pending, **written}


def _outputs(
    tasks: Sequence[Assignment], planning: Assignment | None, written: Mapping[str, Any], notes: RunNotes
) -> tuple[list[TaskOutput], TaskOutput | None]:
    """What the tasks gave, and the plan."""
    plan = None
    if planning is not None and planning.slug in written:
        plan = planning.task.output = _output(planning, written, notes)
    return [_output(one, written, notes) for one in tasks if one.slug in written], plan


def _joined(outputs: list[TaskOutput], plan: TaskOutput | None, thread_id: str | None) -> CrewOutput:
    last = next((output for output in reversed(outputs) if output.raw), None)
    return CrewOutput(
        raw=last.raw if last else "",
        pydantic=last.pydantic if last else None,
        json_dict=last.json_dict if last else None,
        tasks_output=outputs,
        plan=plan,
        token_usage=total(output.usage for output in (outputs if plan is None else [plan, *outputs])),
        thread_id=thread_id,
    )


def _output(one: Assignment, written: Mapping[str, Any], notes: RunNotes) -> TaskOutput:
    output = TaskOutput.from_plain(written[one.slug], one.task.output_pydantic)
    if one.slug in notes.tasks:
        output.messages = notes.tasks[one.slug].messages
    return output


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
