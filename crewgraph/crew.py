"""Crews: a team of agents with tasks; `Crew` has the methods that run it, and those on its stored runs."""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ConfigDict, Field

from crewgraph.agent import Agent, AgentField, BaseAgent
from crewgraph.core.loops.bridge import acall
from crewgraph.core.methods import async_of, from_program, other_form
from crewgraph.definitions.checkpoints import CheckpointSettings, ForkMethod, apply_from_checkpoint
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.evaluation import CrewTestResult
from crewgraph.definitions.crew.history import CrewStep, CrewSteps, RunDiff
from crewgraph.definitions.crew.pending import PendingCrew, RunFilter, RunInfo, StatusFilter
from crewgraph.definitions.run_options import Checkpointer, Inputs, RunOptions, thread_of
from crewgraph.definitions.task.output import CrewOutput, TaskOutput
from crewgraph.extensions import extension
from crewgraph.overrides import overridable, override_of
from crewgraph.queue_methods import QueueMethods
from crewgraph.task import Task
from crewgraph.tracebacks import traced_to_the_caller

if TYPE_CHECKING:
    import os
    from uuid import UUID

    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import StructuredTool
    from langgraph.cache.base import BaseCache
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore

    from crewgraph.core.operations import Program
    from crewgraph.definitions.stream import StreamItem

    _Agents = list[BaseAgent] | list[Agent]  # lists are invariant, and that of a program is often a `list[Agent]`
else:
    _Agents = list[AgentField]


class CrewConversation(Protocol):
    """A conversation with a crew, in this process."""

    crew: "Crew"
    """The crew."""

    messages: list[dict[str, str]]
    """The remembered messages, oldest first, as dicts of role and content; results of the crew are assistant messages."""

    output: CrewOutput | None
    """The last output of the crew in this conversation; None before any."""

    def say(self, text: str) -> str:
        """Send a message and return the answer: the model's, or the result of the crew if the model ran it.

        Raises:
            Exception: Any error of the model; the message is then not remembered. Errors of the crew are reported by the model.
        """
        ...

    async def asay(self, text: str) -> str:
        """Send a message on the current event loop; see `say`."""
        ...

    def greet(self) -> str:
        """Return a greeting, to start the conversation."""
        ...

    async def agreet(self) -> str:
        """Return a greeting, on the current event loop; see `greet`."""
        ...


class Crew(QueueMethods, CrewDefinition):
    """A team of agents with tasks; `kickoff` runs them as a LangGraph graph."""

    model_config = ConfigDict(ignored_types=(ForkMethod,))

    agents: _Agents = Field(default_factory=list[BaseAgent])  # pyright: ignore[reportIncompatibleVariableOverride]
    """The agents of the crew."""

    tasks: list[Task] = Field(default_factory=list[Task])  # pyright: ignore[reportIncompatibleVariableOverride]
    """The tasks, in the order in which they run."""

    manager_agent: AgentField | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """The manager, in the hierarchical process: an agent, or the role of one of `agents`, who then only manages. After a run with
    `manager_llm`, the manager that was created from it."""

    planning_tasks: list[Task] = Field(default_factory=list[Task])  # pyright: ignore[reportIncompatibleVariableOverride]
    """The planner's tasks."""

    @overridable
    @from_program
    def kickoff(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "Program[CrewOutput]":
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
        if from_checkpoint is not None:
            apply_from_checkpoint(self, from_checkpoint)
        inputs, options = _run_of(inputs, input_files, thread_id, checkpointer, granularity, config)
        if self.streaming:
            from crewgraph.core.operations import Do
            from crewgraph.definitions.chunks import CrewStreamingOutput
            from crewgraph.runtime.streaming.crew import watched_crew

            run = watched_crew(self, inputs, options)

            async def achunks() -> CrewStreamingOutput:
                return run.achunks(CrewStreamingOutput)

            return (yield Do(partial(run.chunks, CrewStreamingOutput), achunks))
        from crewgraph.runtime.crew.kickoff import kickoff_program
        from crewgraph.runtime.execution import interruptibly

        return (yield from interruptibly(kickoff_program(self, inputs, options)))

    akickoff = overridable(async_of(kickoff))
    """Async `kickoff`."""

    @overridable
    @traced_to_the_caller
    async def kickoff_async(
        self,
        inputs: Inputs | None = None,
        input_files: Mapping[str, Any] | None = None,
        from_checkpoint: CheckpointSettings | None = None,
        *,
        thread_id: str | None = None,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> CrewOutput:
        """CrewAI's name for `akickoff`. If a subclass or a patch overrides `kickoff`, that is called in a thread instead."""
        own = override_of(self, "kickoff")
        if own is not None:
            if from_checkpoint is not None:
                apply_from_checkpoint(self, from_checkpoint)
            from crewgraph.runtime.crew.results import with_files

            return await acall(own, with_files(inputs, input_files))
        return await Crew.akickoff(
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
    ) -> list[CrewOutput]:
        """Run the tasks once for each of several inputs, and return the outputs in the order of the inputs.

        Each run has its own thread id, callbacks and events. If one fails, the others still complete; then the first error is
        raised with two extra attributes: `outputs`, a list with None for each failed run, and `failures`, the exceptions by
        index. Afterwards `usage_metrics` is the sum over all runs. With `stream=True` on the crew, each output is a
        `CrewStreamingOutput`, and iterating over it makes its run.

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
        from crewgraph.runtime.crew.results import all_with_files

        inputs = all_with_files(inputs, input_files)
        if self.streaming:
            return [self.kickoff(i, checkpointer=checkpointer, granularity=granularity, config=config) for i in inputs]
        options = RunOptions(checkpointer=checkpointer, granularity=granularity, config=config)
        from crewgraph.runtime.crew.for_each import kickoff_for_each

        return kickoff_for_each(self, inputs, options, max_concurrency=max_concurrency)

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
    ) -> list[CrewOutput]:
        """Run the tasks for each input on the current event loop, all concurrently unless `max_concurrency` is set.

        With `stream=True` on the crew, returns one `CrewStreamingOutput`: the chunks of one run after the other, and `results`.
        """
        from crewgraph.runtime.crew.results import all_with_files

        inputs = all_with_files(inputs, input_files)
        if self.streaming:
            where: dict[str, Any] = {"checkpointer": checkpointer, "granularity": granularity, "config": config}
            streams: list[Any] = [await self.akickoff(one, **where) for one in inputs]
            from crewgraph.definitions.chunks import CrewStreamingOutput

            merged: Any = CrewStreamingOutput.of(streams)
            return merged
        options = RunOptions(checkpointer=checkpointer, granularity=granularity, config=config)
        from crewgraph.runtime.crew.for_each import akickoff_for_each

        return await akickoff_for_each(self, inputs, options, max_concurrency=max_concurrency)

    kickoff_for_each_async = other_form(akickoff_for_each, "kickoff_for_each_async")
    """CrewAI's name for `akickoff_for_each`."""

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
        run = _run_of(inputs, input_files, thread_id, checkpointer, granularity, config)
        from crewgraph.runtime.streaming.crew import watched_crew

        return watched_crew(self, *run).items()

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
        run = _run_of(inputs, input_files, thread_id, checkpointer, granularity, config)
        from crewgraph.runtime.streaming.crew import watched_crew

        return watched_crew(self, *run).aitems()

    @from_program
    def resume(
        self, thread_id: str, answer: object = None, *, checkpointer: Checkpointer = None
    ) -> "Program[CrewOutput]":
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
        from crewgraph.runtime.crew.kickoff import resume_program
        from crewgraph.runtime.execution import interruptibly

        return interruptibly(resume_program(self, thread_id, checkpointer, answer))

    aresume = async_of(resume)
    """Async `resume`."""

    @from_program
    def run_or_resume(
        self,
        thread_id: str,
        inputs: Inputs | None = None,
        *,
        checkpointer: Checkpointer = None,
        granularity: str = "task",
        config: "RunnableConfig | None" = None,
    ) -> "Program[CrewOutput]":
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
        from crewgraph.runtime.crew.kickoff import run_or_resume_program
        from crewgraph.runtime.execution import interruptibly

        return interruptibly(run_or_resume_program(self, thread_id, inputs, options))

    arun_or_resume = async_of(run_or_resume)
    """Async `run_or_resume`."""

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
                message in `messages` is the value of the crew's only placeholder, or of the named one. Each agent sees the
                messages before its first task, and the result is added to them.
            context_schema: The schema of LangGraph's `context`, for tools that read `runtime.context`; None for `CrewRunContext`,
                by which a caller or an assistant chooses `model`, `inputs`, `max_tokens`, `max_cost` and `max_seconds`.

        Raises:
            CompileError: The crew uses a feature that cannot be compiled, or a node to interrupt at does not exist.
        """
        from crewgraph.runtime.crew.graphs import compile_crew

        return compile_crew(
            self,
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
        from crewgraph.runtime.run_tool import crew_tool

        return crew_tool(self, name, description, self.kickoff, self.akickoff)

    def plot(self, filename: "str | os.PathLike[str]" = "crew", show: bool = False) -> str:
        """Write the crew as a self-contained HTML page: its tasks with their agents, and the order in which they run.

        Args:
            filename: The file; ".html" is added if missing. An existing file is replaced.
            show: Whether to open the page in a browser. A notebook shows the picture in the cell instead.

        Returns:
            The path of the file, which is also printed.

        Raises:
            CompileError: The crew cannot be compiled.
            OSError: The file cannot be written.
        """
        from crewgraph.plot.crew import plot_crew

        return plot_crew(self, filename, show)

    def to_mermaid(self) -> str:
        """Return the crew as a mermaid flowchart.

        Raises:
            CompileError: The crew cannot be compiled.
        """
        from crewgraph.plot.crew import crew_mermaid

        return crew_mermaid(self)

    def _repr_html_(self) -> str:
        from crewgraph.plot.crew import display_crew

        return display_crew(self)

    @from_program
    def pending(self, *, checkpointer: Checkpointer = None) -> "Program[list[PendingCrew]]":
        """Return the stored runs of this crew that wait for an answer, last updated first.

        Questions of a crew that runs in a method of a flow are asked by the flow: see `Flow.pending`.

        Args:
            checkpointer: Where the runs are stored, as for `kickoff`.

        Raises:
            StorageError: The stored runs cannot be read.
        """
        from crewgraph.runtime.crew.human_input import pending_program

        return pending_program(self, checkpointer)

    apending = async_of(pending)
    """Async `pending`."""

    @from_program
    def runs(
        self,
        *,
        status: StatusFilter | None = None,
        inside: bool = False,
        limit: int | None = None,
        checkpointer: Checkpointer = None,
    ) -> "Program[list[RunInfo]]":
        """Return the stored runs of this crew, last updated first.

        A crew is identified by its name, or by the names of its tasks if it has no name.

        Args:
            status: Only runs with this status: "working", "waiting" (for an answer), "failed", "abandoned", "done"; "open"
                for those that can be resumed, failed or abandoned.
            inside: Whether to include runs inside methods of flows.
            limit: Maximum number of runs; None returns all.
            checkpointer: Where the runs are stored, as for `kickoff`.

        Raises:
            StorageError: The stored runs cannot be read.
        """
        from crewgraph.runtime.runs.index import list_crew_runs

        return list_crew_runs(self, RunFilter(status=status, inside=inside, limit=limit), checkpointer)

    aruns = async_of(runs)
    """Async `runs`."""

    @from_program
    def history(self, thread_id: str | None = None, *, checkpointer: Checkpointer = None) -> "Program[CrewSteps]":
        """Return the steps of a stored run, oldest first.

        Args:
            thread_id: The run; None means the latest of this crew.
            checkpointer: Where the run is stored, as for `kickoff`.

        Raises:
            RunError: There is no such run, or it belongs to another crew.
            StorageError: The stored run cannot be read.
        """
        from crewgraph.runtime.runs.crew_history import history_program

        return history_program(self, thread_id, checkpointer)

    ahistory = async_of(history)
    """Async `history`."""

    @ForkMethod
    @from_program
    def fork(
        self,
        step_or_task: "CrewStep | Task | UUID | str | int",
        outputs: Mapping[str, object] | None = None,
        inputs: Inputs | None = None,
        *,
        thread_id: str | None = None,
        new_thread_id: str | None = None,
        checkpointer: Checkpointer = None,
    ) -> "Program[CrewOutput]":
        """Continue a stored run from an earlier point in a new thread. The original run is not changed.

        Tasks before the point are not repeated: their outputs are taken from the original run or from `outputs`. All others run
        again.

        Args:
            step_or_task: A step of `history` to continue after; or a task to continue with, as its name in the graph, id, name,
                key or index.
            outputs: Other outputs for tasks before the point, by task; one for the task itself replaces its work. A string, a
                `TaskOutput`, the fields of the task's structured output, or a dict with `raw`.
            inputs: Values that replace inputs of the original run.
            thread_id: The original run; None means that of the step, or the latest of this crew.
            new_thread_id: The name to store the new run under; None generates one.
            checkpointer: Where runs are stored, as for `kickoff`.

        Raises:
            UnknownTask: The crew has no such task.
            RunError: There is no such run or step, or it lacks the output of a task before the point.
            DefinitionError: An output does not fit its task.
            Exception: As for `kickoff`.
        """
        from crewgraph.runtime.execution import interruptibly
        from crewgraph.runtime.runs.crew_fork import ForkRequest, crew_fork_program

        request = ForkRequest(
            point=step_or_task,
            of=thread_id,
            outputs=outputs,
            inputs=inputs,
            thread_id=new_thread_id,
            checkpointer=checkpointer,
        )
        return interruptibly(crew_fork_program(self, request))

    afork = async_of(fork.function)
    """Async `fork`."""

    @from_program
    def replay(
        self,
        task_id: "Task | UUID | str | int",
        inputs: Inputs | None = None,
        thread_id: str | None = None,
        *,
        new_thread_id: str | None = None,
        checkpointer: Checkpointer = None,
    ) -> "Program[CrewOutput]":
        """Repeat a stored run from a task on, in a new thread; earlier outputs are taken from that run.

        Args:
            task_id: The task: its id, also the id it had in the process of that run, its name in the graph, name, key or index.
            inputs: Values that replace inputs of the original run.
            thread_id: The original run; None means the latest of this crew.
            new_thread_id: The name to store the new run under; None generates one.
            checkpointer: Where runs are stored, as for `kickoff`.

        Raises:
            UnknownTask: There is no such task (also a ValueError).
            RunError: There is no such run, or it lacks the output of an earlier task.
            Exception: As for `kickoff`.
        """
        from crewgraph.core.operations import Do

        where: dict[str, Any] = {"thread_id": thread_id, "new_thread_id": new_thread_id, "checkpointer": checkpointer}
        fork, afork = partial(self.fork, task_id, **where), partial(self.afork, task_id, **where)
        return (yield Do(fork, afork, None, inputs))

    areplay = async_of(replay)
    """Async `replay`."""

    @from_program
    def diff(
        self, run_a: str | CrewOutput, run_b: str | CrewOutput, *, checkpointer: Checkpointer = None
    ) -> "Program[RunDiff]":
        """Compare two runs task by task; `print` shows the result.

        Args:
            run_a: A run, as its thread id or its output.
            run_b: The run to compare with.
            checkpointer: Where the runs are stored, as for `kickoff`.

        Raises:
            RunError: There is no such run, or it belongs to another crew.
            TypeError: An argument is neither a thread id nor an output.
        """
        from crewgraph.runtime.runs.crew_history import diff_program

        return diff_program(self, run_a, run_b, checkpointer)

    adiff = async_of(diff)
    """Async `diff`."""

    @from_program
    def train(
        self,
        n_iterations: int,
        filename: str,
        inputs: Inputs | None = None,
        *,
        feedback: Callable[[TaskOutput], Any] | None = None,
        checkpointer: Checkpointer = None,
    ) -> "Program[None]":
        """Run the crew several times, collect human feedback on each answer, and derive lessons from it.

        The agent improves its answer before the next task starts. At the end, a model derives instructions for each agent from
        the feedback on its answers; later runs add them to the prompts of agents with that role if they find the file (see
        `trained_agents_file`).

        Feedback is saved immediately. Calling `train` again with the same file and inputs resumes an interrupted training.

        Args:
            n_iterations: Number of runs; below 1, nothing happens.
            filename: The JSON file for feedback and lessons; `x` and `x.pkl` become `x.json`.
            inputs: Values for the `{placeholders}`.
            feedback: Sync or async function that takes the `TaskOutput` and returns feedback, instead of asking in the
                terminal, or reading a line from a pipe or file at standard input; an empty text accepts the answer.
            checkpointer: Where runs are stored, as for `kickoff`.

        Raises:
            RunError: If there is neither a terminal, nor input, nor `feedback`, or the file contains another unfinished training.
            StorageError: If the file cannot be read or written; pickles are never opened.
            OutputInvalid: If the model's lessons cannot be parsed.
            Exception: Any error of `kickoff`. The feedback so far is kept.
        """
        from crewgraph.runtime.crew.training import train_program
        from crewgraph.runtime.execution import interruptibly

        return interruptibly(train_program(self, n_iterations, filename, inputs, feedback, checkpointer))

    atrain = async_of(train)
    """Async `train`."""

    @from_program
    def test(
        self,
        n_iterations: int,
        eval_llm: object = None,
        inputs: Inputs | None = None,
        *,
        openai_model_name: object = None,
        checkpointer: Checkpointer = None,
    ) -> "Program[CrewTestResult]":
        """Run the crew several times, let a model score each task's output, and print the scores as a table.

        Args:
            n_iterations: The number of runs, at least 1.
            eval_llm: The model that judges; None uses that of the first agent with a model.
            inputs: Values for the `{placeholders}`.
            openai_model_name: Deprecated name of `eval_llm`.
            checkpointer: Where the runs are stored, as for `kickoff`.

        Returns:
            Scores from 1 to 10 with reasons, seconds, tokens and costs, by rounds and tasks. A task that could not be judged has
            an `error` in place of a score.

        Raises:
            ValueError: `n_iterations` is less than 1.
            ModelError: there is no such model to judge.
            Exception: what `kickoff` raises; `result` of it holds the rounds that are finished, if there are any.
        """
        llm = openai_model_name if eval_llm is None else eval_llm
        from crewgraph.runtime.crew.evaluation import evaluation_program
        from crewgraph.runtime.execution import interruptibly

        return interruptibly(evaluation_program(self, n_iterations, llm, inputs, checkpointer))

    atest = async_of(test)
    """Async `test`."""

    def chat(self, *, checkpointer: Checkpointer = None) -> CrewConversation:
        """Chat with the crew on the terminal: `chat_llm` greets, asks for the inputs, runs the crew, and shows the result.

        "exit", Ctrl-D and Ctrl-C end the chat.

        Args:
            checkpointer: Where the runs are stored, as for `kickoff`.

        Returns:
            The conversation with its messages and the last output.

        Raises:
            NoModelError: Neither `chat_llm` nor the first agent has a model, and the environment names none.
            MissingKey: The model needs an API key.
        """
        return extension("conversations.crew_terminal")(self, checkpointer=checkpointer)

    def conversation(self, *, checkpointer: Checkpointer = None, max_messages: int = 60) -> CrewConversation:
        """Chat with the crew without a terminal, for notebooks and servers: `crew.conversation().say("Hello")`.

        Args:
            checkpointer: Where the runs are stored, as for `kickoff`.
            max_messages: Maximum number of messages that the model sees; older ones are forgotten.

        Raises:
            NoModelError: Neither `chat_llm` nor the first agent has a model, and the environment names none.
            MissingKey: The model needs an API key.
        """
        return extension("conversations.crew")(self, checkpointer=checkpointer, max_messages=max_messages)


def _run_of(
    inputs: Inputs | None,
    files: object,
    thread_id: str | None,
    checkpointer: Checkpointer,
    granularity: str,
    config: "RunnableConfig | None",
) -> tuple[Inputs | None, RunOptions]:
    """Return the inputs of a run with its files, and how it is stored and built; the config may name its thread.

    Raises:
        RunError: It names another thread than `thread_id`.
    """
    from crewgraph.runtime.crew.results import with_files

    if config is not None:
        thread_id = thread_of(thread_id, config)
    options = RunOptions(thread_id=thread_id, checkpointer=checkpointer, granularity=granularity, config=config)
    return with_files(inputs, files), options
