"""The index of stored runs: lists the runs of a crew or a flow with their status."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, cast

from langgraph.checkpoint.base import CheckpointTuple

from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.core.claims import ClaimKeeper
from crewgraph.core.operations import (
    Program,
    Saving,
    blocking,
    collected,
    drive,
)
from crewgraph.core.pregel import ERROR, has_next, leads_on
from crewgraph.core.questions import ANSWER, questions_in
from crewgraph.definitions.crew.crew import CrewDefinition
from crewgraph.definitions.crew.pending import CrewQuestion, RunFilter, RunInfo, RunStatus
from crewgraph.definitions.run_options import Checkpointer
from crewgraph.errors import UnknownRun
from crewgraph.runtime.crew.results import crew_question
from crewgraph.runtime.runs.metadata import CREW_NAME, FLOW_NAME, crew_labels, shown_name
from crewgraph.runtime.runs.storage import checkpointer_for
from crewgraph.runtime.runs.stored_run import StoredCrewRun, StoredRun
from crewgraph.schema import PlainDict, PlainMapping
from crewgraph.storage.checkpoints.listing import LatestCheckpoint
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer
from crewgraph.storage.claims.keepers import claim_keeper

if TYPE_CHECKING:
    from crewgraph.compiler.flow.algebra import GraphState
    from crewgraph.definitions.flow.feedback import PendingFlow, Question
    from crewgraph.definitions.flow.flow import FlowDefinition


_PROGRESS = "progress"
_PARKED = "parked"
_UNSAVED = "unsaved"


@dataclass(frozen=True, kw_only=True)
class _Query:
    """A query for stored runs."""

    labels: Mapping[str, object]
    to_info: Callable[[LatestCheckpoint], RunInfo | None]
    """Converts a thread's latest checkpoint; None excludes the thread."""
    run_filter: RunFilter

    def covers(self, thread_id: str) -> bool:
        """Return whether a thread may match, by its name."""
        from crewgraph.compiler.flow.record import enclosing_thread

        return self.run_filter.inside or enclosing_thread(thread_id) is None

    def select(self, checkpoints: Iterable[LatestCheckpoint], claims: ClaimKeeper) -> list[RunInfo]:
        """Return the runs among checkpoints, in the same order."""
        infos = (_if_working(info, claims) for info in map(self.to_info, checkpoints) if info is not None)
        status = self.run_filter.status
        statuses = ("failed", "abandoned") if status == "open" else (status,)
        return list(
            islice((info for info in infos if status is None or info.status in statuses), self.run_filter.limit)
        )


def _read_runs(saver: Any, query: _Query) -> Program[list[RunInfo]]:
    """List the runs in a checkpointer, if there is one, most recently written first."""
    if saver is None:
        return []
    if isinstance(saver, SqliteCheckpointer):
        read = partial(saver.latest, filter=dict(query.labels), threads=query.covers, channels=_tells_status)
        return (yield blocking(lambda: query.select(read(), saver.claims)))
    checkpoints = yield collected(saver, "list", None, filter=dict(query.labels))
    latest: dict[str, CheckpointTuple] = {}
    oldest: dict[str, str] = {}
    for checkpoint in checkpoints:
        run = StoredRun(checkpoint)
        thread_id = run.thread_id
        if run.address.get("checkpoint_ns") or not query.covers(thread_id):
            continue
        oldest[thread_id] = min(checkpoint.checkpoint["ts"], oldest.get(thread_id, checkpoint.checkpoint["ts"]))
        if thread_id not in latest or checkpoint.checkpoint["id"] > latest[thread_id].checkpoint["id"]:
            latest[thread_id] = checkpoint
    newest_first = sorted(latest.items(), key=lambda item: item[1].checkpoint["id"], reverse=True)
    found = (
        LatestCheckpoint(
            checkpoint,
            datetime.fromisoformat(oldest[thread_id]).timestamp(),
            StoredRun(checkpoint).created_at.timestamp(),
        )
        for thread_id, checkpoint in newest_first
    )
    return query.select(found, claim_keeper(saver))


def all_runs(
    saver: object, run_filter: RunFilter, kind: str | None = None, project: Mapping[str, object] | None = None
) -> list[RunInfo]:
    """Return the runs of all crews and flows, read without their definitions, most recently written first.

    Args:
        saver: the checkpointer; None returns an empty list.
        run_filter: which runs to return.
        kind: "crew" or "flow"; None for both.
        project: the labels of a project (`project_labels`), for its runs only.
    """
    query = _Query(
        labels=project or {},
        to_info=partial(_info_of_any, kind),
        run_filter=run_filter,
    )
    return drive(_read_runs(saver, query))


def run_of_thread(saver: Any, thread_id: str) -> Program[RunInfo | None]:
    """Return the run that is stored under a name; None if there is none.

    Args:
        saver: the checkpointer.
        thread_id: the name.
    """
    stored = yield Saving(saver, "get_tuple", {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    if stored is None:
        return None
    latest = LatestCheckpoint(stored, None, StoredRun(stored).created_at.timestamp())
    return _info_of_any(None, latest)


def pending_runs(saver: object) -> list[RunInfo]:
    """Return all runs in a checkpointer that wait for an answer, except nested ones, most recently written first."""
    return drive(_read_runs(saver, _Query(labels={}, to_info=_info_of_either, run_filter=RunFilter(status="waiting"))))


def _info_of_either(latest: LatestCheckpoint) -> RunInfo:
    if FLOW_NAME in latest.checkpoint.metadata:
        return _flow_info(latest)
    return _crew_info({}, latest)


def list_pending_flows(flow: "FlowDefinition | type[FlowDefinition]") -> "Program[list[PendingFlow]]":
    """Return the runs that wait for answers; see `Flow.pending`."""
    from crewgraph.definitions.flow.feedback import PendingFlow

    runs = yield from list_flow_runs(flow, RunFilter(status="waiting", inside=True))
    return [
        PendingFlow(flow_id=run.thread_id, flow=run.name, questions=cast("tuple[Question, ...]", run.questions))
        for run in runs
    ]


def list_flow_runs(flow: "FlowDefinition | type[FlowDefinition]", run_filter: RunFilter) -> Program[list[RunInfo]]:
    """Return the runs of a flow; see `Flow.runs`."""
    flow_class, name = flow if isinstance(flow, type) else type(flow), flow.name
    query = _Query(
        labels={FLOW_NAME: name if isinstance(name, str) else flow_class.__name__},
        to_info=_flow_info,
        run_filter=run_filter,
    )
    return (yield from _read_runs(checkpointer_for(flow.checkpointer), query))


def list_crew_runs(crew: CrewDefinition, run_filter: RunFilter, checkpointer: Checkpointer) -> Program[list[RunInfo]]:
    """Return the runs of a crew; see `Crew.runs`."""
    tasks = bind_tasks(crew)
    query = _Query(
        labels=crew_labels(crew.name, tasks),
        to_info=partial(_crew_info, {binding.slug: binding.number for binding in tasks}),
        run_filter=run_filter,
    )
    return (yield from _read_runs(checkpointer_for(checkpointer, crew.checkpointer), query))


def latest_run(crew: CrewDefinition, saver: Any) -> Program[str]:
    """Return the thread of a crew's most recently written run.

    Raises:
        UnknownRun: no run of the crew is stored.
    """
    runs = yield from list_crew_runs(crew, RunFilter(inside=True, limit=1), saver)
    if not runs:
        raise UnknownRun(
            f"no run of crew `{crew.name}` is stored in the {type(saver).__name__}: run it with `kickoff` first, or check where "
            "its runs are stored (`checkpointer=`, CREWGRAPH_STORAGE_DIR). A crew without a name is identified by the names of "
            "its tasks; pass `thread_id=` if these have changed."
        )
    return runs[0].thread_id


def _tells_status(channel: str) -> bool:
    return leads_on(channel) or channel in (ANSWER, ERROR, _PROGRESS, _PARKED, _UNSAVED)


def _info_of_any(kind: str | None, latest: LatestCheckpoint) -> RunInfo | None:
    metadata: Mapping[str, object] = latest.checkpoint.metadata
    if FLOW_NAME in metadata:
        return _flow_info(latest) if kind != "crew" else None
    if CREW_NAME not in metadata or kind == "flow":
        return None
    return replace(_crew_info({}, latest), name=str(shown_name(metadata)))


def _flow_info(latest: LatestCheckpoint) -> RunInfo:
    stored, writes = latest.checkpoint, latest.checkpoint.pending_writes or ()
    values: GraphState = stored.checkpoint["channel_values"]
    # Without progress only the inputs are stored, and no method has begun.
    progress: PlainMapping = values.get(_PROGRESS) or {"inflight": True, "last": None}
    parked: Mapping[str, PlainDict] = values.get(_PARKED) or {}
    from crewgraph.compiler.flow.record import from_record, method_of, of_run
    from crewgraph.compiler.flow.report import question_of

    questions = tuple(question_of(question, partial(from_record, classes={})) for question in parked.values())
    is_open = progress["inflight"] or of_run(values, _UNSAVED)
    status: RunStatus = "waiting" if questions else _unfinished(writes) if is_open else "done"
    done = progress["last"]
    return _run_info(latest, "flow", FLOW_NAME, status, done and method_of(done), questions)


def _crew_info(order: Mapping[str, int], latest: LatestCheckpoint) -> RunInfo:
    checkpoint, writes = latest.checkpoint.checkpoint, latest.checkpoint.pending_writes or ()
    questions = tuple(map(crew_question, questions_in(writes)))
    status: RunStatus = (
        "waiting" if questions else _unfinished(writes) if has_next(checkpoint["channel_values"]) else "done"
    )
    last = StoredCrewRun(latest.checkpoint).last_task(order)
    return _run_info(latest, "crew", CREW_NAME, status, last, questions)


def _unfinished(writes: Iterable[tuple[str, str, object]]) -> RunStatus:
    """Return the status of a run that is neither done nor waiting, as far as its checkpoint tells."""
    return "failed" if any(channel == ERROR for _, channel, _ in writes) else "abandoned"


def _if_working(info: RunInfo, claims: ClaimKeeper) -> RunInfo:
    if info.status not in ("failed", "abandoned"):
        return info
    thread_id = info.thread_id
    from crewgraph.compiler.flow.record import enclosing_thread

    while (around := enclosing_thread(thread_id)) is not None:  # it has the claim of the flow around it
        thread_id = around
    return info if claims.holder(thread_id) is None else replace(info, status="working")


def _run_info(
    latest: LatestCheckpoint,
    kind: Literal["crew", "flow"],
    label: str,
    status: RunStatus,
    last: str | None,
    questions: "tuple[Question, ...] | tuple[CrewQuestion, ...]",
) -> RunInfo:
    run = StoredRun(latest.checkpoint)
    # The time in a checkpoint is older than its storing, and later writes have none.
    updated = max(run.created_at, datetime.fromtimestamp(latest.touched, UTC))
    created = None if latest.created is None else datetime.fromtimestamp(latest.created, UTC)
    return RunInfo(
        thread_id=run.thread_id,
        kind=kind,
        name=str(run.metadata.get(label)),
        status=status,
        last=last,
        created_at=None if created is None else min(created, updated),
        updated_at=updated,
        questions=questions,
        inside=run.inside,
    )
