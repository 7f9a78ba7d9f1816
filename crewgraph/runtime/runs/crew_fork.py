"""Forks and replays: new runs, each in its own thread, that start at an earlier point of a crew's run.

Tasks before the point keep their outputs unless the caller overrides them.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command, StateUpdate
from pydantic import ValidationError

from crewgraph.compiler.crew.graph import parallel_group
from crewgraph.compiler.crew.inputs import plain_inputs
from crewgraph.compiler.crew.state import INPUTS, PLANNING
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.current import RunResources
from crewgraph.core.operations import Program, Saving
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.history import CrewStep
from crewgraph.definitions.crew.plan import CrewPlan
from crewgraph.definitions.run_options import Checkpointer, Inputs
from crewgraph.definitions.task.output import CrewOutput, TaskOutput, dump_model
from crewgraph.errors import DefinitionError, RunError
from crewgraph.llm.structure import read_structure
from crewgraph.runtime.crew.kickoff import CrewRun, validate_inputs
from crewgraph.runtime.crew.results import task_index
from crewgraph.runtime.runs.crew_history import restore_output
from crewgraph.runtime.runs.index import latest_run
from crewgraph.runtime.runs.metadata import FORKED_FROM
from crewgraph.runtime.runs.storage import own_place
from crewgraph.runtime.runs.stored_run import StoredCrewRun, read_stored_run
from crewgraph.schema import is_mapping

_USAGE_FIELDS = tuple((name, field) for name, field in TaskOutput.model_fields.items() if name.startswith("usage"))


def without_usage(output: TaskOutput) -> TaskOutput:
    """Copy an output without its usage, which was spent by the run that produced it."""
    return output.model_copy(
        update={name: field.get_default(call_default_factory=True) for name, field in _USAGE_FIELDS}
    )


def override_output(value: object, assignment: TaskBinding, previous: TaskOutput | None, inputs: Inputs) -> TaskOutput:
    """Convert a user-supplied value to the output of a task.

    Args:
        value: an output, its text, a dict with `raw` and other output fields, or a dict with the fields of the task's structured
            output.
        assignment: the task.
        previous: the task's earlier output; None if it did not run.
        inputs: the values of the placeholders in the task's texts.

    Raises:
        DefinitionError: the value does not fit the task.
        TypeError: the value has an unsupported type.
    """
    where = f"the output given for {assignment.task.called}"
    if isinstance(value, TaskOutput):
        fields = value.to_plain()
    elif isinstance(value, str):
        fields = _fields_of_text(value, assignment, where)
    elif is_mapping(value):
        fields = _fields_of_mapping(dict(value), assignment, where)
    else:
        raise TypeError(f"{where} is {value!r:.80}; pass a string, a dict or a `TaskOutput`")
    try:
        plain = {**(previous or _empty_output(assignment, inputs)).to_plain(), **fields}
        return without_usage(TaskOutput.from_plain(plain, assignment.task.output_pydantic))
    except (ValidationError, TypeError) as error:
        raise DefinitionError(f"{where} does not fit: {error}") from error


def _fields_of_mapping(fields: dict[str, object], assignment: TaskBinding, where: str) -> dict[str, object]:
    if "raw" not in fields:
        return _fields_of_text(json.dumps(fields, default=str, ensure_ascii=False), assignment, where, structured=True)
    unknown = ", ".join(f"`{name}`" for name in fields if name not in TaskOutput.model_fields)
    if unknown:
        raise DefinitionError(f"{where} has {unknown}, which are not fields of an output")
    read = _fields_of_text(fields["raw"], assignment, where) if isinstance(fields["raw"], str) else {}
    return {**read, **fields}


def _fields_of_text(text: str, assignment: TaskBinding, where: str, *, structured: bool = False) -> dict[str, object]:
    """Return the output fields of a text; with `structured`, the task must have a structured output."""
    task = assignment.task
    model = task.output_pydantic or task.output_json
    if model is None:
        if structured:
            raise DefinitionError(f"{where} is a dict without `raw`, and the task returns text; pass a string")
        return {"raw": text, "pydantic": None, "json_dict": None}
    instance, problem = read_structure(text, model)
    if instance is None:
        raise DefinitionError(f"{where} does not fit `{model.__name__}`: {problem}")
    if task.output_pydantic is not None:
        return {"raw": text, "pydantic": dump_model(instance)}
    return {"raw": text, "json_dict": instance.model_dump(mode="json")}


def _empty_output(assignment: TaskBinding, inputs: Inputs) -> TaskOutput:
    """Return an output without content, with the task's texts filled from the inputs."""
    task, texts = assignment.task, assignment.task.rendered_texts(inputs)
    return TaskOutput(
        name=task.name or texts["description"],
        description=texts["description"] or "",
        expected_output=texts["expected_output"],
        agent=assignment.agent.rendered_texts(inputs)["role"] or "",
        output_format=task.output_format,
    )


@dataclass(frozen=True, kw_only=True)
class ForkRequest:
    """The arguments of a fork."""

    point: object
    """A step of `history` to continue after, or a name of the task to start with."""

    of: str | None
    """The thread of the source run; None for the step's run, or the crew's latest one."""

    outputs: Mapping[str, object] | None
    inputs: Inputs | None
    thread_id: str | None
    """The thread of the new run."""

    checkpointer: Checkpointer
    source: Any = None
    """Where the source run is stored; None for where the new one is."""


def crew_fork_program(crew: CrewDefinition, request: ForkRequest) -> Program[CrewOutput]:
    """Run a fork; see `Crew.fork`."""
    with closing(RunResources()) as resources:
        point, inputs = request.point, validate_inputs(request.inputs or {})
        source = _source_thread(point, request.of)
        run = CrewRun(crew, own_place(crew, request.thread_id, request.checkpointer), "task", resources)
        yield from run.claim_thread()
        snapshot = yield Saving(run.graph, "get_state", run.config)
        if snapshot.created_at is not None:
            if not run.place.known:
                raise RunError(f"thread `{run.place.thread_id}` already holds a run; give `new_thread_id` another name")
            run = run.with_stored_granularity(snapshot.metadata)
            return (yield from run.execute(run.place.answers(snapshot.interrupts), snapshot.values.get(INPUTS) or {}))
        saver = run.place.checkpointer if request.source is None else request.source
        if source is None:
            source = yield from latest_run(crew, saver)
        stored = yield from read_stored_run(
            saver, source, point.checkpoint_id if isinstance(point, CrewStep) else None, crew
        )
        run = run.with_stored_granularity(stored.metadata)
        run.is_fork = True
        start = ForkStart(run.tasks, stored, request, {**stored.inputs, **plain_inputs(inputs)})
        run.check_inputs(start.inputs, len(start.outputs))
        if not start.outputs:
            return (yield from run.execute({INPUTS: start.inputs}, start.inputs))
        config = {**run.config, "metadata": {**run.config.get("metadata", {}), FORKED_FROM: source}}
        yield Saving(run.graph, "bulk_update_state", config, [start.updates()])
        for binding, output in zip(run.tasks, start.outputs, strict=False):
            binding.task.output = output
        return (yield from run.execute(None, start.inputs))


def _source_thread(point: object, thread_id: str | None) -> str | None:
    """Return the thread of the run that a point belongs to; None for the latest run.

    Raises:
        RunError: the point is a step of another run.
    """
    if not isinstance(point, CrewStep):
        return None if thread_id is None else str(thread_id)
    if thread_id is not None and str(thread_id) != point.thread_id:
        raise RunError(
            f"step {point.number} belongs to thread `{point.thread_id}`, not to `{thread_id}`; "
            "leave `thread_id` out when you give a step"
        )
    return point.thread_id


class ForkStart:
    """The initial state of a forked run: the tasks before the point are done, with stored or overridden outputs.

    Args:
        tasks: the crew's tasks.
        source: the source run as of the point.
        request: the arguments of the fork.
        inputs: the new run's inputs.

    Raises:
        UnknownTask: the crew has no task with a given name.
        RunError: a task before the point was not done or is no longer part of the crew, or an override is for a task after it.
        DefinitionError: an override does not fit its task.
        StorageError: a stored output cannot be read.
    """

    def __init__(
        self, tasks: Sequence[TaskBinding], source: StoredCrewRun, request: ForkRequest, inputs: dict[str, object]
    ) -> None:
        self.tasks, self.source, self.inputs = tasks, source, inputs
        known = source.outputs if isinstance(request.point, CrewStep) else source.finished
        outputs: object = {} if request.outputs is None else request.outputs
        if not is_mapping(outputs):
            raise TypeError(
                f'`outputs` is {outputs!r:.80}; pass a dict from task names to outputs: {{"research": "..."}}'
            )
        overrides = {task_index(name, tasks, known): output for name, output in outputs.items()}
        if len(overrides) < len(outputs):
            raise RunError(
                f"several outputs are given for the same task under different names: {', '.join(map(repr, outputs))}"
            )
        count = (
            self._count_at_step(known)
            if isinstance(request.point, CrewStep)
            else task_index(request.point, tasks, known)
        )
        while count in overrides:
            count += 1
        self._check_overrides(overrides, count)
        if missing := [
            binding.slug for n, binding in enumerate(tasks[:count]) if n not in overrides and binding.slug not in known
        ]:
            raise self._missing_outputs(missing)
        self.outputs = [
            self._overridden(overrides[n], binding, known.get(binding.slug))
            if n in overrides
            else self._restored(binding, known[binding.slug])
            for n, binding in enumerate(tasks[:count])
        ]

    def _overridden(self, output: object, assignment: TaskBinding, plain: Mapping[str, object] | None) -> TaskOutput:
        # The structured output is parsed again: the stored one may belong to another model.
        previous = None if plain is None else restore_output(assignment.slug, plain, {}, self.source.thread_id)
        return override_output(output, assignment, previous, self.inputs)

    def _restored(self, assignment: TaskBinding, plain: Mapping[str, object]) -> TaskOutput:
        models = {assignment.slug: assignment.task.output_pydantic}
        return without_usage(restore_output(assignment.slug, plain, models, self.source.thread_id))

    def _count_at_step(self, known: Mapping[str, object]) -> int:
        """Count the tasks that are done at a step.

        Raises:
            RunError: they are not the crew's first tasks.
        """
        slugs = [binding.slug for binding in self.tasks]
        count = len(known)
        if set(slugs[:count]) != set(known):
            done, current = (", ".join(f"`{name}`" for name in names) for names in (known, slugs))
            raise RunError(
                f"at that step of thread `{self.source.thread_id}` {done} had been done; the crew's tasks are now {current}. "
                "Fork from a task by its name instead: then only the tasks before it matter"
            )
        return count

    def _check_overrides(self, overrides: Mapping[int, object], count: int) -> None:
        if late := [self.tasks[n].slug for n in overrides if n >= count]:
            raise RunError(
                f"an output is given for `{late[0]}`, which runs after `{self.tasks[count].slug}`, where the fork starts; "
                f"fork from `{late[0]}`, or also give outputs for all tasks in between"
            )

    def _missing_outputs(self, missing: Sequence[str]) -> RunError:
        named, done = (", ".join(f"`{name}`" for name in names) for names in (missing, self.source.finished))
        return RunError(
            f"the run of thread `{self.source.thread_id}` has no output of {named}, which comes before that point. Tasks "
            f"done: {done or 'none'}. The run is in progress, has failed (`crew.resume` continues it), or its crew had other "
            "tasks; pass `outputs=` for the missing tasks, or `thread_id=` of another run (`crew.runs()` lists them)"
        )

    def updates(self) -> list[StateUpdate]:
        """Return the updates that leave the graph as if the tasks before the point had just completed."""
        count, last = len(self.outputs), self._group()
        plain = {
            binding.slug: binding.labelled(output.to_plain())
            for binding, output in zip(self.tasks, self.outputs, strict=False)
        }
        remaining = {name: value for name, value in self.source.values.items() if name not in self.source.outputs}
        if PLANNING in remaining:
            plan = restore_output(PLANNING, remaining[PLANNING], {PLANNING: CrewPlan}, self.source.thread_id)
            remaining[PLANNING] = without_usage(plan).to_plain()
        first, *rest = [binding.slug for binding in self.tasks[last.start : count]]
        values: Any = {**remaining, INPUTS: self.inputs, **{k: v for k, v in plain.items() if k not in rest}}
        waiting = [binding.slug for binding in self.tasks[count : last.stop]]
        if waiting:  # parallel to completed tasks; their edge starts at the task before the whole group
            values = Command(update=values, goto=waiting)
        return [StateUpdate(values, first), *(StateUpdate({name: plain[name]}, name) for name in rest)]

    def _group(self) -> range:
        """Return the indices of the last completed task and of the tasks that run in parallel to it."""
        start = 0
        while True:
            stop = start + len(parallel_group(self.tasks, start))
            if stop >= len(self.outputs):
                return range(start, stop)
            start = stop
