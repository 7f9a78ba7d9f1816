"""The past of crews: what a run did, step by step."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from crewgraph.compiler.crew.state import INPUTS
from crewgraph.compiler.task.binding import assignments
from crewgraph.core.operations import Program, adrive, drive
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.history import CrewStep
from crewgraph.definitions.run_options import Checkpointer
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.errors import StorageError
from crewgraph.runtime.place import saver_of
from crewgraph.runtime.runs import latest_run
from crewgraph.runtime.stored_run import StoredCrewRun, read_past

__all__ = ["Models", "ahistory", "history", "models_of", "output_of", "steps_of"]

Models = Mapping[str, type[BaseModel] | None]
"""The models of tasks' structures, by the tasks' channels."""


def history(crew: Crew, thread_id: str | None, checkpointer: Checkpointer) -> list[CrewStep]:
    """What a run did; see `Crew.history`."""
    return drive(_history(crew, thread_id, checkpointer))


async def ahistory(crew: Crew, thread_id: str | None, checkpointer: Checkpointer) -> list[CrewStep]:
    """What a run did; see `Crew.history`."""
    return await adrive(_history(crew, thread_id, checkpointer))


def _history(crew: Crew, thread_id: str | None, checkpointer: Checkpointer) -> Program[list[CrewStep]]:
    saver = saver_of(crew, checkpointer)
    if thread_id is None:
        thread_id = yield from latest_run(crew, saver)
    past = yield from read_past(saver, str(thread_id), crew)
    return list(steps_of(past, models_of(crew)))


def models_of(crew: Crew) -> Models:
    """The models that outputs in a crew's state are read with."""
    return {one.slug: one.task.output_pydantic for one in assignments(crew)}


def output_of(name: str, plain: Mapping[str, Any], models: Models, thread_id: str) -> TaskOutput:
    """An output that is kept.

    Raises:
        StorageError: it is not what a run writes.
    """
    try:
        return TaskOutput.from_plain(plain, models.get(name))
    except (ValidationError, TypeError) as error:
        raise StorageError(f"what thread `{thread_id}` holds as `{name}` is no output of that task: {error}") from error


def steps_of(past: Sequence[StoredCrewRun], models: Models) -> Iterator[CrewStep]:
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
