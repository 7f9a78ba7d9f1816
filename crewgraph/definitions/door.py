"""The one door upwards: the verbs that users call on definitions, carried out by the runtime."""

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from crewgraph.core.bridge import begun
from crewgraph.definitions.own_version import ours

if TYPE_CHECKING:
    from langgraph.cache.base import BaseCache
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore

    from crewgraph.definitions.agent import BaseAgent
    from crewgraph.definitions.crew import Crew
    from crewgraph.definitions.output import CrewOutput, TaskOutput
    from crewgraph.definitions.stream import StreamItem
    from crewgraph.definitions.task import Task

__all__ = [
    "AgentVerbs",
    "CrewVerbs",
    "GuardrailVerbs",
    "TaskVerbs",
    "alone",
    "flow_history",
    "flow_plots",
    "flow_streams",
    "flows",
    "runs",
]


# Running needs LangGraph, which takes most of a second to import; declaring a crew does not.
def _kickoff() -> ModuleType:
    from crewgraph.runtime import kickoff  # noqa: PLC0415

    return kickoff


def _for_each() -> ModuleType:
    from crewgraph.runtime import for_each  # noqa: PLC0415

    return for_each


def _stream() -> ModuleType:
    from crewgraph.runtime import stream  # noqa: PLC0415

    return stream


def _chunks() -> ModuleType:
    from crewgraph.runtime import chunks  # noqa: PLC0415

    return chunks


def _graphs() -> ModuleType:
    from crewgraph.runtime import graphs  # noqa: PLC0415

    return graphs


def alone() -> ModuleType:
    """The verbs of tasks and agents outside of a crew, as the runtime carries them out."""
    from crewgraph.runtime import alone  # noqa: PLC0415

    return alone


def flows() -> ModuleType:
    """The verbs of flows, as the runtime carries them out."""
    from crewgraph.runtime import flow  # noqa: PLC0415

    return flow


def flow_history() -> ModuleType:
    """The verbs on the past of flows, as the runtime carries them out."""
    from crewgraph.runtime import flow_history  # noqa: PLC0415

    return flow_history


def runs() -> ModuleType:
    """The index of runs, as the runtime reads it."""
    from crewgraph.runtime import runs  # noqa: PLC0415

    return runs


def flow_streams() -> ModuleType:
    """The streams of flows, also in CrewAI's form, as the runtime makes them."""
    from crewgraph.runtime import flow_stream  # noqa: PLC0415

    return flow_stream


def flow_plots() -> ModuleType:
    """The drawings of flows, as the room `plot` makes them."""
    from crewgraph.plot import flow  # noqa: PLC0415

    return flow


class TaskVerbs:
    """What can be done with a task; a crew's graph calls a subclass's or a patch's version of these instead of its own."""

    @ours
    def execute_sync(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "TaskOutput":
        """Do the task on its own, outside of a crew, with the texts it shows.

        Args:
            agent: who does it; its own agent where None.
            context: what others found out.
            tools: what may be used; its own tools, else the agent's where None.

        Raises:
            RunError: it has no agent.
            GuardrailFailed: a guardrail refused every attempt.
            Exception: whatever a model raised, with a note that names the task.
        """
        return alone().execute(self, agent, context, tools)

    @ours
    async def aexecute_sync(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "TaskOutput":
        """Do the task on this event loop; see `execute_sync`."""
        return await alone().aexecute(self, agent, context, tools)

    @ours
    def execute_async(
        self, agent: "BaseAgent | None" = None, context: str | None = None, tools: Sequence[Any] | None = None
    ) -> "Future[TaskOutput]":
        """Do the task in a thread; the future holds its output, or the exception it failed with. See `execute_sync`."""
        return begun(partial(alone().execute, self, agent, context, tools))

    def prompt(self) -> str:
        """The text that the task contributes to a request, with the texts it shows: what is to be done, and what comes out."""
        return alone().prompt(self)


class AgentVerbs:
    """What can be done with an agent; a task calls a subclass's or a patch's version of these instead of its own."""

    @ours
    def execute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task, outside of a crew: the answer as the model wrote it, neither judged nor kept.

        Args:
            task: what is to be done.
            context: what others found out.
            tools: what may be used; the task's, else its own where None.

        Raises:
            TimeLimitReached: it took longer than `max_execution_time`.
            Exception: whatever the model raised.
        """
        return alone().answer(self, task, context, tools)

    @ours
    async def aexecute_task(self, task: "Task", context: str | None = None, tools: Sequence[Any] | None = None) -> str:
        """Work on a task on this event loop; see `execute_task`."""
        return await alone().aanswer(self, task, context, tools)


class GuardrailVerbs:
    """What can be done with a guardrail that a model carries out; a task asks the model as a part of its own work."""

    @ours
    def __call__(self, task_output: "TaskOutput") -> tuple[bool, Any]:
        """Judge an output, outside of a task.

        Returns:
            True with the output's text, or False with the reason.

        Raises:
            OutputInvalid: the model gave no verdict that can be read.
            Exception: whatever the model raised.
        """
        return alone().judge(self, task_output)

    async def acall(self, task_output: "TaskOutput") -> tuple[bool, Any]:
        """Judge an output on this event loop."""
        return await alone().ajudge(self, task_output)


class CrewVerbs:
    """What can be done with a crew."""

    def kickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        thread_id: str | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "CrewOutput":
        """Run the tasks; works in scripts, threads and inside a running event loop (a notebook cell).

        A crew made with `stream=True` gives a `CrewStreamingOutput` instead, whose iteration is the run.

        Args:
            inputs: values for the `{placeholders}`.
            thread_id: a name to keep the run under, for `resume`; one is made where None.
            checkpointer: where the run is kept: a LangGraph checkpointer, False for nowhere; the crew's own, else the
                default database, where None.
            granularity: "task" or "step"; see `compile`.

        Raises:
            MissingInput: a placeholder has no value.
            GuardrailFailed: a guardrail refused every attempt.
            StorageError: the run cannot be kept.
            Exception: whatever a model raised, with a note that names the task.
        """
        run = _chunks().chunked if self._streams() else _kickoff().kickoff
        return run(self, inputs, thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)

    async def akickoff(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        thread_id: str | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "CrewOutput":
        """Run the tasks on this event loop; see `kickoff`."""
        if self._streams():
            run = _chunks().achunked
            return run(self, inputs, thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)
        return await _kickoff().akickoff(
            self, inputs, thread_id=thread_id, checkpointer=checkpointer, granularity=granularity
        )

    async def kickoff_async(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        thread_id: str | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "CrewOutput":
        """CrewAI's name for `akickoff`."""
        return await self.akickoff(inputs, thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)

    def kickoff_for_each(
        self,
        inputs: Sequence[Mapping[str, Any]],
        *,
        max_concurrency: int | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "list[CrewOutput]":
        """Run the tasks for each of several inputs, one run after the other; the outputs come in the order of the inputs.

        Each is a run of its own: with its own thread, callbacks and events. Where one fails, the others go on to their
        ends; then the first failure is raised. It has two attributes more: `outputs`, a list with what each run gave and
        None for those that failed, and `failures`, the exceptions by position. `usage_metrics` of the crew is afterwards
        the sum over all.

        Args:
            inputs: for each run, values for the `{placeholders}`.
            max_concurrency: how many runs there may be at a time, each in a thread; one where None.
            checkpointer: where the runs are kept, as for `kickoff`.
            granularity: "task" or "step"; see `compile`.

        Raises:
            TypeError: the inputs are no list of dicts.
            Exception: as `kickoff`.
        """
        return _for_each().kickoff_for_each(
            self, inputs, max_concurrency=max_concurrency, checkpointer=checkpointer, granularity=granularity
        )

    async def akickoff_for_each(
        self,
        inputs: Sequence[Mapping[str, Any]],
        *,
        max_concurrency: int | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "list[CrewOutput]":
        """Run the tasks for each input on this event loop, all at once unless there is a `max_concurrency`."""
        return await _for_each().akickoff_for_each(
            self, inputs, max_concurrency=max_concurrency, checkpointer=checkpointer, granularity=granularity
        )

    async def kickoff_for_each_async(
        self,
        inputs: Sequence[Mapping[str, Any]],
        *,
        max_concurrency: int | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "list[CrewOutput]":
        """CrewAI's name for `akickoff_for_each`."""
        return await self.akickoff_for_each(
            inputs, max_concurrency=max_concurrency, checkpointer=checkpointer, granularity=granularity
        )

    def stream(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        thread_id: str | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "Generator[StreamItem]":
        """Run the tasks, and tell of everything as it happens; the last item holds the output.

        The run goes on while items are taken, one step of the graph ahead at most. Models stream because of it. Leaving the
        loop ends the run as soon as the requests under way are answered; `resume` goes on with what was done.

        Args:
            inputs: values for the `{placeholders}`.
            thread_id: a name to keep the run under, for `resume`; one is made where None, and told by the first item.
            checkpointer: where the run is kept, as for `kickoff`.
            granularity: "task" or "step"; see `compile`.

        Raises:
            Exception: what `kickoff` raises, behind the items of what was done before.
        """
        return _stream().stream(self, inputs, thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)

    def astream(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        thread_id: str | None = None,
        checkpointer: Any = None,
        granularity: str = "task",
    ) -> "AsyncGenerator[StreamItem]":
        """Run the tasks on this event loop, and tell of everything as it happens; see `stream`.

        Use it as `async with contextlib.aclosing(crew.astream()) as items` where the loop may be left early: else the run
        ends only when Python finds that nobody holds it.
        """
        return _stream().astream(self, inputs, thread_id=thread_id, checkpointer=checkpointer, granularity=granularity)

    def _streams(self) -> bool:
        return cast("Crew", self).streaming

    def resume(self, thread_id: str, *, checkpointer: Any = None) -> "CrewOutput":
        """Continue a run that ended early: what it had done is not done again.

        Args:
            thread_id: the name the run is kept under.
            checkpointer: where it is kept, as for `kickoff`.

        Raises:
            RunError: there is no such run.
        """
        return _kickoff().resume(self, thread_id, checkpointer=checkpointer)

    async def aresume(self, thread_id: str, *, checkpointer: Any = None) -> "CrewOutput":
        """Continue a run that ended early; see `resume`."""
        return await _kickoff().aresume(self, thread_id, checkpointer=checkpointer)

    def compile(
        self,
        *,
        granularity: str = "task",
        checkpointer: Any = None,
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
        return _graphs().compiled(
            cast("Crew", self),
            granularity=granularity,
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
        )
