"""The verbs of crews: kickoff in its forms, resume, compile."""

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from crewgraph.core.loops.bridge import in_thread
from crewgraph.definitions.checkpoints import apply_from_checkpoint
from crewgraph.definitions.run_options import Checkpointer, RunOptions
from crewgraph.lazy import lazy
from crewgraph.overrides import overridable, override_of

if TYPE_CHECKING:
    from langgraph.cache.base import BaseCache
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore

    from crewgraph.definitions.checkpoints import CheckpointSettings
    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.definitions.stream import StreamItem
    from crewgraph.definitions.task.output import CrewOutput
    from crewgraph.runtime.crew.for_each import akickoff_for_each, kickoff_for_each
    from crewgraph.runtime.crew.graphs import compiled
    from crewgraph.runtime.crew.kickoff import akickoff, aresume, kickoff, resume
    from crewgraph.runtime.crew.results import each_with_files, with_files
    from crewgraph.runtime.streaming.crew import achunked, astream, chunked, stream
else:
    achunked = lazy("crewgraph.runtime.streaming.crew:achunked")
    chunked = lazy("crewgraph.runtime.streaming.crew:chunked")
    akickoff_for_each = lazy("crewgraph.runtime.crew.for_each:akickoff_for_each")
    kickoff_for_each = lazy("crewgraph.runtime.crew.for_each:kickoff_for_each")
    compiled = lazy("crewgraph.runtime.crew.graphs:compiled")
    each_with_files = lazy("crewgraph.runtime.crew.results:each_with_files")
    with_files = lazy("crewgraph.runtime.crew.results:with_files")
    akickoff = lazy("crewgraph.runtime.crew.kickoff:akickoff")
    aresume = lazy("crewgraph.runtime.crew.kickoff:aresume")
    kickoff = lazy("crewgraph.runtime.crew.kickoff:kickoff")
    resume = lazy("crewgraph.runtime.crew.kickoff:resume")
    astream = lazy("crewgraph.runtime.streaming.crew:astream")
    stream = lazy("crewgraph.runtime.streaming.crew:stream")

__all__ = ["CrewVerbs"]


class CrewVerbs:
    """What can be done with a crew."""

    @overridable
    def kickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: "CheckpointSettings | None" = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "CrewOutput":
        """Run the tasks; works in scripts, threads and inside a running event loop (a notebook cell).

        A crew made with `stream=True` gives a `CrewStreamingOutput` instead, whose iteration is the run.

        Args:
            inputs: values for the `{placeholders}`.
            input_files: files that belong to the run, by name: paths, bytes, open files or `crewgraph.contrib.files`' classes.
            thread_id: a name to keep the run under, for `resume`; one is made where None.
            checkpointer: where the run is kept: a LangGraph checkpointer, False for nowhere; the crew's own, else the
                default database, where None.
            granularity: "task" or "step"; see `compile`.
            from_checkpoint: the checkpoint that is gone on from, with this crew; where it has no `restore_from`, how checkpoints
                of this crew are made from now on.

        Returns:
            The output; a `PendingCrew` where the run waits for somebody's answer, and nobody sits at a terminal.

        Raises:
            MissingInput: a placeholder has no value.
            GuardrailFailed: a guardrail refused every attempt.
            StorageError: the run cannot be kept.
            Exception: whatever a model raised, with a note that names the task.
        """
        apply_from_checkpoint(self, from_checkpoint)
        crew, inputs = cast("Crew", self), with_files(inputs, input_files)
        options = RunOptions(thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)
        if self._streams():
            return cast("CrewOutput", chunked(crew, inputs, options))
        return kickoff(crew, inputs, options)

    @overridable
    async def akickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: "CheckpointSettings | None" = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "CrewOutput":
        """Run the tasks on this event loop; see `kickoff`."""
        apply_from_checkpoint(self, from_checkpoint)
        crew, inputs = cast("Crew", self), with_files(inputs, input_files)
        options = RunOptions(thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)
        if self._streams():
            return cast("CrewOutput", achunked(crew, inputs, options))
        return await akickoff(crew, inputs, options)

    @overridable
    async def kickoff_async(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: "CheckpointSettings | None" = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "CrewOutput":
        """CrewAI's name for `akickoff`; a `kickoff` of the class's own, or a patched one, is called in a thread instead."""
        own = override_of(self, "kickoff")
        if own is not None:
            apply_from_checkpoint(self, from_checkpoint)
            return await in_thread(own, with_files(inputs, input_files))
        return await CrewVerbs.akickoff(
            self,
            inputs,
            input_files,
            from_checkpoint,
            thread_id=thread_id,
            checkpointer=checkpointer,
            granularity=granularity,
        )

    def kickoff_for_each(
        self,
        inputs: Sequence[Mapping[str, Any]],
        input_files: Any = None,
        *,
        max_concurrency: int | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "list[CrewOutput]":
        """Run the tasks for each of several inputs, one run after the other; the outputs come in the order of the inputs.

        Each is a run of its own: with its own thread, callbacks and events. Where one fails, the others go on to their
        ends; then the first failure is raised. It has two attributes more: `outputs`, a list with what each run gave and
        None for those that failed, and `failures`, the exceptions by position. `usage_metrics` of the crew is afterwards
        the sum over all.

        Args:
            inputs: for each run, values for the `{placeholders}`.
            input_files: files that belong to each of the runs.
            max_concurrency: how many runs there may be at a time, each in a thread; one where None.
            checkpointer: where the runs are kept, as for `kickoff`.
            granularity: "task" or "step"; see `compile`.

        Raises:
            TypeError: the inputs are no list of dicts.
            Exception: as `kickoff`.
        """
        inputs = each_with_files(inputs, input_files)
        options = RunOptions(checkpointer=checkpointer, granularity=granularity)
        return kickoff_for_each(cast("Crew", self), inputs, options, max_concurrency=max_concurrency)

    async def akickoff_for_each(
        self,
        inputs: Sequence[Mapping[str, Any]],
        input_files: Any = None,
        *,
        max_concurrency: int | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "list[CrewOutput]":
        """Run the tasks for each input on this event loop, all at once unless there is a `max_concurrency`."""
        inputs = each_with_files(inputs, input_files)
        options = RunOptions(checkpointer=checkpointer, granularity=granularity)
        return await akickoff_for_each(cast("Crew", self), inputs, options, max_concurrency=max_concurrency)

    async def kickoff_for_each_async(
        self,
        inputs: Sequence[Mapping[str, Any]],
        input_files: Any = None,
        *,
        max_concurrency: int | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "list[CrewOutput]":
        """CrewAI's name for `akickoff_for_each`."""
        return await self.akickoff_for_each(
            inputs, input_files, max_concurrency=max_concurrency, checkpointer=checkpointer, granularity=granularity
        )

    def stream(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Any = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "Generator[StreamItem]":
        """Run the tasks, and tell of everything as it happens; the last item holds the output.

        The run goes on while items are taken, one step of the graph ahead at most. Models stream because of it. Leaving the
        loop ends the run as soon as the requests under way are answered; `resume` goes on with what was done.

        Args:
            inputs: values for the `{placeholders}`.
            input_files: files that belong to the run, by name: paths, bytes, open files or `crewgraph.contrib.files`' classes.
            thread_id: a name to keep the run under, for `resume`; one is made where None, and told by the first item.
            checkpointer: where the run is kept, as for `kickoff`.
            granularity: "task" or "step"; see `compile`.

        Raises:
            Exception: what `kickoff` raises, behind the items of what was done before.
        """
        options = RunOptions(thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)
        return stream(cast("Crew", self), with_files(inputs, input_files), options)

    def astream(
        self,
        inputs: Mapping[str, Any] | None = None,
        input_files: Any = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
    ) -> "AsyncGenerator[StreamItem]":
        """Run the tasks on this event loop, and tell of everything as it happens; see `stream`.

        Use it as `async with contextlib.aclosing(crew.astream()) as items` where the loop may be left early: else the run
        ends only when Python finds that nobody holds it.
        """
        options = RunOptions(thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)
        return astream(cast("Crew", self), with_files(inputs, input_files), options)

    def _streams(self) -> bool:
        return cast("Crew", self).streaming

    def resume(self, thread_id: str, answer: Any = None, *, checkpointer: Checkpointer = None) -> "CrewOutput":
        """Continue a run that ended early, or waits for an answer: what it had done is not done again.

        Args:
            thread_id: the name the run is kept under.
            answer: the answer to what it waits for; see `CrewQuestion.kind` for what may be answered. Where several questions
                wait, a dict of answers by their ids; those that are left out go on waiting. Without an answer, a run that waits
                asks at the terminal, or goes on waiting.
            checkpointer: where it is kept, as for `kickoff`.

        Returns:
            As `kickoff`: a `PendingCrew` where it waits for another answer.

        Raises:
            RunError: there is no such run, or it does not wait for this answer, or somebody answered before.
        """
        return resume(cast("Crew", self), thread_id, answer, checkpointer=checkpointer)

    async def aresume(self, thread_id: str, answer: Any = None, *, checkpointer: Checkpointer = None) -> "CrewOutput":
        """Continue a run that ended early, or waits for an answer; see `resume`."""
        return await aresume(cast("Crew", self), thread_id, answer, checkpointer=checkpointer)

    def compile(
        self,
        *,
        granularity: str = "task",
        checkpointer: Checkpointer = None,
        store: "BaseStore | None" = None,
        cache: "BaseCache[Any] | None" = None,
        interrupt_before: Sequence[str] = (),
        interrupt_after: Sequence[str] = (),
    ) -> "CompiledStateGraph[Any, Any, Any, Any]":
        """The crew as a LangGraph graph: a node per task, its state `{"inputs": {...}, <task>: <output>}`.

        Args:
            granularity: "task": each task is one node. "step": each task is a graph of the nodes `model`, `tools`,
                `guardrail` and `finish`, for looking into it, stopping and forking there.
            checkpointer: a LangGraph checkpointer; None inherits a parent graph's, False keeps nothing.
            store: a LangGraph store for the nodes.
            cache: a LangGraph cache for the nodes.
            interrupt_before: nodes to stop before: tasks, steps ("tools"), steps of one task ("research:tools").
            interrupt_after: nodes to stop after.

        Raises:
            CompileError: the crew uses something that cannot be translated, or a node to stop at does not exist.
        """
        return compiled(
            cast("Crew", self),
            granularity=granularity,
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
        )
