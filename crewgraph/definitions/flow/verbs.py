"""The verbs that users call on flows, carried out by the runtime."""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from crewgraph.core.loops.bridge import call
from crewgraph.definitions.checkpoint_config import CheckpointConfig
from crewgraph.definitions.door import flow_frames, flow_history, flow_streams, flows, runs
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.definitions.flow.flow_plot import FlowDrawings
from crewgraph.definitions.flow.step import FlowStep
from crewgraph.definitions.fork_verb import ForkVerb
from crewgraph.definitions.of_both import OfBoth
from crewgraph.definitions.run_info import RunInfo, RunStatus
from crewgraph.events.stream_session import AsyncStreamSession, StreamSession
from crewgraph.own_version import ours, own_version

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from crewgraph.definitions.stream import StreamItem

__all__ = ["FlowVerbs"]


class FlowVerbs(FlowDrawings):
    """What a flow can do."""

    streaming: bool
    take_up: Callable[..., dict[str, Any]]
    answering: Callable[[str | None, Any], tuple[str, Any]]

    def kickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointConfig | None = None,
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
        given = self.take_up(_given(inputs, more), input_files, from_checkpoint, restore_from_state_id)
        own = own_version(self, "kickoff_async")
        if own is not None:
            return call(own, given or None)
        run = flow_streams().chunked if self.streaming else flows().kickoff
        return run(self, given)

    @ours
    async def kickoff_async(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointConfig | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> Any:
        """Run the flow on this event loop; see `kickoff`."""
        given = self.take_up(_given(inputs, more), input_files, from_checkpoint, restore_from_state_id)
        return flow_streams().achunked(self, given) if self.streaming else await flows().akickoff(self, given)

    async def akickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointConfig | None = None,
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
        return flow_streams().stream(self, _given(inputs, more), feedback)

    def astream(
        self, inputs: Mapping[str, Any] | None = None, *, feedback: Any = None, **more: Any
    ) -> "AsyncGenerator[StreamItem]":
        """Run the flow on this event loop, and tell of everything as it happens; see `stream`.

        Use it as `async with contextlib.aclosing(flow.astream()) as items` where the loop may be left early: else the run
        ends only when Python finds that nobody holds it.
        """
        return flow_streams().astream(self, _given(inputs, more), feedback)

    def stream_events(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointConfig | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> StreamSession[Any]:
        """Run the flow, and tell every event as a frame, as plain data; `session.result` is what came of it.

        The arguments are those of `kickoff`. `stream` tells the same as items of classes.
        """
        given = self.take_up(_given(inputs, more), input_files, from_checkpoint, restore_from_state_id)
        return flow_frames().frames(self, given)

    def astream_events(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointConfig | None = None,
        restore_from_state_id: str | None = None,
        **more: Any,
    ) -> AsyncStreamSession[Any]:
        """Run the flow on this event loop, and tell every event as a frame; see `stream_events`."""
        given = self.take_up(_given(inputs, more), input_files, from_checkpoint, restore_from_state_id)
        return flow_frames().aframes(self, given)

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
        return flows().resume(self, *self.answering(flow_id, feedback))

    async def aresume(self, flow_id: str | None = None, feedback: Any = None) -> Any:
        """Go on with a run on this event loop; see `resume`."""
        return await flows().aresume(self, *self.answering(flow_id, feedback))

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
        return flows().ask(message, timeout, metadata)

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
        return flows().compiled(self, granularity, checkpointer=checkpointer, store=store, **wishes)

    @OfBoth
    def runs(self, *, status: RunStatus | None = None, inside: bool = False, limit: int | None = None) -> list[RunInfo]:
        """The runs of this flow that are kept, those written last first; also of a class.

        Args:
            status: those alone: "finished", "pending" (waiting for an answer) or "open" (to be resumed).
            inside: also those inside the methods of other flows.
            limit: at most so many.

        Raises:
            StorageError: what is kept cannot be read.
        """
        return runs().flow_runs(self, status, inside, limit)

    @OfBoth
    async def aruns(
        self, *, status: RunStatus | None = None, inside: bool = False, limit: int | None = None
    ) -> list[RunInfo]:
        """The runs of this flow that are kept, read on this event loop; see `runs`."""
        return await runs().aflow_runs(self, status, inside, limit)

    @OfBoth
    def pending(self) -> list[PendingFlow]:
        """The runs of this flow that are kept, and wait for somebody's answer; also of a class."""
        return runs().pending(self)

    @OfBoth
    async def apending(self) -> list[PendingFlow]:
        """The runs of this flow that wait for somebody's answer, read on this event loop; see `pending`."""
        return await runs().apending(self)

    def history(self, flow_id: str | None = None) -> list[FlowStep]:
        """What a kept run did, step by step, the latest last.

        Args:
            flow_id: the run; that of `state` where None.

        Raises:
            RunError: there is no such run.
        """
        return flow_history().history(self, flow_id)

    async def ahistory(self, flow_id: str | None = None) -> list[FlowStep]:
        """What a kept run did, read on this event loop; see `history`."""
        return await flow_history().ahistory(self, flow_id)

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
        return flow_history().fork(self, step, state)

    async def afork(self, step: FlowStep, state: Mapping[str, Any] | None = None) -> Any:
        """Run on from a step of the past on this event loop; see `fork`."""
        return await flow_history().afork(self, step, state)

    def running_state(self, otherwise: Any) -> Any:
        """The state of the run around the running code, if it is one of this flow."""
        return flows().state_around(self, otherwise)


def _given(inputs: Any, more: dict[str, Any]) -> dict[str, Any]:
    """All inputs of a run.

    Raises:
        TypeError: they are no mapping.
    """
    if inputs is not None and not isinstance(inputs, Mapping):
        raise TypeError(f'`inputs` is {inputs!r:.80}; give a dict of names and values: {{"topic": "rain"}}')
    return {**(inputs or {}), **more}
