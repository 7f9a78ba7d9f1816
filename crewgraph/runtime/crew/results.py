"""Reads outputs and questions from the state of a crew's graph, finds tasks by name, and adds files to the inputs of a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Interrupt
from pydantic import ValidationError

from crewgraph.compiler.crew.state import INPUTS, TASK
from crewgraph.compiler.flow.running import RUNNING
from crewgraph.compiler.surroundings import RunNotes
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.files import FILES, files_in
from crewgraph.core.limits import SPENT
from crewgraph.core.operations import Program, blocking
from crewgraph.core.pregel import written_since_start
from crewgraph.core.questions import own_id
from crewgraph.definitions.crew.pending import CrewQuestion
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.definitions.task.task import TaskDefinition
from crewgraph.errors import RunError, StorageError, UnknownTask
from crewgraph.extensions import extension
from crewgraph.llm.usage import total
from crewgraph.schema import PlainDict, PlainMapping, is_mapping, is_sequence, trusted

_TIME = "%Y-%m-%d %H:%M:%S"


def crew_output(
    tasks: Sequence[TaskBinding],
    written: Mapping[str, object],
    thread_id: str | None,
    notes: RunNotes,
    planning: TaskBinding | None = None,
) -> CrewOutput:
    """Return the output of a crew, finished or not: that of the last task that was not skipped, and all task outputs.

    Args:
        tasks: the crew's tasks in order.
        written: the tasks' outputs as plain data, by channel.
        thread_id: the thread that the run is stored under.
        notes: notes on the tasks that ran in this process.
        planning: the planning task, if any; its output is set to the plan.
    """
    plan, last = None, None
    if planning is not None and planning.slug in written:
        plan = planning.task.output = output_of(planning, written[planning.slug], notes)
    outputs = [output_of(task, written[task.slug], notes) for task in tasks if task.slug in written]
    for output in outputs:
        if not output.was_skipped:
            last = output
    fields = {  # in the order of the fields, which is that of dumps
        "raw": "" if last is None else last.raw,
        "pydantic": None if last is None else last.pydantic,
        "json_dict": None if last is None else last.json_dict,
        "tasks_output": outputs,
        "plan": plan,
        "token_usage": total([output.usage for output in (outputs if plan is None else [plan, *outputs])]),
        "thread_id": thread_id,
    }
    return trusted(CrewOutput, fields)


def crew_question(interrupt: Interrupt) -> CrewQuestion:
    """Return the question that an interrupt of a crew's run asks."""
    return CrewQuestion.from_plain(own_id(interrupt) or interrupt.id, interrupt.value)


def written_so_far(saved: CheckpointTuple | None, written: Mapping[str, object]) -> dict[str, object]:
    """Return what the nodes of a run have written, by channel.

    Args:
        saved: its latest checkpoint.
        written: what they have written in this process.
    """
    if saved is None:
        return dict(written)
    pending = {channel: value for _, channel, value in saved.pending_writes or ()}
    return {**written_since_start(saved), **pending, **written}


def output_of(task: TaskBinding, stored: Any, notes: RunNotes) -> TaskOutput:
    """Return a task's output: the object that the task made; a new one if another process made it or the state was edited.

    Args:
        task: the task.
        stored: the value of its channel.
        notes: the notes of the run.

    Raises:
        TypeError: the value is not a mapping.
        pydantic.ValidationError: the value is not a task's output.
    """
    note = notes.tasks.get(task.slug)
    if note is None:
        return TaskOutput.from_plain(stored, task.task.output_pydantic)
    if note.output is not None and {**stored, TASK: None, SPENT: None} == {
        **(note.plain or {}),
        TASK: None,
        SPENT: None,
    }:
        return note.output  # without what was added to it in the state
    output = TaskOutput.from_plain(stored, task.task.output_pydantic)
    output.messages = note.messages
    return output


def execution_logs(
    tasks: Sequence[TaskBinding], written: PlainMapping, inputs: Inputs, notes: RunNotes
) -> list[dict[str, object]]:
    """Return an entry for each task with an output; `was_replayed` is true for outputs from before the run was resumed."""
    return [
        {
            "task_id": str(task.task.id),
            "task_name": task.task.name,
            "expected_output": written[task.slug].get("expected_output"),
            "output": written[task.slug],
            "task_index": index,
            "inputs": dict(inputs),
            "was_replayed": task.slug not in notes.tasks,
            "timestamp": notes.tasks[task.slug].ended.strftime(_TIME) if task.slug in notes.tasks else None,
        }
        for index, task in enumerate(tasks)
        if task.slug in written
    ]


def check_stored(tasks: Sequence[TaskBinding], values: PlainMapping, thread_id: str | None) -> None:
    """Check the contents of a checkpoint before using them.

    Raises:
        StorageError: something in it is not what a run wrote.
    """
    channel = INPUTS
    try:
        if not isinstance(values.get(INPUTS, {}), Mapping):
            raise TypeError("it is not a dict of names and values")
        for task in tasks:
            channel = task.slug
            if channel in values:
                TaskOutput.from_plain(values[channel], task.task.output_pydantic)
    except (ValidationError, TypeError) as error:
        raise StorageError(
            f"thread `{thread_id}` holds a value of `{channel}` that no run of this crew writes, so nothing was run: {error}. "
            "If the state was edited, store whole outputs (`TaskOutput(...).to_plain()`); if the crew was, start a new run."
        ) from error


def task_index(reference: object, tasks: Sequence[TaskBinding], outputs: Mapping[str, Mapping[str, object]]) -> int:
    """Return the index of a task in its crew.

    Args:
        reference: the task itself; its node name, id, name or key; its index, also as text; or the id or key that it had in
            the stored run.
        tasks: the crew's tasks.
        outputs: the stored run's task outputs as plain data, by node name.

    Raises:
        UnknownTask: no task or several tasks match; the message lists the tasks.
        TypeError: the reference has an unsupported type.
    """
    if isinstance(reference, TaskDefinition):
        matches = [index for index, task in enumerate(tasks) if task.task is reference]
        return _single_match(matches, f"task `{reference.name or reference.description:.60}`", tasks)
    if isinstance(reference, bool) or not isinstance(reference, (str, UUID, int)):
        raise TypeError(f"{reference!r:.80} does not name a task; pass its id, name, key or number, or the task itself")
    if isinstance(reference, int):
        return _single_match([reference] if 0 <= reference < len(tasks) else [], f"task number {reference}", tasks)
    name = str(reference).strip()
    if not name:
        raise UnknownTask(f"no task was named. {_task_list(tasks)}")
    for names in _names_of_tasks(outputs):
        if matches := [index for index, task in enumerate(tasks) if name in names(task)]:
            return _single_match(matches, f"task `{name}`", tasks)
    if name.isdecimal() and int(name) < len(tasks):
        return int(name)
    return _single_match([], f"task `{name:.80}`", tasks)


def _names_of_tasks(outputs: Mapping[str, PlainMapping]) -> Iterator[Callable[[TaskBinding], Sequence[object]]]:
    """Yield functions that return the names of a task, most specific kind first."""

    def stored(task: TaskBinding, key: str) -> object:
        labels: PlainDict = outputs.get(task.slug, {}).get(TASK) or {}
        return labels.get(key)

    yield lambda task: (task.slug,)
    yield lambda task: (str(task.task.id), task.task.id.hex)
    yield lambda task: (stored(task, "id"),)
    yield lambda task: (task.task.name,)
    yield lambda task: (task.task.key, stored(task, "key"))


def _single_match(matches: Sequence[int], subject: str, tasks: Sequence[TaskBinding]) -> int:
    if len(matches) == 1:
        return matches[0]
    problem = "matches several of the crew's tasks" if matches else "matches none of the crew's tasks"
    raise UnknownTask(f"{subject} {problem}. {_task_list(tasks)}")


def _task_list(tasks: Sequence[TaskBinding]) -> str:
    lines = "\n".join(
        f"  {index}. {task.slug}  id {task.task.id}  key {task.task.key}" for index, task in enumerate(tasks)
    )
    return f"Pass the name, id, key or number of one of:\n{lines}"


def recorded_files(files: object) -> Program[dict[str, object]]:
    """Return the records of files as an input; empty without files.

    Raises:
        ValueError: a value is not a file, or the file does not exist.
        FileTooLargeError: a file exceeds the size limit.
    """
    if not files:
        return {}
    return {FILES: (yield blocking(lambda: extension("files.record")(extension("files.read")(files))))}


class _UnrecordedFiles(dict[str, object]):
    """Files among the inputs, before the run has recorded them."""


def with_files(inputs: Inputs | None, files: object) -> Mapping[str, object] | None:
    """Return the inputs with files added; without files, with those of the enclosing flow.

    Raises:
        RunError: another input already has the name reserved for files.
        ValueError: a value is not a file, or the file does not exist.
        FileTooLargeError: a file exceeds the size limit.
    """
    if not files:
        method = RUNNING.get()
        flow_files = files_in(method.run.inputs) if method is not None else {}
        return {**(inputs or {}), FILES: flow_files} if flow_files and FILES not in (inputs or {}) else inputs
    if inputs and FILES in inputs:
        raise RunError(
            f"an input is named `{FILES}`, but files are passed, too, and stored under this name; rename the input"
        )
    return {**(inputs or {}), FILES: _UnrecordedFiles(extension("files.read")(files))}


def all_with_files(inputs: Any, files: object) -> Any:
    """Return the inputs of several runs with the same files added to each; other values stay unchanged."""
    if not files or not is_sequence(inputs):
        return inputs
    records = extension("files.read")(files)
    return [with_files(item, records) if is_mapping(item) else item for item in inputs]


def split_files(inputs: Inputs) -> tuple[dict[str, object], object]:
    """Return the inputs without files, and the unrecorded files."""
    files: object = inputs.get(FILES)
    if isinstance(files, _UnrecordedFiles):
        return without_files(inputs), files
    return dict(inputs), None


def without_files(inputs: Inputs) -> dict[str, object]:
    """Return the inputs without files."""
    has_files = isinstance(inputs.get(FILES), _UnrecordedFiles) or files_in(inputs)
    return {name: value for name, value in inputs.items() if not has_files or name != FILES}
