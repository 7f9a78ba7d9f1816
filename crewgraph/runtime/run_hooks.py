"""Hooks at the boundaries of a run, and the observers of a run: the console, the log file, snapshots."""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from langgraph.errors import GraphBubbleUp

from crewgraph.annotations import signature_of
from crewgraph.compiler.flow.running import Parked
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.core.operations import Program
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.crew import CrewDefinition, agents_of
from crewgraph.definitions.run_options import Inputs
from crewgraph.errors import HookAborted
from crewgraph.extensions import extension
from crewgraph.hooks.points import (
    EXECUTION_BOUNDARY_POINTS,
    ExecutionEndContext,
    ExecutionStartContext,
    InputContext,
    InterceptionPoint,
    OutputContext,
)
from crewgraph.hooks.registry import dispatching, has_hooks
from crewgraph.observe.notebook import in_notebook
from crewgraph.runtime.console import agent_console, crew_console, crew_log, flow_console
from crewgraph.runtime.runs.storage import RunPlace
from crewgraph.schema import PlainDict

if TYPE_CHECKING:
    from crewgraph.compiler.flow.run import FlowRun
    from crewgraph.definitions.flow.flow import FlowDefinition


def run_entry_hooks(
    owner: "CrewDefinition | FlowDefinition | BaseAgentDefinition", inputs: dict[str, object]
) -> Program[Any]:
    """Run the entry hooks of a kickoff and return its inputs.

    Raises:
        HookAborted: a hook refuses the start of the run.
    """
    if not is_hooked(owner):
        return inputs
    start = ExecutionStartContext(payload=inputs, inputs=inputs, **_owner_field(owner))
    yield from dispatching(InterceptionPoint.EXECUTION_START, start)
    changed = start.payload
    context = InputContext(payload=changed, inputs=changed, **_owner_field(owner))
    try:
        yield from dispatching(InterceptionPoint.INPUT, context)
    except HookAborted as error:
        yield from _dispatch_failure(owner, error)
        raise
    return context.payload


def with_run_hooks(
    owner: "CrewDefinition | FlowDefinition | BaseAgentDefinition", run: Program[object]
) -> Program[Any]:
    """Run the exit hooks around a run and return its output. They also see failures, but not runs that wait for an answer.

    Raises:
        HookAborted: a hook refuses the output.
    """
    if not is_hooked(owner):
        return (yield from run)
    from crewgraph.definitions.crew.pending import PendingCrew
    from crewgraph.definitions.flow.feedback import PendingFlow

    try:
        output = yield from run
        if isinstance(output, (PendingCrew, PendingFlow)):
            return output
        out = OutputContext(payload=output, output=output, **_owner_field(owner))
        yield from dispatching(InterceptionPoint.OUTPUT, out)
    except (GraphBubbleUp, Parked):
        raise
    except Exception as error:  # whatever fails the run is shown to its exit hooks, then raised again
        yield from _dispatch_failure(owner, error)
        raise
    end = ExecutionEndContext(payload=out.payload, output=out.payload, **_owner_field(owner))
    try:
        yield from dispatching(InterceptionPoint.EXECUTION_END, end)
    except Exception as error:  # any error of the user's hook
        setattr(error, _SEEN_BY_EXIT_HOOKS, True)
        raise
    return end.payload


def with_failure_hooks(
    owner: "CrewDefinition | FlowDefinition | BaseAgentDefinition", run: Program[object]
) -> Program[Any]:
    """Run the exit hooks for a failure of a run that `with_run_hooks` has not seen, since it happened before the start."""
    try:
        return (yield from run)
    except (GraphBubbleUp, Parked):
        raise
    except Exception as error:  # whatever fails the start is shown to the exit hooks, then raised again
        if is_hooked(owner) and not getattr(error, _SEEN_BY_EXIT_HOOKS, False):
            yield from _dispatch_failure(owner, error)
        vars(error).pop(_SEEN_BY_EXIT_HOOKS, None)  # the program may raise the same object again
        raise


_SEEN_BY_EXIT_HOOKS = "__crewgraph_seen_by_exit_hooks__"
"""Marks an exception that exit hooks have seen."""


def _dispatch_failure(
    owner: "CrewDefinition | FlowDefinition | BaseAgentDefinition", error: BaseException
) -> Program[None]:
    setattr(error, _SEEN_BY_EXIT_HOOKS, True)
    end = ExecutionEndContext(status="failed", error=error, **_owner_field(owner))
    yield from dispatching(InterceptionPoint.EXECUTION_END, end)


def is_hooked(owner: "CrewDefinition | FlowDefinition | BaseAgentDefinition") -> bool:
    """Whether any hook applies at the boundaries of its runs."""
    return has_hooks(owner if isinstance(owner, CrewDefinition) else None, *EXECUTION_BOUNDARY_POINTS)


def _owner_field(owner: "CrewDefinition | FlowDefinition | BaseAgentDefinition") -> PlainDict:
    if isinstance(owner, BaseAgentDefinition):
        return {"agent": owner, "agent_role": owner.role}
    return {"crew": owner} if isinstance(owner, CrewDefinition) else {"flow": owner}


def callback_arguments(callback: Callable[..., object], value: object) -> tuple[object, ...]:
    """Return the arguments for a function: the value, if it takes one."""
    try:
        parameters = signature_of(callback).parameters.values()
    except (TypeError, ValueError):  # builtins have no signature
        return (value,)
    accepts_argument = any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
    return (value,) if accepts_argument else ()


class RunObserver(Protocol):
    """Observes a run from its beginning to its end, or until it waits for an answer."""

    def __enter__(self) -> object: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


def crew_observers(
    crew: CrewDefinition, place: RunPlace, tasks: Sequence[TaskBinding], inputs: Inputs
) -> list[RunObserver]:
    """Return the observers of a crew's run.

    Args:
        crew: the crew.
        place: where the run is stored.
        tasks: its tasks.
        inputs: its inputs.
    """
    observers: list[RunObserver | None] = [
        _live_view(crew, tasks, inputs),
        crew_console(crew),
        crew_log(crew),
    ]
    if crew.checkpoint or any([agent.checkpoint for agent in agents_of(crew)]):
        observers.append(extension("snapshots.crew_observer")(crew, place, tasks, inputs))
    return [observer for observer in observers if observer is not None]


def _live_view(crew: CrewDefinition, tasks: Sequence[TaskBinding], inputs: Inputs) -> RunObserver | None:
    """Return the observer that shows a run in the running cell; None without a notebook, or if it is turned off."""
    wanted = crew.verbose if crew.live_view is None else crew.live_view
    from crewgraph.runtime.live_view import LiveView

    return LiveView(crew, tasks, inputs) if wanted and in_notebook() else None


def flow_observers(run: "FlowRun", saver: Any) -> list[RunObserver]:
    """Return the observers of a flow's run that is stored in this checkpointer."""
    console = flow_console(run.flow)
    observers: list[RunObserver] = [] if console is None else [console]
    if run.flow.checkpoint:
        observers.append(extension("snapshots.flow_observer")(run, saver))
    return observers


def agent_observers(agent: BaseAgentDefinition, inputs: Inputs) -> tuple[RunPlace | None, list[RunObserver]]:
    """Return where a standalone agent's kickoff is stored (None for nowhere), and its observers."""
    console, start = agent_console(agent), agent.take_start()
    observers: list[RunObserver] = [] if console is None else [console]
    if start is None and not agent.checkpoint:
        return None, observers
    place, recording = extension("snapshots.agent_kickoff")(agent, start, inputs)
    return place, observers if recording is None else [*observers, recording]


@contextmanager
def observed(observers: Sequence[RunObserver]) -> Generator[None]:
    """Let observers watch a block; they are entered in order and left in reverse."""
    with ExitStack() as stack:
        for observer in observers:
            stack.enter_context(observer)
        yield
