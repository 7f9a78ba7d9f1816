"""Other ways from a point in the past of a crew's run: forks and replays, each a run with a thread of its own.

Outputs that somebody gives in the place of a task's work.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast

from langgraph.types import Command, StateUpdate
from pydantic import ValidationError

from crewgraph.compiler.crew.graph import parallel_group
from crewgraph.compiler.crew.state import INPUTS, PLANNING
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.operations import Program, Saving, adrive, drive
from crewgraph.core.resources import RunResources
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.history import CrewStep
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.definitions.crew.validation import title
from crewgraph.definitions.run_options import Checkpointer, Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput, dump_model
from crewgraph.errors import DefinitionError, RunError
from crewgraph.llm.structure import read_structure
from crewgraph.runtime.crew.kickoff import CrewRun, plain_inputs, validate_inputs
from crewgraph.runtime.crew.results import task_index
from crewgraph.runtime.execution import ReadState
from crewgraph.runtime.run_target import own_place
from crewgraph.runtime.runs.crew_history import output_of
from crewgraph.runtime.runs.index import latest_run
from crewgraph.runtime.runs.metadata import FORKED_FROM
from crewgraph.runtime.runs.stored_run import StoredCrewRun, read_stored_run

__all__ = ["Fork", "ForkStart", "afork_crew", "fork_crew", "given_output", "taken_over"]


_USED = tuple((name, field) for name, field in TaskOutput.model_fields.items() if name.startswith("usage"))


def taken_over(output: TaskOutput) -> TaskOutput:
    """An output that a run takes over: what it took was used by another run."""
    return output.model_copy(update={name: field.get_default(call_default_factory=True) for name, field in _USED})


def given_output(given: Any, assignment: TaskBinding, before: TaskOutput | None, inputs: Inputs) -> TaskOutput:
    """What is given for a task, as its output.

    Args:
        given: an output; a text; a dict with `raw` and other fields of an output; the fields of the structure that the task
            gives.
        assignment: the task.
        before: the output that it had; None where it was not done.
        inputs: what fills the texts of the task.

    Raises:
        DefinitionError: it does not fit the task.
        TypeError: it is nothing that an output is made of.
    """
    where = f"the output given for {title(assignment.task)}"
    if isinstance(given, TaskOutput):
        fields = given.to_plain()
    elif isinstance(given, str):
        fields = _read(given, assignment, where)
    elif isinstance(given, Mapping):
        fields = _of_dict(dict(cast("Mapping[str, Any]", given)), assignment, where)
    else:
        raise TypeError(f"{where} is {given!r:.80}; give a text, a dict or a `TaskOutput`")
    try:
        plain = {**(before or _undone(assignment, inputs)).to_plain(), **fields}
        return taken_over(TaskOutput.from_plain(plain, assignment.task.output_pydantic))
    except (ValidationError, TypeError) as error:
        raise DefinitionError(f"{where} does not fit: {error}") from error


def _of_dict(fields: dict[str, object], assignment: TaskBinding, where: str) -> dict[str, object]:
    if "raw" not in fields:
        return _read(json.dumps(fields, default=str, ensure_ascii=False), assignment, where, wanted=True)
    unknown = ", ".join(f"`{name}`" for name in fields if name not in TaskOutput.model_fields)
    if unknown:
        raise DefinitionError(f"{where} has {unknown}, which an output has not")
    read = _read(fields["raw"], assignment, where) if isinstance(fields["raw"], str) else {}
    return {**read, **fields}


def _read(text: str, assignment: TaskBinding, where: str, *, wanted: bool = False) -> dict[str, object]:
    """A text with the structure that the task gives; `wanted` where it must give one."""
    task = assignment.task
    model = task.output_pydantic or task.output_json
    if model is None:
        if wanted:
            raise DefinitionError(f"{where} is a dict without `raw`, and the task gives a text; give a text")
        return {"raw": text, "pydantic": None, "json_dict": None}
    found, problem = read_structure(text, model)
    if found is None:
        raise DefinitionError(f"{where} does not fit `{model.__name__}`: {problem}")
    if task.output_pydantic is not None:
        return {"raw": text, "pydantic": dump_model(found)}
    return {"raw": text, "json_dict": found.model_dump(mode="json")}


def _undone(assignment: TaskBinding, inputs: Inputs) -> TaskOutput:
    """The frame of an output of a task that was not done, with the texts of a run with these inputs."""
    task, texts = assignment.task, assignment.task.rendered_texts(inputs)
    return TaskOutput(
        name=task.name or texts["description"],
        description=texts["description"] or "",
        expected_output=texts["expected_output"],
        agent=assignment.agent.rendered_texts(inputs)["role"] or "",
        output_format=task.output_format,
    )


@dataclass(frozen=True, kw_only=True)
class Fork:
    """What is asked of a fork."""

    point: Any
    """A step of `history`, after which it goes on; or a task by any of its names, with which it goes on."""

    of: str | None
    """The run; the latest of the crew, or that of the step, where None."""

    outputs: Mapping[str, Any] | None
    inputs: Inputs | None
    thread_id: str | None
    """What the new run is kept under."""

    checkpointer: Checkpointer


def fork_crew(crew: Crew, asked: Fork) -> CrewOutput:
    """Run on from a point in the past; see `Crew.fork`."""
    return drive(_forked(crew, asked))


async def afork_crew(crew: Crew, asked: Fork) -> CrewOutput:
    """Run on from a point in the past on this event loop; see `Crew.fork`."""
    return await adrive(_forked(crew, asked))


def _forked(crew: Crew, asked: Fork) -> Program[CrewOutput]:
    with closing(RunResources()) as opened:
        return (yield from _gone_on(crew, asked, opened))


def _gone_on(crew: Crew, asked: Fork, opened: RunResources) -> Program[CrewOutput]:
    point, inputs = asked.point, validate_inputs(asked.inputs or {})
    of = _run_of(point, asked.of)
    run = CrewRun(crew, own_place(crew, asked.thread_id, asked.checkpointer), "task", opened)
    there = yield ReadState(run.graph, run.config)
    if there.created_at is not None:
        if not run.place.known:
            raise RunError(f"thread `{run.place.thread_id}` holds a run already; give `new_thread_id` another name")
        run = run.as_kept(there.metadata)
        return (yield from run.execute(run.place.answers(there.interrupts), there.values.get(INPUTS) or {}))
    saver = run.place.checkpointer
    if of is None:
        of = yield from latest_run(crew, saver)
    kept = yield from read_stored_run(saver, of, point.checkpoint_id if isinstance(point, CrewStep) else None, crew)
    run = run.as_kept(kept.metadata)
    begun = ForkStart(run.tasks, kept, asked, {**kept.inputs, **plain_inputs(inputs)})
    run.check_worded(begun.inputs, len(begun.outputs))
    if not begun.outputs:
        return (yield from run.execute({INPUTS: begun.inputs}, begun.inputs))
    config = {**run.config, "metadata": {**run.config.get("metadata", {}), FORKED_FROM: of}}
    yield Saving(run.graph, "bulk_update_state", config, [begun.updates()])
    for one, output in zip(run.tasks, begun.outputs, strict=False):
        one.task.output = output
    return (yield from run.execute(None, begun.inputs))


def _run_of(point: Any, named: str | None) -> str | None:
    """The thread of the run that a point lies in; None for the latest.

    Raises:
        RunError: the point is a step of another run.
    """
    if not isinstance(point, CrewStep):
        return None if named is None else str(named)
    if named is not None and str(named) != point.thread_id:
        raise RunError(
            f"step {point.number} is one of thread `{point.thread_id}`, not of `{named}`; a step says itself which run it is of"
        )
    return point.thread_id


class ForkStart:
    """What the new run begins with: the tasks before the point are done, with outputs that are kept or given.

    Args:
        tasks: the crew's tasks.
        kept: the run that it comes from, as of the point.
        asked: what is asked.
        inputs: the new run's inputs.

    Raises:
        UnknownTask: a task is named that the crew does not have.
        RunError: a task before the point was not done, or is not the crew's any more; an output is given for one behind it.
        DefinitionError: an output that is given does not fit.
        StorageError: what is kept is no output.
    """

    def __init__(self, tasks: Sequence[TaskBinding], kept: StoredCrewRun, asked: Fork, inputs: dict[str, Any]) -> None:
        self.tasks, self.kept, self.inputs = tasks, kept, inputs
        known = kept.outputs if isinstance(asked.point, CrewStep) else kept.finished
        outputs = _outputs(asked.outputs)
        given = {task_index(name, tasks, known): one for name, one in outputs.items()}
        if len(given) < len(outputs):
            raise RunError(
                f"several outputs are given for one task, by different names: {', '.join(map(repr, outputs))}"
            )
        count = self._of_step(known) if isinstance(asked.point, CrewStep) else task_index(asked.point, tasks, known)
        while count in given:
            count += 1
        self._check_given(given, count)
        if missing := [one.slug for n, one in enumerate(tasks[:count]) if n not in given and one.slug not in known]:
            raise self._undone(missing)
        self.outputs = [
            self._given(given[n], one, known.get(one.slug)) if n in given else self._kept(one, known[one.slug])
            for n, one in enumerate(tasks[:count])
        ]

    def _given(self, output: object, assignment: TaskBinding, plain: Mapping[str, Any] | None) -> TaskOutput:
        # Its structure is given anew: the one that it had may be of another model.
        before = None if plain is None else output_of(assignment.slug, plain, {}, self.kept.thread_id)
        return given_output(output, assignment, before, self.inputs)

    def _kept(self, assignment: TaskBinding, plain: Mapping[str, object]) -> TaskOutput:
        models = {assignment.slug: assignment.task.output_pydantic}
        return taken_over(output_of(assignment.slug, plain, models, self.kept.thread_id))

    def _of_step(self, known: Mapping[str, object]) -> int:
        """How many tasks have been done at a step.

        Raises:
            RunError: they are not those that the crew begins with.
        """
        slugs = [one.slug for one in self.tasks]
        count = len(known)
        if set(slugs[:count]) != set(known):
            done, now = (", ".join(f"`{name}`" for name in names) for names in (known, slugs))
            raise RunError(
                f"at that step of thread `{self.kept.thread_id}` {done} had been done; the crew's tasks are now {now}. Fork from "
                "a task, by its name: then only those before it count"
            )
        return count

    def _check_given(self, given: Mapping[int, object], count: int) -> None:
        if late := [self.tasks[n].slug for n in given if n >= count]:
            raise RunError(
                f"an output is given for `{late[0]}`, which runs behind `{self.tasks[count].slug}`, with which the run goes on; "
                f"fork from `{late[0]}`, or give outputs for all between them"
            )

    def _undone(self, missing: Sequence[str]) -> RunError:
        named, done = (", ".join(f"`{one}`" for one in names) for names in (missing, self.kept.finished))
        return RunError(
            f"the run of thread `{self.kept.thread_id}` has no output of {named}, which comes before that point. Done are: "
            f"{done or 'none'}. It is still going on, has failed (`crew.resume` goes on with it), or is of a crew with other "
            "tasks; give `outputs=` for what is missing, or `thread_id=` of another run (`crew.runs()` lists them)"
        )

    def updates(self) -> list[StateUpdate]:
        """The one step that makes the graph's state what it would be had the kept tasks just been done."""
        count, last = len(self.outputs), self._group()
        plain = {
            one.slug: one.labelled(output.to_plain()) for one, output in zip(self.tasks, self.outputs, strict=False)
        }
        beside = {name: value for name, value in self.kept.values.items() if name not in self.kept.outputs}
        if PLANNING in beside:
            plan = output_of(PLANNING, beside[PLANNING], {PLANNING: CrewPlan}, self.kept.thread_id)
            beside[PLANNING] = taken_over(plan).to_plain()
        first, *others = [one.slug for one in self.tasks[last.start : count]]
        values: Any = {**beside, INPUTS: self.inputs, **{k: v for k, v in plain.items() if k not in others}}
        waiting = [one.slug for one in self.tasks[count : last.stop]]
        if waiting:  # beside those that are done; an edge leads to them from the task before all of them
            values = Command(update=values, goto=waiting)
        return [StateUpdate(values, first), *(StateUpdate({name: plain[name]}, name) for name in others)]

    def _group(self) -> range:
        """The places of the last kept task and of those that run beside it."""
        start = 0
        while True:
            stop = start + len(parallel_group(self.tasks, start))
            if stop >= len(self.outputs):
                return range(start, stop)
            start = stop


def _outputs(given: Any) -> Mapping[object, object]:
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f'`outputs` is {given!r:.80}; give a dict of tasks and outputs: {{"research": "..."}}')
    return cast("Mapping[Any, Any]", given or {})
