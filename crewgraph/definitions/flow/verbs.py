"""The verbs that users call on flows, carried out by the runtime.

Methods that may be called on an object or on its class.

Drawings of flows, made by the room `plot`.

Flows that wait for somebody's answer, taken up by another process.
"""

import os
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from crewgraph.core.loops.bridge import call
from crewgraph.definitions.checkpoints import CheckpointSettings, ForkVerb
from crewgraph.definitions.crew.pending import RunFilter, RunInfo, RunStatus
from crewgraph.definitions.flow.feedback import PendingFeedbackContext, PendingFlow
from crewgraph.definitions.flow.step import FlowStep
from crewgraph.definitions.run_options import FlowRunOptions
from crewgraph.errors import RunError
from crewgraph.events.frames import AsyncStreamSession, StreamSession
from crewgraph.lazy import lazy
from crewgraph.overrides import overridable, override_of

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from crewgraph.definitions.flow.flow import Flow
    from crewgraph.definitions.flow.persistence import FlowPersistence
    from crewgraph.definitions.stream import StreamItem
    from crewgraph.plot.flow import shown, text_of, written
    from crewgraph.runtime.flow.kickoff import akickoff, aresume, ask, compiled, kickoff, resume, state_around, waiting
    from crewgraph.runtime.runs.flow_history import afork, ahistory, fork, history
    from crewgraph.runtime.runs.index import aflow_runs, apending, flow_runs, pending
    from crewgraph.runtime.streaming.flow import achunked, aframes, astream, chunked, frames, stream
else:
    shown = lazy("crewgraph.plot.flow:shown")
    text_of = lazy("crewgraph.plot.flow:text_of")
    written = lazy("crewgraph.plot.flow:written")
    akickoff = lazy("crewgraph.runtime.flow.kickoff:akickoff")
    aresume = lazy("crewgraph.runtime.flow.kickoff:aresume")
    ask = lazy("crewgraph.runtime.flow.kickoff:ask")
    compiled = lazy("crewgraph.runtime.flow.kickoff:compiled")
    kickoff = lazy("crewgraph.runtime.flow.kickoff:kickoff")
    resume = lazy("crewgraph.runtime.flow.kickoff:resume")
    state_around = lazy("crewgraph.runtime.flow.kickoff:state_around")
    aframes = lazy("crewgraph.runtime.streaming.flow:aframes")
    frames = lazy("crewgraph.runtime.streaming.flow:frames")
    afork = lazy("crewgraph.runtime.runs.flow_history:afork")
    ahistory = lazy("crewgraph.runtime.runs.flow_history:ahistory")
    fork = lazy("crewgraph.runtime.runs.flow_history:fork")
    history = lazy("crewgraph.runtime.runs.flow_history:history")
    achunked = lazy("crewgraph.runtime.streaming.flow:achunked")
    astream = lazy("crewgraph.runtime.streaming.flow:astream")
    chunked = lazy("crewgraph.runtime.streaming.flow:chunked")
    stream = lazy("crewgraph.runtime.streaming.flow:stream")
    aflow_runs = lazy("crewgraph.runtime.runs.index:aflow_runs")
    apending = lazy("crewgraph.runtime.runs.index:apending")
    flow_runs = lazy("crewgraph.runtime.runs.index:flow_runs")
    pending = lazy("crewgraph.runtime.runs.index:pending")
    waiting = lazy("crewgraph.runtime.flow.kickoff:waiting")

__all__ = ["FlowDrawings", "FlowPlot", "FlowVerbs", "PendingFlowVerbs", "hybridmethod"]


Given = ParamSpec("Given")
Result = TypeVar("Result")


class hybridmethod(Generic[Given, Result]):
    """A method that is called on an object or on its class, and is given that."""

    def __init__(self, function: Callable[Concatenate[Any, Given], Result]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, thing: object, kind: type) -> Callable[Given, Result]:
        return MethodType(self.function, kind if thing is None else thing)


class FlowPlot:
    """Draws a flow.

    Args:
        flow: the flow, or its class.
    """

    def __init__(self, flow: "Flow[Any] | type[Flow[Any]]") -> None:
        self.flow = flow

    def plot(self, filename: str | os.PathLike[str] = "crewai_flow", show: bool = False) -> str:
        """Write the flow as a page for browsers; see `Flow.plot`."""
        return written(self.flow, filename, show)

    def to_mermaid(self) -> str:
        """The flow as mermaid text; see `Flow.to_mermaid`."""
        return text_of(self.flow)

    def _repr_html_(self) -> str:
        return shown(self.flow)


class FlowDrawings:
    """What can be drawn of a flow."""

    @hybridmethod
    def plot(self, filename: str | os.PathLike[str] = "crewai_flow", show: bool = False) -> str:
        """Write the flow as a page for browsers, one HTML file that needs no network; also of a class.

        A dashed border says that a method calls a crew. That is a guess: its code names `kickoff`, or a sibling of it, as
        an attribute of anything.

        Args:
            filename: where to; ".html" is added where it is missing. A file that is there is replaced.
            show: whether it is opened in a browser, too.

        Returns:
            The path of the file, which is printed, too.

        Raises:
            DefinitionError: the flow has faults.
            OSError: the file cannot be written.
        """
        return FlowPlot(cast("Flow[Any]", self)).plot(filename, show)

    @hybridmethod
    def to_mermaid(self) -> str:
        """The flow as the text of a mermaid flowchart; also of a class.

        Raises:
            DefinitionError: the flow has faults.
        """
        return FlowPlot(cast("Flow[Any]", self)).to_mermaid()

    def _repr_html_(self) -> str:
        return shown(cast("Flow[Any]", self))


class FlowVerbs(FlowDrawings):
    """What a flow can do."""

    streaming: bool

    if TYPE_CHECKING:

        def take_up(self, inputs: dict[str, Any], options: FlowRunOptions) -> dict[str, Any]: ...
        def answering(self, flow_id: str | None, feedback: Any) -> tuple[str, Any]: ...

    def kickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> Any:
        """Run the flow.

        Args:
            inputs: values for fields of the state, and for parameters of start methods of the same names. With `id`, the run
                of that id goes on; one that is done begins anew with its state.
            input_files: files by name, or a list of them, for the crews that methods kick off without files of their own.
            from_checkpoint: the checkpoint that is gone on from; where it has no `restore_from`, how checkpoints of this flow are
                made from now on.
            restore_from_state_id: the run whose state, as it is kept, this one begins with, under an `id` of its own.
            more: more of them.

        Returns:
            What the method returned that completed last; a `PendingFlow` where the run waits for somebody's answer. Of a flow
            made with `stream=True` a `FlowStreamingOutput`, whose iteration is the run.

        Raises:
            DefinitionError: the flow has faults, or the inputs do not fit its state.
            TypeError: the inputs are no mapping.
            FlowLoopError: a method ran more often than `max_method_calls`.
            Exception: whatever a method raised.
        """
        options = FlowRunOptions(
            input_files=input_files, from_checkpoint=from_checkpoint, restore_from_state_id=restore_from_state_id
        )
        given = self.prepare_inputs(_merge_inputs(inputs, more), options)
        own = override_of(self, "kickoff_async")
        if own is not None:
            return call(own, given or None)
        flow = cast("Flow[Any]", self)
        return chunked(flow, given) if self.streaming else kickoff(flow, given)

    @overridable
    async def kickoff_async(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> Any:
        """Run the flow on this event loop; see `kickoff`."""
        options = FlowRunOptions(
            input_files=input_files, from_checkpoint=from_checkpoint, restore_from_state_id=restore_from_state_id
        )
        given = self.prepare_inputs(_merge_inputs(inputs, more), options)
        flow = cast("Flow[Any]", self)
        return achunked(flow, given) if self.streaming else await akickoff(flow, given)

    async def akickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> Any:
        """Run the flow on this event loop; see `kickoff`."""
        return await self.kickoff_async(inputs, input_files, from_checkpoint, restore_from_state_id, **more)

    def stream(
        self, inputs: Mapping[str, Any] | None = None, *, feedback: Any = None, **more: Any
    ) -> "Generator[StreamItem]":
        """Run the flow, and tell of everything as it happens; the last item holds the result.

        The run goes on while items are taken. Models stream because of it. Leaving the loop ends the run; with the same `id` it
        goes on with what was done, if it is kept.

        Args:
            inputs: as for `kickoff`; with `id`, the run of that id goes on.
            feedback: with `id`, the answer to what that run waits for, as for `resume`.
            more: more inputs.

        Raises:
            RunError: there is an answer and no `id`.
            Exception: what `kickoff` raises, behind the items of what was done before.
        """
        return stream(cast("Flow[Any]", self), _merge_inputs(inputs, more), feedback)

    def astream(
        self, inputs: Mapping[str, Any] | None = None, *, feedback: Any = None, **more: Any
    ) -> "AsyncGenerator[StreamItem]":
        """Run the flow on this event loop, and tell of everything as it happens; see `stream`.

        Use it as `async with contextlib.aclosing(flow.astream()) as items` where the loop may be left early: else the run
        ends only when Python finds that nobody holds it.
        """
        return astream(cast("Flow[Any]", self), _merge_inputs(inputs, more), feedback)

    def stream_events(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> StreamSession[Any]:
        """Run the flow, and tell every event as a frame, as plain data; `session.result` is what came of it.

        The arguments are those of `kickoff`. `stream` tells the same as items of classes.
        """
        options = FlowRunOptions(
            input_files=input_files, from_checkpoint=from_checkpoint, restore_from_state_id=restore_from_state_id
        )
        given = self.prepare_inputs(_merge_inputs(inputs, more), options)
        return frames(cast("Flow[Any]", self), given)

    def astream_events(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> AsyncStreamSession[Any]:
        """Run the flow on this event loop, and tell every event as a frame; see `stream_events`."""
        options = FlowRunOptions(
            input_files=input_files, from_checkpoint=from_checkpoint, restore_from_state_id=restore_from_state_id
        )
        given = self.prepare_inputs(_merge_inputs(inputs, more), options)
        return aframes(cast("Flow[Any]", self), given)

    def resume(self, flow_id: str | None = None, feedback: Any = None) -> Any:
        """Go on with a run that is kept, and was not done.

        Args:
            flow_id: the run. A flow made by `from_pending` knows it, and is given the answer alone.
            feedback: the answer to what it waits for: a text, or texts by the ids of the questions. Without one, a run that
                waits goes on waiting.

        Returns:
            As `kickoff`; what it gave, where it was done.

        Raises:
            RunError: there is no such run.
        """
        return resume(cast("Flow[Any]", self), *self.match_answer(flow_id, feedback))

    async def aresume(self, flow_id: str | None = None, feedback: Any = None) -> Any:
        """Go on with a run on this event loop; see `resume`."""
        return await aresume(cast("Flow[Any]", self), *self.match_answer(flow_id, feedback))

    async def resume_async(self, flow_id: str | None = None, feedback: Any = None) -> Any:
        """Go on with a run on this event loop; see `resume`."""
        return await self.aresume(flow_id, feedback)

    def ask(self, message: str, timeout: float | None = None, metadata: Mapping[str, Any] | None = None) -> Any:
        """Ask somebody, from inside a method; the answer is a text.

        On a terminal that is done at once; else the run waits, and the method runs again with the answer.

        Args:
            message: what is asked.
            timeout: seconds after which a terminal is not read any more, and the answer is None. A run that is kept waits for
                as long as it takes.
            metadata: what else is to be known.

        Raises:
            RunError: no method is running, or the run is not kept.
        """
        return ask(message, timeout, metadata)

    def compile(
        self, *, checkpointer: Any = None, store: Any = None, granularity: str | None = None, **wishes: Any
    ) -> "CompiledStateGraph[Any, Any, Any, Any]":
        """The flow as a LangGraph graph.

        Args:
            checkpointer: where its runs are kept; None for the surrounding graph's.
            store: a LangGraph store for its methods.
            granularity: "method" for a node for each method, "flow" for one node; that of the flow where None.
            wishes: other arguments of LangGraph's `compile`, as `interrupt_before`.

        Raises:
            DefinitionError: the flow has faults.
            CompileError: there is no such granularity, or it has no node to stop at.
        """
        return compiled(cast("Flow[Any]", self), granularity, checkpointer=checkpointer, store=store, **wishes)

    @hybridmethod
    def runs(self, *, status: RunStatus | None = None, inside: bool = False, limit: int | None = None) -> list[RunInfo]:
        """The runs of this flow that are kept, those written last first; also of a class.

        Args:
            status: those alone: "finished", "pending" (waiting for an answer) or "open" (to be resumed).
            inside: also those inside the methods of other flows.
            limit: at most so many.

        Raises:
            StorageError: what is kept cannot be read.
        """
        return flow_runs(cast("Flow[Any]", self), RunFilter(status=status, inside=inside, limit=limit))

    @hybridmethod
    async def aruns(
        self, *, status: RunStatus | None = None, inside: bool = False, limit: int | None = None
    ) -> list[RunInfo]:
        """The runs of this flow that are kept, read on this event loop; see `runs`."""
        return await aflow_runs(cast("Flow[Any]", self), RunFilter(status=status, inside=inside, limit=limit))

    @hybridmethod
    def pending(self) -> list[PendingFlow]:
        """The runs of this flow that are kept, and wait for somebody's answer; also of a class."""
        return pending(cast("Flow[Any]", self))

    @hybridmethod
    async def apending(self) -> list[PendingFlow]:
        """The runs of this flow that wait for somebody's answer, read on this event loop; see `pending`."""
        return await apending(cast("Flow[Any]", self))

    def history(self, flow_id: str | None = None) -> list[FlowStep]:
        """What a kept run did, step by step, the latest last.

        Args:
            flow_id: the run; that of `state` where None.

        Raises:
            RunError: there is no such run.
        """
        return history(cast("Flow[Any]", self), flow_id)

    async def ahistory(self, flow_id: str | None = None) -> list[FlowStep]:
        """What a kept run did, read on this event loop; see `history`."""
        return await ahistory(cast("Flow[Any]", self), flow_id)

    @ForkVerb
    def fork(self, step: FlowStep, state: Mapping[str, Any] | None = None) -> Any:
        """Run on from a step of the past, which was perhaps to leave another state; what the run did since is left aside.

        Args:
            step: one of `history`.
            state: values for fields of the state.

        Returns:
            As `kickoff`.

        Raises:
            DefinitionError: the values do not fit the state.
        """
        return fork(cast("Flow[Any]", self), step, state)

    async def afork(self, step: FlowStep, state: Mapping[str, Any] | None = None) -> Any:
        """Run on from a step of the past on this event loop; see `fork`."""
        return await afork(cast("Flow[Any]", self), step, state)

    def running_state(self, otherwise: Any) -> Any:
        """The state of the run around the running code, if it is one of this flow."""
        return state_around(cast("Flow[Any]", self), otherwise)


def _merge_inputs(inputs: Any, more: dict[str, Any]) -> dict[str, Any]:
    """All inputs of a run.

    Raises:
        TypeError: they are no mapping.
    """
    if inputs is not None and not isinstance(inputs, Mapping):
        raise TypeError(f'`inputs` is {inputs!r:.80}; give a dict of names and values: {{"topic": "rain"}}')
    return {**(inputs or {}), **more}


class PendingFlowVerbs:
    """The part of a flow that knows what it waits for."""

    input_provider: Any = None
    """Answers what methods ask with `self.ask`; see `InputProvider`. That of `flow_config` where None."""

    _pending_flow: PendingFlow | None = None
    _last: Any

    @classmethod
    def from_pending(
        cls, flow_id: str, persistence: "FlowPersistence | None" = None, *, definition: Any = None, **kwargs: Any
    ) -> Self:
        """A flow whose run waits for an answer: `resume(answer)` goes on with it.

        Args:
            flow_id: the run.
            persistence: a backend that states are saved to, as for the class.
            definition: without effect: a flow's definition is its class.
            kwargs: other arguments of the class.

        Raises:
            DefinitionError: no such run waits (also ValueError).
        """
        flow = cls(**({"persistence": persistence} if persistence is not None else {}), **kwargs)
        flow._pending_flow = waiting(cast("Flow[Any]", flow), flow_id)
        return flow

    @property
    def pending_feedback(self) -> PendingFeedbackContext | None:
        """What a flow made by `from_pending` waits for; None once that is answered."""
        return self._pending_flow.context if self._pending_flow is not None else None

    @property
    def input_history(self) -> list[dict[str, Any]]:
        """What methods of the last run asked with `ask` in this process, and was answered, in its order."""
        return list(self._last.inputs_asked) if self._last is not None else []

    @property
    def _input_history(self) -> list[dict[str, Any]]:
        return self.input_history

    def match_answer(self, flow_id: str | None, feedback: Any) -> tuple[str, Any]:
        """The run that is gone on with, and the answer.

        Raises:
            RunError: neither this object nor the caller names a run.
        """
        waits = self._pending_flow
        if waits is None or flow_id == waits.flow_id:
            if flow_id is None:
                raise RunError(
                    "`resume` needs the run: `resume(flow_id, answer)`, or make the flow with `from_pending`."
                )
            return flow_id, feedback
        self._pending_flow = None
        return waits.flow_id, feedback if feedback is not None else flow_id or ""
