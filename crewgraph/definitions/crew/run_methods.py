"""The methods that run a crew: `kickoff` in its forms, `stream`, `resume` and `compile`."""

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from crewgraph.core.loops.bridge import acall
from crewgraph.definitions.checkpoints import apply_from_checkpoint
from crewgraph.definitions.run_options import Checkpointer, Inputs, RunOptions, thread_of
from crewgraph.lazy import lazy
from crewgraph.overrides import overridable, override_of
from crewgraph.tracebacks import traced_to_the_caller

if TYPE_CHECKING:
    import os

    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import StructuredTool
    from langgraph.cache.base import BaseCache
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore

    from crewgraph.definitions.checkpoints import CheckpointSettings
    from crewgraph.definitions.crew.crew import Crew
    from crewgraph.definitions.stream import StreamItem
    from crewgraph.definitions.task.output import CrewOutput
    from crewgraph.plot.crew import crew_mermaid, display_crew, plot_crew
    from crewgraph.runtime.crew.for_each import akickoff_for_each, kickoff_for_each
    from crewgraph.runtime.crew.graphs import compile_crew
    from crewgraph.runtime.crew.kickoff import (
        akickoff_crew,
        aresume_crew,
        arun_or_resume_crew,
        kickoff_crew,
        resume_crew,
        run_or_resume_crew,
    )
    from crewgraph.runtime.crew.results import all_with_files, with_files
    from crewgraph.runtime.run_tool import crew_tool
    from crewgraph.runtime.streaming.crew import acrew_chunks, astream_crew, crew_chunks, stream_crew
else:
    crew_mermaid = lazy("crewgraph.plot.crew:crew_mermaid")
    display_crew = lazy("crewgraph.plot.crew:display_crew")
    plot_crew = lazy("crewgraph.plot.crew:plot_crew")
    crew_tool = lazy("crewgraph.runtime.run_tool:crew_tool")
    acrew_chunks = lazy("crewgraph.runtime.streaming.crew:acrew_chunks")
    crew_chunks = lazy("crewgraph.runtime.streaming.crew:crew_chunks")
    akickoff_for_each = lazy("crewgraph.runtime.crew.for_each:akickoff_for_each")
    kickoff_for_each = lazy("crewgraph.runtime.crew.for_each:kickoff_for_each")
    compile_crew = lazy("crewgraph.runtime.crew.graphs:compile_crew")
    all_with_files = lazy("crewgraph.runtime.crew.results:all_with_files")
    with_files = lazy("crewgraph.runtime.crew.results:with_files")
    akickoff_crew = lazy("crewgraph.runtime.crew.kickoff:akickoff_crew")
    aresume_crew = lazy("crewgraph.runtime.crew.kickoff:aresume_crew")
    kickoff_crew = lazy("crewgraph.runtime.crew.kickoff:kickoff_crew")
    resume_crew = lazy("crewgraph.runtime.crew.kickoff:resume_crew")
    arun_or_resume_crew = lazy("crewgraph.runtime.crew.kickoff:arun_or_resume_crew")
    run_or_resume_crew = lazy("crewgraph.runtime.crew.kickoff:run_or_resume_crew")
    astream_crew = lazy("crewgraph.runtime.streaming.crew:astream_crew")
    stream_crew = lazy("crewgraph.runtime.streaming.crew:stream_crew")

__all__ = ["CrewRunMethods"]


class CrewRunMethods:
    """Methods that run a crew."""

    @overridable
    @traced_to_the_caller
    def kickoff(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, object] | None = None,
        from_checkpoint: "CheckpointSettings | None" = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "CrewOutput":
        """Run the tasks. Works in scripts, threads and inside a running event loop (a notebook cell).

        With `stream=True` on the crew, returns a `CrewStreamingOutput`; iterating over it runs the crew.

        Args:
            inputs: Values for the `{placeholders}`.
            input_files: Files of the run, by name: paths, bytes, open files or classes of `crewgraph.contrib.files`.
            from_checkpoint: The checkpoint to continue from with this crew. Without `restore_from`, sets how checkpoints of this
                crew are made from now on.
            thread_id: The name to store the run under, for `resume`; None generates one.
            checkpointer: Where to store the run: a LangGraph checkpointer, or False for nowhere. None uses the crew's
                checkpointer, else the default database.
            granularity: "task" or "step"; see `compile`.
            config: LangChain's config for the run: `callbacks`, `tags`, `metadata`, `run_name`, `max_concurrency`, and
                `configurable` with values for tools and, unless `thread_id` is given, the `thread_id`.

        Returns:
            The output, or a `PendingCrew` if the run waits for an answer and there is no terminal to ask at.

        Raises:
            MissingInput: A placeholder has no value.
            GuardrailFailed: A guardrail rejected every attempt.
            StorageError: The run cannot be stored.
            Exception: Any error of a model, with a note that names the task.
        """
        apply_from_checkpoint(self, from_checkpoint)
        crew, inputs = cast("Crew", self), with_files(inputs, input_files)
        options = RunOptions(
            thread_id=thread_id if config is None else thread_of(thread_id, config),
            checkpointer=checkpointer,
            granularity=granularity,
            config=config,
        )
        if self._streams():
            return cast("CrewOutput", crew_chunks(crew, inputs, options))
        return kickoff_crew(crew, inputs, options)

    @overridable
    @traced_to_the_caller
    async def akickoff(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: "CheckpointSettings | None" = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "CrewOutput":
        """Run the tasks on the current event loop; see `kickoff`."""
        apply_from_checkpoint(self, from_checkpoint)
        crew, inputs = cast("Crew", self), with_files(inputs, input_files)
        options = RunOptions(
            thread_id=thread_id if config is None else thread_of(thread_id, config),
            checkpointer=checkpointer,
            granularity=granularity,
            config=config,
        )
        if self._streams():
            return cast("CrewOutput", acrew_chunks(crew, inputs, options))
        return await akickoff_crew(crew, inputs, options)

    @overridable
    @traced_to_the_caller
    async def kickoff_async(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: "CheckpointSettings | None" = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "CrewOutput":
        """CrewAI's name for `akickoff`. If a subclass or a patch overrides `kickoff`, that is called in a thread instead."""
        own = override_of(self, "kickoff")
        if own is not None:
            apply_from_checkpoint(self, from_checkpoint)
            return await acall(own, with_files(inputs, input_files))
        return await CrewRunMethods.akickoff(
            self,
            inputs,
            input_files,
            from_checkpoint,
            thread_id=thread_id,
            checkpointer=checkpointer,
            granularity=granularity,
            config=config,
        )

    @traced_to_the_caller
    def kickoff_for_each(
        self,
        inputs: Sequence[Mapping[str, Any]],
        input_files: object = None,
        *,
        max_concurrency: int | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "list[CrewOutput]":
        """Run the tasks once for each of several inputs, and return the outputs in the order of the inputs.

        Each run has its own thread id, callbacks and events. If one fails, the others still complete; then the first error is
        raised with two extra attributes: `outputs`, a list with None for each failed run, and `failures`, the exceptions by
        index. Afterwards `usage_metrics` is the sum over all runs.

        Args:
            inputs: For each run, values for the `{placeholders}`.
            input_files: Files of every run.
            max_concurrency: Maximum number of concurrent runs, each in a thread; None means one.
            checkpointer: Where to store the runs, as for `kickoff`.
            granularity: "task" or "step"; see `compile`.
            config: LangChain's config for the runs, as for `kickoff`.

        Raises:
            TypeError: `inputs` is not a list of dicts.
            Exception: As for `kickoff`.
        """
        inputs = all_with_files(inputs, input_files)
        options = RunOptions(checkpointer=checkpointer, granularity=granularity, config=config)
        return kickoff_for_each(cast("Crew", self), inputs, options, max_concurrency=max_concurrency)

    @traced_to_the_caller
    async def akickoff_for_each(
        self,
        inputs: Sequence[Mapping[str, Any]],
        input_files: object = None,
        *,
        max_concurrency: int | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "list[CrewOutput]":
        """Run the tasks for each input on the current event loop, all concurrently unless `max_concurrency` is set."""
        inputs = all_with_files(inputs, input_files)
        options = RunOptions(checkpointer=checkpointer, granularity=granularity, config=config)
        return await akickoff_for_each(cast("Crew", self), inputs, options, max_concurrency=max_concurrency)

    @traced_to_the_caller
    async def kickoff_for_each_async(
        self,
        inputs: Sequence[Mapping[str, Any]],
        input_files: object = None,
        *,
        max_concurrency: int | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "list[CrewOutput]":
        """CrewAI's name for `akickoff_for_each`."""
        return await self.akickoff_for_each(
            inputs,
            input_files,
            max_concurrency=max_concurrency,
            checkpointer=checkpointer,
            granularity=granularity,
            config=config,
        )

    def stream(
        self,
        inputs: Inputs | None = None,
        input_files: Any = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "Generator[StreamItem]":
        """Run the tasks and yield events as they happen; the last one holds the output.

        The run advances as items are consumed, at most one graph step ahead. Models are asked to stream. Leaving the loop stops
        the run once the requests in progress are answered; `resume` continues it.

        Args:
            inputs: Values for the `{placeholders}`.
            input_files: Files of the run, by name: paths, bytes, open files or classes of `crewgraph.contrib.files`.
            thread_id: The name to store the run under, for `resume`; None generates one, which the first item holds.
            checkpointer: Where to store the run, as for `kickoff`.
            granularity: "task" or "step"; see `compile`.
            config: LangChain's config for the run, as for `kickoff`.

        Raises:
            Exception: As for `kickoff`, after the items of what completed.
        """
        options = RunOptions(
            thread_id=thread_id if config is None else thread_of(thread_id, config),
            checkpointer=checkpointer,
            granularity=granularity,
            config=config,
        )
        return stream_crew(cast("Crew", self), with_files(inputs, input_files), options)

    def astream(
        self,
        inputs: Inputs | None = None,
        input_files: Any = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "AsyncGenerator[StreamItem]":
        """Run the tasks on the current event loop and yield events as they happen; see `stream`.

        If the loop may be left early, use `async with contextlib.aclosing(crew.astream()) as items`; otherwise the run stops
        only when the generator is garbage-collected.
        """
        options = RunOptions(
            thread_id=thread_id if config is None else thread_of(thread_id, config),
            checkpointer=checkpointer,
            granularity=granularity,
            config=config,
        )
        return astream_crew(cast("Crew", self), with_files(inputs, input_files), options)

    def _streams(self) -> bool:
        return cast("Crew", self).streaming

    @traced_to_the_caller
    def resume(self, thread_id: str, answer: object = None, *, checkpointer: Checkpointer = None) -> "CrewOutput":
        """Continue a run that was interrupted or waits for an answer. Completed work is not repeated.

        Args:
            thread_id: The name that the run is stored under.
            answer: The answer to the pending question; see `CrewQuestion.kind` for its form. With several questions, a dict of
                answers by question id; questions left out stay pending. Without an answer, a waiting run asks at the terminal,
                or stays pending.
            checkpointer: Where the run is stored, as for `kickoff`.

        Returns:
            As for `kickoff`; a `PendingCrew` if the run waits for another answer.

        Raises:
            RunError: There is no such run, it does not wait for this answer, or it was answered already.
        """
        return resume_crew(cast("Crew", self), thread_id, answer, checkpointer=checkpointer)

    @traced_to_the_caller
    async def aresume(
        self, thread_id: str, answer: object = None, *, checkpointer: Checkpointer = None
    ) -> "CrewOutput":
        """Continue a run that was interrupted or waits for an answer, on the current event loop; see `resume`."""
        return await aresume_crew(cast("Crew", self), thread_id, answer, checkpointer=checkpointer)

    @traced_to_the_caller
    def run_or_resume(
        self,
        thread_id: str,
        inputs: Inputs | None = None,
        *,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "CrewOutput":
        """Run a thread to its end, whatever its current status: for jobs of a queue, which may be delivered twice.

        A thread without a run begins one with the inputs. A run that failed, or whose process died, continues, with the inputs
        it began with. One that is done returns its output, and one that waits for an answer the `PendingCrew`.

        Args:
            thread_id: The name that the run is stored under.
            inputs: Values for the `{placeholders}` of a new run.
            checkpointer: Where the run is stored, as for `kickoff`.
            granularity: "task" or "step" of a new run; see `compile`.
            config: LangChain's config for the run, as for `kickoff`.

        Raises:
            ThreadBusy: Somebody runs the thread now. A queue must try again later: what runs may still die.
            RunError: Runs are not stored.
            Exception: As for `kickoff`.
        """
        options = RunOptions(checkpointer=checkpointer, granularity=granularity, config=config)
        return run_or_resume_crew(cast("Crew", self), thread_id, inputs, options)

    @traced_to_the_caller
    async def arun_or_resume(
        self,
        thread_id: str,
        inputs: Inputs | None = None,
        *,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "CrewOutput":
        """Bring the run of a thread to its end on the current event loop; see `run_or_resume`."""
        options = RunOptions(checkpointer=checkpointer, granularity=granularity, config=config)
        return await arun_or_resume_crew(cast("Crew", self), thread_id, inputs, options)

    def compile(
        self,
        *,
        granularity: str = "task",
        checkpointer: Checkpointer = None,
        store: "BaseStore | None" = None,
        cache: "BaseCache[Any] | None" = None,
        interrupt_before: Sequence[str] = (),
        interrupt_after: Sequence[str] = (),
        name: str | None = None,
        messages: bool | str = False,
        context_schema: type[Any] | None = None,
    ) -> "CompiledStateGraph[Any]":
        """Compile the crew to a LangGraph graph: a node per task, with the state `{"inputs": {...}, <task>: <output>}`.

        The result is under `output`, too: the structured one, else the text.

        Args:
            granularity: "task" for one node per task; "step" for a subgraph per task with the nodes `model`, `tools`, `guardrail`
                and `finish`, to inspect, interrupt and fork inside a task.
            checkpointer: A LangGraph checkpointer; None inherits that of a parent graph, False stores nothing.
            store: A LangGraph store for the nodes.
            cache: A LangGraph cache for the nodes.
            interrupt_before: Nodes to interrupt before: tasks, steps ("tools"), or steps of one task ("research:tools"); "*" for
                all.
            interrupt_after: Nodes to interrupt after.
            name: The graph's name, as a node of another graph and in traces; None for that of the crew.
            messages: Whether the graph takes part in a conversation, as supervisors and chat clients expect it: the last human
                message in `messages` is the value of the crew's only placeholder, or of the named one, and the result is added
                to them.
            context_schema: The schema of LangGraph's `context`, for tools that read `runtime.context`; None for `CrewRunContext`,
                by which a caller or an assistant chooses `model`, `inputs`, `max_tokens`, `max_cost` and `max_seconds`.

        Raises:
            CompileError: The crew uses a feature that cannot be compiled, or a node to interrupt at does not exist.
        """
        return compile_crew(
            cast("Crew", self),
            granularity=granularity,
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            name=name,
            messages=messages,
            context_schema=context_schema,
        )

    def as_tool(self, name: str | None = None, description: str | None = None) -> "StructuredTool":
        """Return the crew as a LangChain tool, for agents that are not crewgraph's.

        Its arguments are the crew's placeholders; it returns the output's `raw` text, with the `CrewOutput` as the artifact. In a
        graph with a checkpointer, a call is a part of that graph: it resumes with it, and its questions interrupt it.

        Args:
            name: The tool's name; None makes one of the crew's name.
            description: What the tool is for; None describes the last task.

        Raises:
            CompileError: The crew cannot be compiled.
        """
        return crew_tool(cast("Crew", self), name, description)

    def plot(self, filename: "str | os.PathLike[str]" = "crew", show: bool = False) -> str:
        """Write the crew as a self-contained HTML page: its tasks with their agents, and the order in which they run.

        Args:
            filename: The file; ".html" is added if missing. An existing file is replaced.
            show: Whether to open the page in a browser.

        Returns:
            The path of the file, which is also printed.

        Raises:
            CompileError: The crew cannot be compiled.
            OSError: The file cannot be written.
        """
        return plot_crew(cast("Crew", self), filename, show)

    def to_mermaid(self) -> str:
        """Return the crew as a mermaid flowchart.

        Raises:
            CompileError: The crew cannot be compiled.
        """
        return crew_mermaid(cast("Crew", self))

    def _repr_html_(self) -> str:
        return display_crew(cast("Crew", self))
