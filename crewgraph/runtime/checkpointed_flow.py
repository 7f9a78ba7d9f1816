"""What is noted of a flow's run while it goes on."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel

from crewgraph.compiler.flow.run import FlowRun
from crewgraph.definitions.checkpoint_config import config_of
from crewgraph.events.base import BaseEvent, brief
from crewgraph.runtime.snapshots_taken import SnapshotTaker, database_of, taking

__all__ = ["noted_flow"]


@contextmanager
def noted_flow(run: FlowRun, saver: Any) -> Generator[None]:
    """A block in which a flow runs, and checkpoints are made as it wishes."""
    flow = run.flow
    config = config_of(flow.checkpoint)
    if config is None:
        with taking([]):
            yield
        return

    def point() -> dict[str, Any]:
        flow.checkpoint_completed_methods, flow.checkpoint_method_counts = set(run.completed), dict(run.completed)
        flow.checkpoint_state = _plain(run.state)
        return {
            "thread_id": run.thread_id,
            "database": database_of(saver),
            "inputs": brief(run.inputs),
            "executions": sum(run.completed.values()),
            "completed": dict(run.completed),
            "state": flow.checkpoint_state,
        }

    taker = SnapshotTaker(config, flow, point, _any, ("main", None) if flow.followed is None else flow.followed)
    taker.begin()
    with taking([taker]):
        yield


def _any(source: Any, event: BaseEvent) -> bool:
    return True


def _plain(state: Any) -> dict[str, Any]:
    """A state as plain data, to be looked at: the run itself has it whole."""
    values: Any = state.model_dump(mode="json") if isinstance(state, BaseModel) else brief(dict(state or {}))
    return values
