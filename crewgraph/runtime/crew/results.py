"""From the state of a graph to the output that users get; tasks by their names; the input files of a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from langgraph.checkpoint.base import CheckpointTuple
from pydantic import ValidationError

from crewgraph.compiler.crew.state import TASK
from crewgraph.compiler.flow.running import RUNNING
from crewgraph.compiler.task.binding import INPUTS, TaskBinding
from crewgraph.compiler.task.events import RunNotes
from crewgraph.core.files import FILES, FileRecord, files_in
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation, Program
from crewgraph.core.pregel import written_since_start
from crewgraph.definitions.run_options import Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.definitions.task.task import Task
from crewgraph.errors import OutputInvalid, RunError, StorageError, UnknownTask
from crewgraph.extensions import extension
from crewgraph.llm.usage import total
from crewgraph.schema import trusted

__all__ = [
    "check_stored",
    "crew_output",
    "each_with_files",
    "execution_logs",
    "inputs_alone",
    "noted_files",
    "parted",
    "partial_output",
    "task_index",
    "with_files",
    "written_so_far",
]


_TIME = "%Y-%m-%d %H:%M:%S"


def crew_output(
    tasks: Sequence[TaskBinding],
    written: Mapping[str, object],
    thread_id: str | None,
    notes: RunNotes,
    planning: TaskBinding | None = None,
) -> CrewOutput:
    """Return the output of a crew: that of the last task with a text, and all task outputs.

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
    tasks: Sequence[TaskBinding],
    written: Mapping[str, object],
    thread_id: str | None,
    notes: RunNotes,
    planning: TaskBinding | None = None,
) -> CrewOutput:
    """Return the output of an unfinished run: the finished tasks, if any; see `crew_output`."""
    outputs, plan = _outputs(tasks, planning, written, notes)
    return _joined(outputs, plan, thread_id)


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


def _outputs(
    tasks: Sequence[TaskBinding], planning: TaskBinding | None, written: Mapping[str, object], notes: RunNotes
) -> tuple[list[TaskOutput], TaskOutput | None]:
    """Return the task outputs and the plan."""
    plan = None
    if planning is not None and planning.slug in written:
        plan = planning.task.output = _output(planning, written, notes)
    return [_output(task, written, notes) for task in tasks if task.slug in written], plan


def _joined(outputs: list[TaskOutput], plan: TaskOutput | None, thread_id: str | None) -> CrewOutput:
    last = next((output for output in reversed(outputs) if output.raw), None)
    fields = {  # in the order of the fields, which is that of dumps
        "raw": last.raw if last else "",
        "pydantic": last.pydantic if last else None,
        "json_dict": last.json_dict if last else None,
        "tasks_output": outputs,
        "plan": plan,
        "token_usage": total(output.usage for output in (outputs if plan is None else [plan, *outputs])),
        "thread_id": thread_id,
    }
    return trusted(CrewOutput, fields)


def _output(one: TaskBinding, written: Mapping[str, Any], notes: RunNotes) -> TaskOutput:
    output = TaskOutput.from_plain(written[one.slug], one.task.output_pydantic)
    if one.slug in notes.tasks:
        output.messages = notes.tasks[one.slug].messages
    return output


def execution_logs(
    tasks: Sequence[TaskBinding], written: Mapping[str, Any], inputs: Inputs, notes: RunNotes
) -> list[dict[str, object]]:
    """Return an entry for each task with an output; `was_replayed` is true for outputs from before the run was resumed."""
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


def check_stored(tasks: Sequence[TaskBinding], values: Mapping[str, Any], thread_id: str | None) -> None:
    """Check what a checkpoint holds, before anything is built on it.

    Raises:
        StorageError: something in it is not what a run wrote.
    """
    at = INPUTS
    try:
        if not isinstance(values.get(INPUTS, {}), Mapping):
            raise TypeError("it is no dict of names and values")
        for task in tasks:
            at = task.slug
            if at in values:
                TaskOutput.from_plain(values[at], task.task.output_pydantic)
    except (ValidationError, TypeError) as error:
        raise StorageError(
            f"what thread `{thread_id}` holds as `{at}` is not what a run of this crew writes, so nothing was run: {error}. If "
            "the state was edited, give whole outputs (`TaskOutput(...).to_plain()`); if the crew was, start a new run."
        ) from error


def task_index(wanted: object, tasks: Sequence[TaskBinding], outputs: Mapping[str, Mapping[str, object]]) -> int:
    """Return the index of a task in its crew.

    Args:
        wanted: the task itself; its name in the graph, its id, name or key; its place, also as a text; the id or the key that
            it had when a run was made.
        tasks: the crew's tasks.
        outputs: what that run's tasks gave, as plain data, by their names in the graph.

    Raises:
        UnknownTask: there is no such task, or there are several; says which there are.
        TypeError: it is nothing that names a task.
    """
    if isinstance(wanted, Task):
        found = [n for n, one in enumerate(tasks) if one.task is wanted]
        return _only(found, f"task `{wanted.name or wanted.description:.60}`", tasks)
    if isinstance(wanted, bool) or not isinstance(wanted, (str, UUID, int)):
        raise TypeError(f"{wanted!r:.80} names no task; give its id, name or key, its place, or the task")
    if isinstance(wanted, int):
        return _only([wanted] if 0 <= wanted < len(tasks) else [], f"task number {wanted}", tasks)
    name = str(wanted).strip()
    if not name:
        raise UnknownTask(f"no task was named. {_listed(tasks)}")
    for names in _ways(outputs):
        if found := [n for n, one in enumerate(tasks) if name in names(one)]:
            return _only(found, f"task `{name}`", tasks)
    if name.isdecimal() and int(name) < len(tasks):
        return int(name)
    return _only([], f"task `{name:.80}`", tasks)


def _ways(outputs: Mapping[str, Mapping[str, Any]]) -> Iterator[Callable[[TaskBinding], Sequence[object]]]:
    """The kinds of names of a task, most specific first."""

    def then(one: TaskBinding, what: str) -> object:
        told: Mapping[str, Any] = outputs.get(one.slug, {}).get(TASK) or {}
        return told.get(what)

    yield lambda one: (one.slug,)
    yield lambda one: (str(one.task.id), one.task.id.hex)
    yield lambda one: (then(one, "id"),)
    yield lambda one: (one.task.name,)
    yield lambda one: (one.task.key, then(one, "key"))


def _only(found: Sequence[int], what: str, tasks: Sequence[TaskBinding]) -> int:
    if len(found) == 1:
        return found[0]
    told = "is several of the crew's tasks" if found else "is none of the crew's tasks"
    raise UnknownTask(f"{what} {told}. {_listed(tasks)}")


def _listed(tasks: Sequence[TaskBinding]) -> str:
    lines = "\n".join(f"  {n}. {one.slug}  id {one.task.id}  key {one.task.key}" for n, one in enumerate(tasks))
    return f"Give a name, an id, a key or a number of:\n{lines}"


class _Note(Operation):
    """Reads files, and says by what they are known again."""

    def __init__(self, given: object) -> None:
        self._given = given

    def run(self) -> dict[str, FileRecord]:
        return extension("files.record")(extension("files.read")(self._given))

    async def arun(self) -> dict[str, FileRecord]:
        return await in_thread(self.run)


def noted_files(given: object) -> Program[dict[str, object]]:
    """Files as a run keeps them, under the name that its inputs have for them; nothing where there are none.

    Raises:
        ValueError: something is no file, or is not there.
        FileTooLargeError: one is larger than it may be.
    """
    if not given:
        return {}
    return {FILES: (yield _Note(given))}


class _Given(dict[str, Any]):
    """Files among inputs, until the run notes them."""


def with_files(inputs: Inputs | None, files: Any) -> Mapping[str, object] | None:
    """Inputs with files among them; where none are given, with those of the flow around.

    Raises:
        RunError: there is an input of their name.
        ValueError: something is no file, or is not there.
        FileTooLargeError: one is larger than it may be.
    """
    if not files:
        around = RUNNING.get()
        of_flow = files_in(around.run.inputs) if around is not None else {}
        return {**(inputs or {}), FILES: of_flow} if of_flow and FILES not in (inputs or {}) else inputs
    if inputs and FILES in inputs:
        raise RunError(f"there is an input named `{FILES}`, and files are given, too, which are kept under this name")
    return {**(inputs or {}), FILES: _Given(extension("files.read")(files))}


def each_with_files(inputs: Any, files: object) -> Any:
    """Inputs of several runs, each with the same files among them; what are no inputs stays as it is."""
    if not files or not isinstance(inputs, list | tuple):
        return inputs
    given = extension("files.read")(files)
    return [_one_with_files(item, given) for item in cast("list[Any]", inputs)]


def _one_with_files(inputs: Any, files: object) -> object:
    return with_files(cast("Mapping[str, Any]", inputs), files) if isinstance(inputs, Mapping) else inputs


def parted(inputs: Inputs) -> tuple[dict[str, object], object]:
    """Inputs, and the files that stood among them."""
    found: object = inputs.get(FILES)
    if isinstance(found, _Given):
        return inputs_alone(inputs), found
    return dict(inputs), None


def inputs_alone(inputs: Inputs) -> dict[str, object]:
    """Inputs without files."""
    has = isinstance(inputs.get(FILES), _Given) or files_in(inputs)
    return {name: value for name, value in inputs.items() if not has or name != FILES}
