"""The past of crews: what a run did, step by step.

Two runs beside each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from crewgraph.compiler.crew.state import INPUTS
from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.history import CrewStep, RunDiff, TaskDiff
from crewgraph.definitions.run_options import Checkpointer, Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.errors import StorageError
from crewgraph.runtime.run_target import saver_of
from crewgraph.runtime.runs.index import latest_run
from crewgraph.runtime.runs.stored_run import StoredCrewRun, read_past

__all__ = [
    "Models",
    "adiff_runs",
    "aread_crew_history",
    "between",
    "crew_steps",
    "diff_runs",
    "models_of",
    "output_of",
    "read_crew_history",
]


Models = Mapping[str, type[BaseModel] | None]
"""The models of tasks' structures, by the tasks' channels."""


def read_crew_history(crew: Crew, thread_id: str | None, checkpointer: Checkpointer) -> list[CrewStep]:
    """What a run did; see `Crew.history`."""
    return drive(_history(crew, thread_id, checkpointer))


async def aread_crew_history(crew: Crew, thread_id: str | None, checkpointer: Checkpointer) -> list[CrewStep]:
    """What a run did; see `Crew.history`."""
    return await adrive(_history(crew, thread_id, checkpointer))


def _history(crew: Crew, thread_id: str | None, checkpointer: Checkpointer) -> Program[list[CrewStep]]:
    saver = saver_of(crew, checkpointer)
    if thread_id is None:
        thread_id = yield from latest_run(crew, saver)
    past = yield from read_past(saver, str(thread_id), crew)
    return list(crew_steps(past, models_of(crew)))


def models_of(crew: Crew) -> Models:
    """The models that outputs in a crew's state are read with."""
    return {one.slug: one.task.output_pydantic for one in bind_tasks(crew)}


def output_of(name: str, plain: Mapping[str, object], models: Models, thread_id: str) -> TaskOutput:
    """An output that is kept.

    Raises:
        StorageError: it is not what a run writes.
    """
    try:
        return TaskOutput.from_plain(plain, models.get(name))
    except (ValidationError, TypeError) as error:
        raise StorageError(f"what thread `{thread_id}` holds as `{name}` is no output of that task: {error}") from error


def crew_steps(past: Sequence[StoredCrewRun], models: Models) -> Iterator[CrewStep]:
    """The steps of a run.

    Args:
        past: the run as of all of its checkpoints, the latest last.
        models: what structures are read with.
    """
    number, before, outputs = 0, None, dict[str, TaskOutput]()
    order = {name: n for n, name in enumerate(models)}
    for now in past:
        new = [name for name in now.outputs if before is None or now.version(name) != before.version(name)]
        edited = before is not None and now.version(INPUTS) != before.version(INPUTS)
        if before is not None and not new and not edited:
            before = now
            continue  # branches met, and nothing was completed
        before = now
        outputs = {name: outputs[name] for name in now.outputs if name not in new} | {
            name: output_of(name, now.outputs[name], models, now.thread_id) for name in new
        }
        yield CrewStep(
            number=number,
            thread_id=now.thread_id,
            checkpoint_id=now.checkpoint_id,
            completed=new[-1] if new else None,
            output=outputs[new[-1]] if new else None,
            tasks=tuple(new),
            outputs=MappingProxyType(outputs),
            inputs=MappingProxyType(now.inputs),
            next=tuple(sorted(now.next, key=lambda name: order.get(name, 0))),
            created_at=now.created_at,
            inside=now.inside,
            forked_from=now.forked_from,
        )
        number += 1


def diff_runs(crew: Crew, a: str | CrewOutput, b: str | CrewOutput, checkpointer: Checkpointer) -> RunDiff:
    """What differs between two runs; see `Crew.diff`."""
    return drive(_diff(crew, a, b, checkpointer))


async def adiff_runs(crew: Crew, a: str | CrewOutput, b: str | CrewOutput, checkpointer: Checkpointer) -> RunDiff:
    """What differs between two runs; see `Crew.diff`."""
    return await adrive(_diff(crew, a, b, checkpointer))


@dataclass(frozen=True)
class _Side:
    """One of the runs."""

    thread_id: str | None
    inputs: Inputs | None
    outputs: Mapping[str, TaskOutput]
    seconds: Mapping[str, float]


def _diff(crew: Crew, a: object, b: object, checkpointer: Checkpointer) -> Program[RunDiff]:
    models = models_of(crew)
    sides: list[_Side] = []
    for one in (a, b):
        if isinstance(one, CrewOutput) and one.thread_id is None:
            sides.append(_Side(None, None, dict(zip(models, one.tasks_output, strict=False)), {}))
        else:
            thread_id = one.thread_id if isinstance(one, CrewOutput) else one
            sides.append((yield from _side(saver_of(crew, checkpointer), _named(thread_id), models, crew)))
    return _compared(*sides)


def between(saver: object, a: str, b: str) -> RunDiff:
    """What differs between two runs, without their crew: structures are not read, outputs are compared as they are kept."""
    return drive(_between(saver, a, b))


def _between(saver: object, a: str, b: str) -> Program[RunDiff]:
    first = yield from _side(saver, _named(a), {}, None)
    return _compared(first, (yield from _side(saver, _named(b), {}, None)))


def _named(thread_id: object) -> str:
    if not isinstance(thread_id, (str, int)) or isinstance(thread_id, bool) or thread_id == "":
        raise TypeError(f"{thread_id!r:.80} is no run; give its `thread_id` or its `CrewOutput`")
    return str(thread_id)


def _side(saver: object, thread_id: str, models: Models, crew: Crew | None) -> Program[_Side]:
    past = yield from read_past(saver, thread_id, crew)
    latest = past[-1]
    outputs = {name: output_of(name, plain, models, thread_id) for name, plain in latest.finished.items()}
    order = [name for name in models if name in outputs]
    return _Side(
        thread_id,
        latest.inputs,
        {name: outputs[name] for name in dict.fromkeys([*order, *outputs])},
        _seconds(list(crew_steps(past, models))),
    )


def _seconds(steps: Sequence[CrewStep]) -> dict[str, float]:
    """How long the tasks of each step took."""
    return {
        name: (now.created_at - before.created_at).total_seconds()
        for before, now in pairwise(steps)
        for name in now.tasks
    }


def _compared(a: _Side, b: _Side) -> RunDiff:
    given: dict[str, tuple[object, Any]] = {}
    if a.inputs is not None and b.inputs is not None:
        both = ((name, (a.inputs.get(name), b.inputs.get(name))) for name in dict.fromkeys([*a.inputs, *b.inputs]))
        given = {name: values for name, values in both if values[0] != values[1]}
    return RunDiff(
        a=a.thread_id,
        b=b.thread_id,
        inputs=given,
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
