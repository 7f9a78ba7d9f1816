"""Runs of flows that are taken up from checkpoints."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from crewgraph.core.operations import Program
from crewgraph.definitions.checkpoint_config import CheckpointConfig
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.runtime_state import RuntimeState, read, run_in
from crewgraph.errors import RunError
from crewgraph.runtime.flow import resumed
from crewgraph.runtime.flow_history import forked_at, steps_of
from crewgraph.runtime.place import own_saver
from crewgraph.runtime.snapshots_taken import saver_at

__all__ = ["begin", "made"]


@dataclass(frozen=True)
class _Taken:
    """What a flow goes on with."""

    run: Mapping[str, Any]
    forks: bool


def made(kind: "type[Flow[Any]]", config: CheckpointConfig, branch: str | None) -> "Flow[Any]":
    """A flow that goes on from a checkpoint; on a branch of its own where one is named, also by an empty name."""
    flow = kind()
    document = read(config, _checked)
    run, followed = run_in(document, "flow"), (document["branch"], document["checkpoint_id"])
    if branch is not None:
        state = RuntimeState([flow])
        state.follow(*followed)
        state.fork(branch or None)
        followed = (state.branch, document["checkpoint_id"])
    _takes(flow, run, followed, forks=branch is not None)
    flow.checkpoint_completed_methods = set(run["completed"])
    flow.checkpoint_method_counts, flow.checkpoint_state = dict(run["completed"]), run["state"]
    flow.take_state(flow.restored_state(run["state"]))
    return flow


def begin(flow: "Flow[Any]", config: CheckpointConfig) -> None:
    """Let the next kickoff of a flow go on from a checkpoint."""
    document = read(config, _checked)
    _takes(flow, run_in(document, "flow"), (document["branch"], document["checkpoint_id"]), forks=False)


def _checked(document: Mapping[str, Any]) -> Mapping[str, Any]:
    run_in(document, "flow")
    return document


def _takes(flow: "Flow[Any]", run: Mapping[str, Any], followed: tuple[str, str | None], *, forks: bool) -> None:
    database = run["database"]
    if own_saver(flow) is None and database is not None and Path(database).is_file():
        flow.checkpointer = saver_at(Path(database))
    flow.followed = followed
    flow.begin_with(partial(_gone_on, _Taken(run, forks)))


def _gone_on(taken: _Taken, flow: "Flow[Any]", inputs: Mapping[str, Any]) -> Program[Any]:
    thread_id, done = str(taken.run["thread_id"]), int(taken.run["executions"])
    steps = yield from steps_of(flow, thread_id)
    reached, at = 0, None
    for step in steps:
        reached += len(step.methods)
        if reached <= done:
            at = step
    if reached <= done and not taken.forks and not inputs:
        return (yield from resumed(flow, thread_id, None))
    if at is None:
        raise RunError(
            f"run `{thread_id}` of flow `{flow.flow_name}` does not hold the point of the checkpoint any more (`keep_history`); "
            "take up a later one"
        )
    return (yield from forked_at(flow, at, dict(inputs) or None))
