"""Kickoff and resume of crews: compile the crew, run its graph, return its output."""

import warnings
from collections.abc import Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.types import StateSnapshot

from crewgraph.compiler.agent.binding import check_external_resources, check_memories
from crewgraph.compiler.agent.knowledge import load_knowledge
from crewgraph.compiler.agent.runner import check_ready
from crewgraph.compiler.crew.graph import check_continues
from crewgraph.compiler.crew.inputs import plain_inputs
from crewgraph.compiler.crew.metered_graph import check_prices
from crewgraph.compiler.crew.state import INPUTS
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.preflight import check_coworkers
from crewgraph.compiler.surroundings import AROUND, RunNotes
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.current import RunResources
from crewgraph.core.operations import Program, Saving, user_call
from crewgraph.core.pregel import CLAIM, began
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.run_options import Checkpointer, Inputs, RunOptions
from crewgraph.definitions.task.output import CrewOutput, set_fields
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import BudgetExceeded, OutputInvalid, RunError, UnknownRun
from crewgraph.events import late
from crewgraph.events.base import BaseEvent
from crewgraph.events.bus import crewai_event_bus
from crewgraph.events.lineage import running
from crewgraph.hooks.points import EXECUTION_BOUNDARY_POINTS
from crewgraph.hooks.registry import has_hooks
from crewgraph.llm.resolve import as_model
from crewgraph.runtime.crew.graphs import CrewGraph, graph_of
from crewgraph.runtime.crew.human_input import file_answers, forget, pending_crew, place_to_ask, run_with_questions
from crewgraph.runtime.crew.results import (
    check_stored,
    crew_output,
    execution_logs,
    recorded_files,
    split_files,
    without_files,
    written_so_far,
)
from crewgraph.runtime.execution import (
    Run,
    configured,
    interruption,
    is_resumable,
    resume_advice,
    wait_for_listeners,
    with_run_config,
)
from crewgraph.runtime.run_hooks import (
    callback_arguments,
    crew_observers,
    observed,
    run_entry_hooks,
    with_run_hooks,
)
from crewgraph.runtime.runs.metadata import CREW_GRANULARITY
from crewgraph.runtime.runs.retention import Retention
from crewgraph.runtime.runs.storage import RunPlace, run_place
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.storage.claims.keepers import claim_keeper, claim_thread
from crewgraph.tracebacks import drop_graph_notes, note_once

if TYPE_CHECKING:
    from crewgraph.runtime.streaming.crew import CrewAudience


_LEAST_STEPS = 10_000


def kickoff_program(
    crew: CrewDefinition,
    inputs: Inputs | None,
    options: RunOptions,
    audience: "CrewAudience | None" = None,
) -> Program[CrewOutput]:
    """Return a kickoff as a program; the audience is notified of its start here, and then by events."""
    if options.config is not None:
        program = kickoff_program(crew, inputs, replace(options, config=None), audience)
        return (yield from configured(options.config, program))
    start = crew.take_start()
    if start is not None:
        continued: Program[CrewOutput] = start(crew, inputs, options, audience)
        return (yield from continued)
    with closing(RunResources()) as resources:
        return (yield from _start(crew, inputs, options, audience, resources))


def _start(
    crew: CrewDefinition,
    inputs: Inputs | None,
    options: RunOptions,
    audience: "CrewAudience | None",
    resources: RunResources,
) -> Program[CrewOutput]:
    accepted: list[PlainDict] = []
    try:
        run, prepared = yield from _prepare(crew, inputs, options, resources, accepted)
    except (GeneratorExit, GraphBubbleUp):
        raise
    except BaseException as error:  # as in CrewAI, a run has started once it has its inputs
        fields: dict[str, object] = {"crew_name": crew.name, "crew": crew, "thread_id": options.thread_id}
        if accepted:
            emit_crew_event(late.CrewKickoffStartedEvent, crew, **fields, inputs=accepted[0] or None)
        emit_crew_event(late.CrewKickoffFailedEvent, crew, **fields, error=failure_text(error))
        raise
    if audience is not None:
        audience.start(crew.name, run.place.shown_thread, prepared, run.tasks, run.planning)
    if run.place.known:
        state = yield Saving(run.graph, "get_state", run.config)
        if state.created_at is not None:
            yield from run.check_continues()
            return (yield from run.execute(run.place.answers(state.interrupts), prepared))
    has_inputs = inputs is not None or bool(prepared or crew.before_kickoff_callbacks)
    return (yield from run.execute({INPUTS: prepared}, prepared, has_inputs=has_inputs))


def _prepare(
    crew: CrewDefinition,
    inputs: Inputs | None,
    options: RunOptions,
    resources: RunResources,
    accepted: list[PlainDict],
) -> "Program[tuple[CrewRun, dict[str, object]]]":
    """Return the run, and its inputs after the `before_kickoff` functions and hooks, which are added to `accepted`."""
    values, files = split_files(validate_inputs(inputs)) if inputs else ({}, None)
    for callback in crew.before_kickoff_callbacks:
        changed = yield user_call(callback, *callback_arguments(callback, values))
        values = values if changed is None else validate_inputs(changed)
    if has_hooks(crew, *EXECUTION_BOUNDARY_POINTS):
        values = validate_inputs((yield from run_entry_hooks(crew, values)))
    accepted.append(values)
    if has_inputs := bool(values):
        values = plain_inputs(values)
    if files:
        values |= yield from recorded_files(files)
    run = CrewRun(
        crew,
        run_place(crew, options.thread_id, options.checkpointer),
        options.granularity,
        resources,
    )
    if run.needs.placeholders and not has_inputs:
        names = ", ".join(f"{{{name}}}" for name in sorted(run.needs.placeholders))
        warnings.warn(
            f"the tasks hold {names}, but no inputs were given; they stay as they are", stacklevel=user_stacklevel()
        )
    run.check_inputs(values)
    if run.place.checkpointer:
        yield from run.claim_thread()
    if not run.place.known:
        if run.needs.equipped:
            yield from check_external_resources(run.needs.equipped, resources)
        if run.needs.informed:
            yield from load_knowledge(run.needs.informed)
    return run, values


def resume_program(
    crew: CrewDefinition, thread_id: str, checkpointer: Checkpointer, answer: object = None
) -> Program[CrewOutput]:
    """Return a resume as a program."""
    with closing(RunResources()) as resources:
        return (yield from _resume(crew, thread_id, checkpointer, answer, resources))


def _resume(
    crew: CrewDefinition, thread_id: str, checkpointer: Checkpointer, answer: object, resources: RunResources
) -> Program[CrewOutput]:
    if not thread_id:
        raise RunError(
            "`resume` needs the name that the run is stored under: `thread_id` of its output or of its start event"
        )
    run = CrewRun(crew, run_place(crew, thread_id, checkpointer), "task", resources)
    if run.place.checkpointer is False:
        raise RunError("a run that was not stored (`checkpointer=False`) cannot be resumed")
    yield from run.claim_thread()
    state = yield Saving(run.graph, "get_state", run.config)
    if state.created_at is None:
        raise UnknownRun(
            f"there is no run of thread `{thread_id}` in {_place_text(run.place)}. Check the thread's name, which "
            "`crewgraph runs` lists, and whether the run was stored there (`checkpointer=`, CREWGRAPH_STORAGE_DIR)."
        )
    run = run.with_stored_granularity(state.metadata)
    yield from run.check_continues()
    check_stored(run.steps, state.values, run.place.thread_id)
    resume_value = None if answer is None else (yield from file_answers(crew, run.place, run.config, answer))
    # A finished run does nothing more. `state.next` cannot tell: it is also empty while a task's writes are stored but not
    # applied.
    return (yield from run.execute(resume_value, state.values.get(INPUTS) or {}))


def run_or_resume_program(
    crew: CrewDefinition, thread_id: str, inputs: Inputs | None, options: RunOptions
) -> Program[CrewOutput]:
    """Run a thread to its end, whatever its current status; see `Crew.run_or_resume`."""
    return configured(options.config, _run_or_resume(crew, thread_id, inputs, options))


def _run_or_resume(
    crew: CrewDefinition, thread_id: str, inputs: Inputs | None, options: RunOptions
) -> Program[CrewOutput]:
    if not thread_id:
        raise RunError("`run_or_resume` needs a `thread_id`, the name that the run is stored under")
    options = replace(options, thread_id=thread_id)
    with closing(RunResources()) as resources:
        run = CrewRun(crew, run_place(crew, thread_id, options.checkpointer), options.granularity, resources)
        if not run.place.checkpointer:
            raise RunError("a run that is not stored (`checkpointer=False`) cannot be resumed; run it with `kickoff`")
        yield from run.claim_thread()
        state = yield Saving(run.graph, "get_state", run.config)
        if state.created_at is None:
            return (yield from _start(crew, inputs, options, None, resources))
        return (yield from _resume(crew, thread_id, options.checkpointer, None, resources))


def stored_crew_output(crew: CrewDefinition, thread_id: str, saver: Any) -> Program[CrewOutput]:
    """Return the output of a stored run that is done, or waits, without running anything.

    Args:
        crew: the crew of the run.
        thread_id: the name it is stored under.
        saver: where it is stored.

    Raises:
        OutputInvalid: no task has completed.
    """
    config: Any = {"configurable": {"thread_id": thread_id}}
    compiled = graph_of(crew, saver)
    state: StateSnapshot = yield Saving(compiled.graph, "get_state", config)
    metadata: PlainMapping = state.metadata or {}
    granularity: str = metadata.get(CREW_GRANULARITY, "task")
    if granularity != "task":
        compiled = graph_of(crew, saver, granularity)
        state = yield Saving(compiled.graph, "get_state", config)
    check_stored([*compiled.tasks], state.values, thread_id)
    notes = RunNotes(crew=crew)
    from crewgraph.runtime.runs.index import crew_question

    if questions := [crew_question(question) for question in state.interrupts]:
        done = crew_output(compiled.tasks, state.values, thread_id, notes, compiled.planning)
        return pending_crew(crew, done, compiled.tasks, questions)
    output = crew_output(compiled.tasks, state.values, thread_id, notes, compiled.planning)
    if not output.tasks_output:
        raise OutputInvalid(
            f"the run of thread `{thread_id}` has no output: none of its tasks has completed. Resume it."
        )
    return output


def validate_inputs(inputs: object) -> PlainDict:
    """Return the inputs as a dict.

    Raises:
        TypeError: they are not a mapping with text keys.
    """
    if not isinstance(inputs, Mapping):
        raise TypeError(f'`inputs` is {inputs!r:.80}; pass a dict of names and values: {{"topic": "rain"}}')
    for name in cast("Mapping[object, object]", inputs):
        if not isinstance(name, str):
            raise TypeError(
                f"`inputs` has the key {name!r:.80}; names of inputs are texts, as they are in `{{placeholders}}`"
            )
    return dict(inputs)  # pyright: ignore[reportUnknownArgumentType]


class CrewRun:
    """A run before its start: the graph and where it is stored."""

    def __init__(self, crew: CrewDefinition, place: RunPlace, granularity: str, resources: RunResources) -> None:
        self.crew, self.granularity, self.resources = crew, granularity, resources
        compiled = graph_of(crew, place.checkpointer, granularity)
        self.place = place_to_ask(place, compiled.needs.asking) if compiled.needs.asking else place
        if self.place is not place:
            place, compiled = self.place, graph_of(crew, self.place.checkpointer, granularity)
        self.graph, self.tasks, self.planning = compiled.graph, compiled.tasks, compiled.planning
        self.needs = compiled.needs
        self._models = [*map(check_ready, self.needs.workers)]  # reports a missing API key before any work
        for judge in self.needs.judges:
            if judge.llm is not None:
                self._models.append(as_model(judge.llm))
        if self.needs.equipped:
            check_coworkers(self.needs.equipped)
        if self.needs.memories:
            check_memories(crew)
        if crew.max_cost is not None:
            check_prices(crew, self.needs.agents)
        self.config = _config(crew, compiled, place)
        if granularity != "task":
            self.config["metadata"] = {**self.config.get("metadata", {}), CREW_GRANULARITY: granularity}
        self.tokens = 0
        self.is_fork = False
        self._claim: ThreadClaim | None = None
        self._completed: CrewOutput | None = None

    def claim_thread(self) -> Program[None]:
        """Claim the thread until the run's resources are closed. A nested run uses the claim of the run around it.

        Raises:
            ThreadBusy: another process or thread runs it.
        """
        place = self.place
        if self._claim is not None or not place.detached or not place.checkpointer or place.temporary:
            return
        if place.method is not None:
            claim: ThreadClaim | None = place.method.run.claim
        else:
            assert place.thread_id is not None
            key = ("claim", place.thread_id)
            claim = self.resources.get(key)
            if claim is None:
                claim = yield claim_thread(claim_keeper(place.checkpointer), place.thread_id)
                self.resources.of(key, lambda: cast("ThreadClaim", claim))
        self._hold(claim)

    def _hold(self, claim: ThreadClaim | None) -> None:
        self._claim = claim
        if claim is not None:
            self.config["configurable"] = {**self.config.get("configurable", {}), CLAIM: claim}

    @property
    def steps(self) -> list[TaskBinding]:
        """The tasks, preceded by the planning task, if any."""
        return list(self.tasks) if self.planning is None else [self.planning, *self.tasks]

    def with_stored_granularity(self, metadata: PlainMapping | None) -> "CrewRun":
        """Return this run in the granularity that it was stored with."""
        granularity: str = (metadata or {}).get(CREW_GRANULARITY, "task")
        if granularity == self.granularity:
            return self
        run = CrewRun(self.crew, self.place, granularity, self.resources)
        run._hold(self._claim)
        return run

    def check_inputs(self, inputs: Inputs, first: int = 0) -> None:
        """Check that all placeholders have values, before any model is called.

        Raises:
            MissingInput: a placeholder of a task has no value.
        """
        remaining = self.tasks[first:]
        for binding in remaining:
            # Without inputs, only the name of a file must be complete.
            if inputs or binding.task.output_file is not None:
                binding.task.rendered_texts(inputs)
        if inputs:
            for agent in {id(binding.agent): binding.agent for binding in remaining}.values():
                agent.rendered_texts(inputs)

    def check_continues(self) -> Program[None]:
        """Check that the crew is the one whose run is stored, with its tasks.

        Raises:
            RunError: the run is another crew's, or the crew has changed since.
        """
        assert self.place.thread_id is not None
        from crewgraph.runtime.runs.stored_run import read_stored_run

        stored = yield from read_stored_run(self.place.checkpointer, self.place.thread_id, crew=self.crew)
        written = {*stored.values, *(channel for _, channel, _ in stored.checkpoint.pending_writes or ())}
        check_continues(self.graph, stored.checkpoint, written)

    def execute(self, value: object, inputs: Inputs, *, has_inputs: bool = True) -> Program[CrewOutput]:
        """Run the graph with an input (None or a Command continues a run) and emit the events of the run.

        Args:
            value: the graph's input.
            inputs: the values for the placeholders.
            has_inputs: whether the caller passed inputs, even an empty mapping; if not, the start event shows None.
        """
        if self.place.checkpointer and self._claim is None:
            yield from self.claim_thread()
        crew, inputs = self.crew, without_files(inputs) if inputs else {}
        set_fields(crew, inputs=dict(inputs))
        for agent in self.needs.agents:
            if agent.crew is not crew:
                agent.crew = crew
        fields: dict[str, object] = {"crew_name": crew.name, "crew": crew, "thread_id": self.place.shown_thread}
        observers = crew_observers(crew, self.place, self.tasks, inputs) if self.needs.observers else ()
        from crewgraph.definitions.crew.pending import PendingCrew

        with running(), observed(observers) if observers else nullcontext():
            emit_crew_event(late.CrewKickoffStartedEvent, crew, **fields, inputs=dict(inputs) if has_inputs else None)
            try:
                output = yield from self._run_with_hooks(value, inputs)
            except (GeneratorExit, GraphBubbleUp, Parked):
                raise  # a lost run, or a question, which the enclosing graph asks before it resumes the run
            except BaseException as error:  # also Ctrl-C and a cancellation: the event of the end is emitted
                drop_graph_notes(error)
                if (done := self._completed) is not None:  # an `after_kickoff` function raised
                    completed = late.CrewKickoffCompletedEvent
                    emit_crew_event(completed, crew, **fields, output=done, total_tokens=self.tokens)
                emit_crew_event(late.CrewKickoffFailedEvent, crew, **fields, error=failure_text(error))
                thread = self.place.shown_thread
                is_stored = thread is not None and (not isinstance(value, dict) or began(error, thread))
                resume = f"crew.resume({thread!r})" if is_stored else None
                advice = "" if self._is_round else resume_advice(resume)
                interrupted = interruption(error, f"the run of crew `{crew.name}`", advice)
                if interrupted is not None:
                    raise interrupted from error
                is_advised = resume is not None and self.place.detached and not self._is_round
                if is_advised and is_resumable(error, self.place.checkpointer):
                    note_once(error, f"`{resume}` continues the run")
                raise
            if isinstance(output, PendingCrew):
                emit_crew_event(late.CrewKickoffPausedEvent, crew, **fields, output=output)
            else:
                emit_crew_event(late.CrewKickoffCompletedEvent, crew, **fields, output=output, total_tokens=self.tokens)
            yield from wait_for_listeners()
        return output

    def _run_with_hooks(self, value: object, inputs: Inputs) -> Program[CrewOutput]:
        run, is_hooked = self._run_graph(value, inputs), has_hooks(self.crew, *EXECUTION_BOUNDARY_POINTS)
        output = yield from (with_run_hooks(self.crew, run) if is_hooked else run)
        from crewgraph.definitions.crew.pending import PendingCrew

        if not isinstance(output, PendingCrew):
            self._completed = output
        if not self.is_fork and not isinstance(output, PendingCrew):
            for callback in self.crew.after_kickoff_callbacks:
                changed = yield user_call(callback, *callback_arguments(callback, output))
                output = output if changed is None else changed
        return output

    @property
    def _is_round(self) -> bool:
        """Whether the run is a round of a training or a test, which is not continued by itself."""
        return self.crew.training or AROUND.get().tested is self.crew

    def _run_graph(self, value: object, inputs: Inputs) -> Program[CrewOutput]:
        place, crew, notes = self.place, self.crew, RunNotes(crew=self.crew)
        saver = place.checkpointer if place.detached else None
        history, label = crew.keep_history, f"crew `{crew.name}`"
        retention = None if history == "all" else Retention(history, label, saver or None, place.thread_id)
        written: PlainMapping = {}

        def start(value: object) -> Run:
            nonlocal written
            run = Run(
                self.graph,
                value,
                self.config,
                durability=place.durability,
                detached=place.detached,
                again=place.again,
                notes=notes,
                retention=retention,
                channels=None if self.planning is None else [self.planning.slug, *self.graph.output_channels],
                resources=self.resources,
            )
            written = run.written
            return run

        try:
            if retention is not None and not isinstance(value, dict):  # left by an earlier process
                yield from retention.trim(shrink=False)
            run = yield from run_with_questions(place, self.config, value, start, self.tasks)
        except BudgetExceeded as error:
            if error.output is None:  # set if a nested run of another crew raised it
                saved = (yield Saving(saver, "get_tuple", self.config)) if saver else None
                so_far = written_so_far(saved, written)
                error.output = crew_output(self.tasks, so_far, place.shown_thread, notes, self.planning)
            raise
        else:
            if retention is not None:
                yield from retention.trim()
            if not isinstance(run.graph_input, dict):
                written = (yield Saving(self.graph, "get_state", self.config)).values
        finally:
            set_fields(crew, execution_logs=execution_logs(self.tasks, written, inputs, notes))
            if place.temporary:
                forget(place)
        if run.questions:
            place.leave(run.questions)
            from crewgraph.runtime.runs.index import crew_question

            questions = [crew_question(question) for question in run.questions]
            done = crew_output(self.tasks, written, place.thread_id, notes, self.planning)
            return pending_crew(crew, done, self.tasks, questions)
        output = crew_output(self.tasks, written, place.shown_thread, notes, self.planning)
        crew.publish(output)
        self.tokens = output.token_usage.total_tokens
        return output


def emit_crew_event(event: type[BaseEvent], source: CrewDefinition, **fields: Any) -> None:
    """Emit an event, if it has listeners."""
    if crewai_event_bus.wants(event):
        crewai_event_bus.emit_new(source, event, fields)


def _config(crew: CrewDefinition, compiled: CrewGraph, place: RunPlace) -> RunnableConfig:
    config: RunnableConfig = {
        "run_name": f"Crew: {crew.name}",
        "metadata": {**compiled.labels},
        "configurable": place.configurable,
        "recursion_limit": max(_LEAST_STEPS, 4 * len(compiled.tasks)),
    }
    if (parallel := compiled.needs.parallel) > 1:
        # LangGraph's own pool has cpu + 4 threads: parallel tasks would wait for each other.
        config["max_concurrency"] = parallel + 4
    return config if AROUND.get().config is None else with_run_config(config)


def _place_text(place: RunPlace) -> str:
    return f"the {type(place.checkpointer).__name__}" if place.checkpointer is not None else "the surrounding graph"


def failure_text(error: BaseException) -> str:
    """Return the text of an exception for events."""
    notes = " ".join(getattr(error, "__notes__", ()))
    text = f"{type(error).__name__}: {error}"
    return f"{text} ({notes})" if notes else text
