"""Histories of crew runs: the steps of a run, and the differences between two runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from pydantic import BaseModel, ValidationError

from crewgraph.compiler.crew.state import INPUTS
from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.core.operations import Program, drive
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.history import CrewStep, CrewSteps, RunDiff, TaskDiff
from crewgraph.definitions.run_options import Checkpointer, Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.errors import StorageError
from crewgraph.runtime.runs.index import latest_run
from crewgraph.runtime.runs.storage import saver_of
from crewgraph.runtime.runs.stored_run import StoredCrewRun, read_past

Models = Mapping[str, type[BaseModel] | None]
"""The models of the tasks' structured outputs, by channel; None for text."""


def history_program(crew: CrewDefinition, thread_id: str | None, checkpointer: Checkpointer) -> Program[CrewSteps]:
    """Return the steps of a run; see `Crew.history`."""
    saver = saver_of(crew, checkpointer)
    if thread_id is None:
        thread_id = yield from latest_run(crew, saver)
    past = yield from read_past(saver, str(thread_id), crew)
    return CrewSteps(crew_steps(past, output_models(crew)))


def output_models(crew: CrewDefinition) -> Models:
    """Return the models for reading the outputs in a crew's state."""
    return {binding.slug: binding.task.output_pydantic for binding in bind_tasks(crew)}


def restore_output(name: str, plain: Mapping[str, object], models: Models, thread_id: str) -> TaskOutput:
    """Return a stored output.

    Raises:
        StorageError: the stored data are not an output of the task.
    """
    try:
        return TaskOutput.from_plain(plain, models.get(name))
    except (ValidationError, TypeError) as error:
        raise StorageError(
            f"the value that thread `{thread_id}` holds as `{name}` is not an output of that task: {error}"
        ) from error


def crew_steps(past: Sequence[StoredCrewRun], models: Models) -> Iterator[CrewStep]:
    """Yield the steps of a run.

    Args:
        past: the run as of each of its checkpoints, oldest first.
        models: the models of structured outputs.
    """
    number, previous, outputs = 0, None, dict[str, TaskOutput]()
    order = {name: n for n, name in enumerate(models)}
    for current in past:
        new = [name for name in current.outputs if previous is None or current.version(name) != previous.version(name)]
        edited = previous is not None and current.version(INPUTS) != previous.version(INPUTS)
        if previous is not None and not new and not edited:
            previous = current
            continue  # parallel tasks were joined, and none completed
        previous = current
        outputs = {name: outputs[name] for name in current.outputs if name not in new} | {
            name: restore_output(name, current.outputs[name], models, current.thread_id) for name in new
        }
        yield CrewStep(
            number=number,
            thread_id=current.thread_id,
            checkpoint_id=current.checkpoint_id,
            completed=new[-1] if new else None,
            output=outputs[new[-1]] if new else None,
            tasks=tuple(new),
            outputs=MappingProxyType(outputs),
            inputs=MappingProxyType(current.inputs),
            next=tuple(sorted(current.next, key=lambda name: order.get(name, 0))),
            created_at=current.created_at,
            errors=MappingProxyType(current.errors),
            waits=current.waits,
            finished=MappingProxyType(
                {
                    name: restore_output(name, plain, models, current.thread_id)
                    for name, plain in current.finished_since.items()
                    if name in current.next
                }
            ),
            inside=current.inside,
            forked_from=current.forked_from,
        )
        number += 1


@dataclass(frozen=True)
class _ComparedRun:
    thread_id: str | None
    inputs: Inputs | None
    outputs: Mapping[str, TaskOutput]
    seconds: Mapping[str, float]


def diff_program(
    crew: CrewDefinition, a: str | CrewOutput, b: str | CrewOutput, checkpointer: Checkpointer
) -> Program[RunDiff]:
    """Compare two runs; see `Crew.diff`."""
    models = output_models(crew)
    runs: list[_ComparedRun] = []
    for run in (a, b):
        if isinstance(run, CrewOutput) and run.thread_id is None:
            runs.append(_ComparedRun(None, None, dict(zip(models, run.tasks_output, strict=False)), {}))
        else:
            thread_id = run.thread_id if isinstance(run, CrewOutput) else run
            runs.append((yield from _read_side(saver_of(crew, checkpointer), thread_id, models, crew)))
    return _compare(*runs)


def diff_stored_runs(saver: object, a: str, b: str) -> RunDiff:
    """Compare two runs without their crew: structured outputs are not parsed."""
    return _compare(*(drive(_read_side(saver, thread_id, {}, None)) for thread_id in (a, b)))


def _read_side(saver: object, run: object, models: Models, crew: CrewDefinition | None) -> Program[_ComparedRun]:
    if not isinstance(run, (str, int)) or isinstance(run, bool) or run == "":
        raise TypeError(f"{run!r:.80} is not a run; pass its `thread_id` or its `CrewOutput`")
    thread_id = str(run)
    past = yield from read_past(saver, thread_id, crew)
    latest = past[-1]
    outputs = {name: restore_output(name, plain, models, thread_id) for name, plain in latest.finished.items()}
    order = [name for name in models if name in outputs]
    return _ComparedRun(
        thread_id,
        latest.inputs,
        {name: outputs[name] for name in dict.fromkeys([*order, *outputs])},
        _seconds_of_step(list(crew_steps(past, models))),
    )


def _seconds_of_step(steps: Sequence[CrewStep]) -> dict[str, float]:
    """Return the seconds between the step of each task and the step before it."""
    return {
        name: (current.created_at - previous.created_at).total_seconds()
        for previous, current in pairwise(steps)
        for name in current.tasks
    }


def _compare(a: _ComparedRun, b: _ComparedRun) -> RunDiff:
    inputs: dict[str, tuple[object, object]] = {}
    if a.inputs is not None and b.inputs is not None:
        pairs = ((name, (a.inputs.get(name), b.inputs.get(name))) for name in dict.fromkeys([*a.inputs, *b.inputs]))
        inputs = {name: values for name, values in pairs if values[0] != values[1]}
    return RunDiff(
        a=a.thread_id,
        b=b.thread_id,
        inputs=inputs,
        tasks=tuple(
            TaskDiff(
                task=name,
                a=a.outputs.get(name),
                b=b.outputs.get(name),
                seconds_a=a.seconds.get(name),
                seconds_b=b.seconds.get(name),
            )
            for name in dict.fromkeys([*a.outputs, *b.outputs])
        ),
    )
