"""Flows: event-driven workflows of methods; the class `Flow`, with the methods that run it and those on its stored runs."""

import inspect
import os
import warnings
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from crewgraph.core.files import FILES
from crewgraph.core.loops.bridge import call
from crewgraph.core.methods import async_of, from_program, other_form
from crewgraph.definitions.checkpoints import CheckpointSettings, ForkMethod, apply_from_checkpoint
from crewgraph.definitions.crew.pending import RunFilter, RunInfo, StatusFilter
from crewgraph.definitions.flow.feedback import PendingFeedbackContext, PendingFlow
from crewgraph.definitions.flow.fields import declared_fields
from crewgraph.definitions.flow.flow import FlowDefinition, State
from crewgraph.definitions.flow.step import FlowStep, FlowSteps
from crewgraph.definitions.run_options import Inputs, thread_of
from crewgraph.deprecations import user_stacklevel
from crewgraph.errors import RunError
from crewgraph.events.frames import AsyncStreamSession, StreamSession
from crewgraph.extensions import extension
from crewgraph.flow.conversation import FlowConversation
from crewgraph.overrides import overridable, override_of
from crewgraph.queue_methods import QueueMethods
from crewgraph.tracebacks import is_awaited, traced_to_the_caller

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import StructuredTool
    from langgraph.graph.state import CompiledStateGraph

    from crewgraph.core.operations import Program
    from crewgraph.definitions.flow.flow import FlowDefinition
    from crewgraph.definitions.flow.persistence import FlowPersistence
    from crewgraph.definitions.stream import StreamItem


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class hybridmethod(Generic[Arguments, Result]):
    """Decorator for a method that can be called on an instance or on the class, and receives whichever it is."""

    def __init__(self, function: Callable[Concatenate[Any, Arguments], Result]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: object, owner: type) -> Callable[Arguments, Result]:
        return MethodType(self.function, owner if instance is None else instance)


class FlowPlot:
    """Draws a flow as an HTML page or mermaid text.

    Args:
        flow: The flow or its class.
    """

    def __init__(self, flow: "FlowDefinition | type[FlowDefinition]") -> None:
        self.flow = flow

    def plot(self, filename: str | os.PathLike[str] = "crewai_flow", show: bool = False) -> str:
        """Write the flow as an HTML page; see `Flow.plot`."""
        from crewgraph.plot.flow import plot_to_file

        return plot_to_file(self.flow, filename, show)

    def to_mermaid(self) -> str:
        """Return the flow as mermaid text; see `Flow.to_mermaid`."""
        from crewgraph.plot.flow import mermaid_text

        return mermaid_text(self.flow)

    def _repr_html_(self) -> str:
        from crewgraph.plot.flow import display_flow

        return display_flow(self.flow)


class Flow(FlowDefinition[State], FlowConversation, QueueMethods):
    """The base class of flows, whose methods are decorated with `start`, `listen` and `router`.

    `Flow[State]` sets the pydantic model of the state; the default state is a dict.
    """

    _pending_flow: PendingFlow | None = None

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(stream := vars(cls).get("stream"), bool):
            cls.streaming = stream
            delattr(cls, "stream")
        cls._fields = declared_fields(cls, Flow)
        cls.define()

    @hybridmethod
    def plot(self, filename: str | os.PathLike[str] = "crewai_flow", show: bool = False) -> str:
        """Write the flow as a self-contained HTML page; can be called on the class.

        A dashed border marks methods that probably call a crew: their code uses an attribute `kickoff` or one of its variants.

        Args:
            filename: The file; ".html" is added if missing. An existing file is replaced.
            show: Whether to open the page in a browser. A notebook shows the picture in the cell instead.

        Returns:
            The path of the file, which is also printed.

        Raises:
            DefinitionError: The flow is invalid.
            OSError: The file cannot be written.
        """
        return FlowPlot(self).plot(filename, show)

    @hybridmethod
    def to_mermaid(self) -> str:
        """Return the flow as a mermaid flowchart; can be called on the class.

        Raises:
            DefinitionError: The flow is invalid.
        """
        return FlowPlot(self).to_mermaid()

    def _repr_html_(self) -> str:
        from crewgraph.plot.flow import display_flow

        return display_flow(self)

    @traced_to_the_caller
    def kickoff(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, object] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        *,
        config: "RunnableConfig | None" = None,
        **more: object,
    ) -> Any:
        """Run the flow.

        Args:
            inputs: Values for fields of the state, and for parameters of start methods. With `id`, continues that run; a
                completed run starts again with its state.
            input_files: Files by name, or a list of files, for crews that methods start without files of their own.
            from_checkpoint: The checkpoint to continue from. Without `restore_from`, sets how checkpoints of this flow are made
                from now on.
            restore_from_state_id: The run whose stored state this run starts with, under a new `id`.
            config: LangChain's config for the run: `callbacks`, `tags`, `metadata`, `run_name`, `max_concurrency`, and
                `configurable` with values for tools and, unless `inputs` has an `id`, the `thread_id`.
            more: More inputs.

        Returns:
            The return value of the method that completed last, or a `PendingFlow` if the run waits for an answer. With
            `stream=True` on the flow, a `StreamSession`, as from `stream_events`; iterating over it runs the flow.

        Raises:
            DefinitionError: The flow is invalid, or the inputs do not fit its state.
            TypeError: `inputs` is not a mapping.
            FlowLoopError: A method ran more often than `max_method_calls`.
            Exception: Any exception of a method.
        """
        merged = self._prepare_inputs(
            _merge_inputs(inputs, more, config), input_files, from_checkpoint, restore_from_state_id
        )
        own = override_of(self, "kickoff_async")
        if own is None and is_awaited():
            return self.kickoff_async(merged, config=config)
        if own is not None:
            return call(own, merged or None, **({} if config is None else {"config": config}))
        if self.streaming:
            from crewgraph.runtime.streaming.flow import watched_frames

            return StreamSession[Any](sync_iterator=watched_frames(self, merged, config).items())
        from crewgraph.runtime.execution import run_interruptibly
        from crewgraph.runtime.flow.kickoff import run_of

        return run_interruptibly(run_of(self, merged, None, config))

    @overridable
    @traced_to_the_caller
    async def kickoff_async(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        *,
        config: "RunnableConfig | None" = None,
        **more: object,
    ) -> Any:
        """Run the flow on the current event loop; see `kickoff`."""
        merged = self._prepare_inputs(
            _merge_inputs(inputs, more, config), input_files, from_checkpoint, restore_from_state_id
        )
        if self.streaming:
            from crewgraph.runtime.streaming.flow import watched_frames

            return AsyncStreamSession[Any](async_iterator=watched_frames(self, merged, config).aitems())
        from crewgraph.runtime.execution import arun_interruptibly
        from crewgraph.runtime.flow.kickoff import run_of

        return await arun_interruptibly(run_of(self, merged, None, config))

    akickoff = other_form(kickoff_async, "akickoff")
    """The same as `kickoff_async`."""

    def stream(
        self,
        inputs: Inputs | None = None,
        *,
        feedback: Any = None,
        config: "RunnableConfig | None" = None,
        **more: Any,
    ) -> "Generator[StreamItem]":
        """Run the flow and yield events as they happen; the last one holds the result.

        The run advances as items are consumed. Models are asked to stream. Leaving the loop stops the run; if it is stored, the
        same `id` continues it.

        Args:
            inputs: As for `kickoff`; with `id`, continues the run of that id.
            feedback: With `id`, the answer that the run waits for, as for `resume`.
            config: LangChain's config for the run, as for `kickoff`.
            more: More inputs.

        Raises:
            RunError: There is an answer, but no `id`.
            Exception: As for `kickoff`, after the items of what completed.
        """
        from crewgraph.runtime.streaming.flow import watched_flow

        return watched_flow(self, _merge_inputs(inputs, more, config), feedback, config).items()

    def astream(
        self,
        inputs: Inputs | None = None,
        *,
        feedback: Any = None,
        config: "RunnableConfig | None" = None,
        **more: Any,
    ) -> "AsyncGenerator[StreamItem]":
        """Run the flow on the current event loop and yield events as they happen; see `stream`.

        If the loop may be left early, use `async with contextlib.aclosing(flow.astream()) as items`; otherwise the run stops
        only when the generator is garbage-collected.
        """
        from crewgraph.runtime.streaming.flow import watched_flow

        return watched_flow(self, _merge_inputs(inputs, more, config), feedback, config).aitems()

    def stream_events(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, object] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        **more: object,
    ) -> StreamSession[Any]:
        """Run the flow and yield every event as a frame of plain data; `session.result` is the result.

        The arguments are those of `kickoff`. `stream` yields the same events as objects.
        """
        merged = self._prepare_inputs(_merge_inputs(inputs, more), input_files, from_checkpoint, restore_from_state_id)
        from crewgraph.runtime.streaming.flow import watched_frames

        return StreamSession(sync_iterator=watched_frames(self, merged).items())

    def astream_events(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, object] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        **more: object,
    ) -> AsyncStreamSession[Any]:
        """Run the flow on the current event loop and yield every event as a frame; see `stream_events`."""
        merged = self._prepare_inputs(_merge_inputs(inputs, more), input_files, from_checkpoint, restore_from_state_id)
        from crewgraph.runtime.streaming.flow import watched_frames

        return AsyncStreamSession(async_iterator=watched_frames(self, merged).aitems())

    @from_program
    def resume(self, flow_id: str | None = None, feedback: object = None) -> "Program[Any]":
        """Continue a stored run that did not complete.

        Args:
            flow_id: The id of the run. A flow created by `from_pending` knows it, and takes the answer as its only argument.
            feedback: The answer to the pending question: a string, or strings by question id. Without one, a waiting run stays
                pending.

        Returns:
            As for `kickoff`; the stored result if the run was complete.

        Raises:
            RunError: There is no such run.
        """
        from crewgraph.runtime.execution import interruptibly
        from crewgraph.runtime.flow.kickoff import resumed_flow

        return interruptibly(resumed_flow(self, *self.match_answer(flow_id, feedback)))

    aresume = async_of(resume)
    """Async `resume`."""

    resume_async = other_form(aresume, "resume_async")
    """CrewAI's name for `aresume`."""

    @from_program
    def run_or_resume(self, flow_id: str, inputs: Inputs | None = None) -> "Program[Any]":
        """Run to the end, whatever the run's current status: for jobs of a queue, which may be delivered twice.

        Without a stored run one begins with the inputs. A run that failed, or whose process died, continues. One that is done
        returns its result, and one that waits for an answer the `PendingFlow`.

        Args:
            flow_id: The id of the run.
            inputs: Values for the state of a new run.

        Raises:
            ThreadBusy: Somebody runs it now. A queue must try again later: what runs may still die.
            RunError: Runs of the flow are not stored.
        """
        from crewgraph.runtime.execution import interruptibly
        from crewgraph.runtime.flow.kickoff import run_or_resume_flow

        return interruptibly(run_or_resume_flow(self, flow_id, dict(inputs or {})))

    arun_or_resume = async_of(run_or_resume)
    """Async `run_or_resume`."""

    def ask(self, message: str, timeout: float | None = None, metadata: Mapping[str, Any] | None = None) -> Any:
        """Ask a person from inside a method, and return the answer as a string.

        With a terminal, the question is asked there. Otherwise the run pauses, and the method runs again with the answer.

        Args:
            message: The question.
            timeout: Seconds to wait at a terminal, after which the answer is None. A stored run waits without a limit.
            metadata: Additional data for the person or provider that answers.

        Raises:
            RunError: No method is running, or the run is not stored.
        """
        from crewgraph.runtime.flow.kickoff import ask

        return ask(message, timeout, metadata)

    def compile(
        self,
        *,
        checkpointer: Any = None,
        store: object = None,
        name: str | None = None,
        messages: bool | str = False,
        context_schema: type[Any] | None = None,
        **options: object,
    ) -> "CompiledStateGraph[Any]":
        """Compile the flow to a LangGraph graph.

        Args:
            checkpointer: Where runs are stored; None inherits that of a parent graph.
            store: A LangGraph store for the methods.
            name: The graph's name, as a node of another graph and in traces; None for that of the flow.
            messages: Whether the graph takes part in a conversation: the text of the last human message in `messages` is the
                value of the flow's only input (a field of its state or a parameter of its start method), or of the named one;
                an input called `messages` holds the whole conversation, as dicts; the result is added to it.
            context_schema: The schema of LangGraph's `context`, which methods read as `get_runtime().context` and tools as
                `runtime.context`.
            options: Other arguments of LangGraph's `compile`, such as `interrupt_before`.

        Raises:
            DefinitionError: The flow is invalid.
            CompileError: A `granularity` is asked for: each method is a node.
        """
        from crewgraph.runtime.flow.kickoff import compile_flow

        return compile_flow(
            self,
            checkpointer=checkpointer,
            store=store,
            name=name,
            messages=messages,
            context_schema=context_schema,
            **options,
        )

    def as_tool(self, name: str | None = None, description: str | None = None) -> "StructuredTool":
        """Return the flow as a LangChain tool, for agents that are not crewgraph's; each call runs a flow of its own.

        Its arguments are the fields of the state and the parameters of the start methods; it returns the flow's result as text,
        with the result itself as the artifact.

        Args:
            name: The tool's name; None makes one of the flow's name.
            description: What the tool is for; None takes the docstring of the class.

        Raises:
            DefinitionError: The flow is invalid.
        """
        own = inspect.getdoc(type(self))  # of the class, or inherited
        about = description or (own if own != inspect.getdoc(Flow) else None)
        from crewgraph.runtime.run_tool import flow_tool

        return flow_tool(
            self,
            name,
            about,
            lambda inputs: self.detached().kickoff(inputs),
            lambda inputs: self.detached().akickoff(inputs),
        )

    @hybridmethod
    @from_program
    def runs(
        self, *, status: StatusFilter | None = None, inside: bool = False, limit: int | None = None
    ) -> "Program[list[RunInfo]]":
        """Return the stored runs of this flow, last updated first; can be called on the class.

        Args:
            status: Only runs with this status: "working", "waiting" (for an answer), "failed", "abandoned", "done"; "open"
                for those that can be resumed, failed or abandoned.
            inside: Whether to include runs inside methods of other flows.
            limit: Maximum number of runs; None returns all.

        Raises:
            StorageError: The stored runs cannot be read.
        """
        from crewgraph.runtime.runs.index import list_flow_runs

        return list_flow_runs(self, RunFilter(status=status, inside=inside, limit=limit))

    aruns = hybridmethod(async_of(runs.function))
    """Async `runs`."""

    @hybridmethod
    @from_program
    def pending(self) -> "Program[list[PendingFlow]]":
        """Return the stored runs that wait for an answer; can be called on the class."""
        from crewgraph.runtime.runs.index import list_pending_flows

        return list_pending_flows(self)

    apending = hybridmethod(async_of(pending.function))
    """Async `pending`."""

    @from_program
    def history(self, flow_id: str | None = None) -> "Program[FlowSteps]":
        """Return the steps of a stored run, oldest first.

        Args:
            flow_id: The run; None means that of `state`.

        Raises:
            RunError: There is no such run.
        """
        from crewgraph.runtime.runs.flow_history import flow_steps

        return flow_steps(self, flow_id)

    ahistory = async_of(history)
    """Async `history`."""

    @ForkMethod
    @from_program
    def fork(self, step: FlowStep, state: Mapping[str, object] | None = None) -> "Program[Any]":
        """Continue a run from an earlier step, optionally with a changed state; later work of the run is set aside.

        Args:
            step: A step of `history`.
            state: New values for fields of the state.

        Returns:
            As for `kickoff`.

        Raises:
            DefinitionError: The values do not fit the state.
        """
        from crewgraph.runtime.execution import interruptibly
        from crewgraph.runtime.runs.flow_history import fork_program

        return interruptibly(fork_program(self, step, state))

    afork = async_of(fork.function)
    """Async `fork`."""

    def _prepare_inputs(
        self,
        inputs: dict[str, Any],
        input_files: Mapping[str, Any] | None,
        from_checkpoint: CheckpointSettings | None,
        state_id: str | None,
    ) -> dict[str, Any]:
        """Return the inputs of a kickoff, after the run to continue has been determined.

        Raises:
            ValueError: a value among the files is not a file, or does not exist.
            RunError: no state is stored under an id.
        """
        if input_files:
            inputs = {**inputs, FILES: extension("files.record")(extension("files.read")(input_files))}
        if from_checkpoint is not None:
            apply_from_checkpoint(self, from_checkpoint)
        if state_id is None:
            return inputs
        from crewgraph.runtime.flow.kickoff import load_flow_state

        if not load_flow_state(self, state_id):
            warnings.warn(f"no state is stored under `{state_id}`; the run starts afresh", stacklevel=user_stacklevel())
            return inputs
        state = self.state
        values: Mapping[str, object] = dict(cast("Any", state))
        self.take_state(self._fresh_state())
        return {**{name: value for name, value in values.items() if name != "id"}, **inputs}

    def _load_state(self, flow_id: str) -> bool:
        """Load the stored state of a run, which the next `kickoff` continues; return whether there is one."""
        from crewgraph.runtime.flow.kickoff import load_flow_state

        is_stored = load_flow_state(self, flow_id)
        if is_stored:
            self._resumed_id = flow_id
        return is_stored

    @classmethod
    def from_pending(
        cls, flow_id: str, persistence: "FlowPersistence | None" = None, *, definition: Any = None, **kwargs: Any
    ) -> Self:
        """Create a flow for a run that waits for an answer; `resume(answer)` continues it.

        Args:
            flow_id: The id of the run.
            persistence: A backend to save states to, as for the constructor.
            definition: The flow's declaration, if it was created from one.
            kwargs: Other arguments of the constructor.

        Raises:
            DefinitionError: No such run waits for an answer (also a ValueError).
        """
        if persistence is not None:
            kwargs["persistence"] = persistence
        flow = cls(**kwargs) if definition is None else cls.from_declaration(contents=definition, **kwargs)
        from crewgraph.runtime.flow.kickoff import waiting_flow_runs

        flow._pending_flow = waiting_flow_runs(flow, flow_id)
        return flow

    @property
    def pending_feedback(self) -> PendingFeedbackContext | None:
        """The pending question of a flow created by `from_pending`; None once answered."""
        return self._pending_flow.context if self._pending_flow is not None else None

    @property
    def input_history(self) -> list[dict[str, Any]]:
        """The questions and answers of `ask` in the last run in this process, in order."""
        return list(self._last.inputs_asked) if self._last is not None else []

    @property
    def _input_history(self) -> list[dict[str, object]]:
        return self.input_history

    def match_answer(self, flow_id: str | None, feedback: object) -> tuple[str, Any]:
        """Return the id of the run to continue, and the answer.

        Raises:
            RunError: Neither this object nor the caller names a run.
        """
        pending_flow = self._pending_flow
        if pending_flow is None or flow_id == pending_flow.flow_id:
            if flow_id is None:
                raise RunError(
                    "`resume` needs the run: `resume(flow_id, answer)`, or make the flow with `from_pending`."
                )
            return flow_id, feedback
        self._pending_flow = None
        return pending_flow.flow_id, feedback if feedback is not None else flow_id or ""


Flow.define()  # `__init_subclass__` is for subclasses


def _merge_inputs(inputs: Any, more: dict[str, object], config: "RunnableConfig | None" = None) -> dict[str, object]:
    """Merge `inputs` with keyword inputs, and with the thread of a caller's config as their `id`.

    Raises:
        TypeError: `inputs` is not a mapping.
        RunError: The inputs have another `id` than the config.
    """
    if inputs is not None and not isinstance(inputs, Mapping):
        raise TypeError(f'`inputs` is {inputs!r:.80}; pass a dict of names and values: {{"topic": "rain"}}')
    merged: dict[str, object] = {**(inputs or {}), **more}
    if config is None:
        return merged
    input_id = merged.get("id")
    thread_id = thread_of(None if input_id is None else str(input_id), config)
    return merged if thread_id is None or input_id is not None else {**merged, "id": thread_id}
