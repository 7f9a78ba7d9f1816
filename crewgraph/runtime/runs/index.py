"""The index of runs: which are kept of a crew or a flow, and how far they are."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, cast

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Interrupt

from crewgraph.compiler.flow.completion import around, of_run
from crewgraph.compiler.flow.plan import TriggerPlan
from crewgraph.compiler.flow.record import from_record
from crewgraph.compiler.flow.report import question_of
from crewgraph.compiler.flow.single_node import caught_up
from crewgraph.compiler.task.binding import bind_tasks
from crewgraph.core.journal import CHANNEL, appended_in
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Operation, Program, adrive, drive
from crewgraph.core.pregel import has_next, leads_on
from crewgraph.core.questions import ANSWER, own_id, questions_in
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.pending import CrewQuestion, RunFilter, RunInfo, RunStatus
from crewgraph.definitions.flow.feedback import PendingFlow, Question
from crewgraph.definitions.flow.flow import Flow
from crewgraph.definitions.run_options import Checkpointer
from crewgraph.errors import RunError
from crewgraph.runtime.execution import refuse_without_async_face
from crewgraph.runtime.runs.metadata import CREW_NAME, FLOW_NAME, crew_labels, is_whole
from crewgraph.runtime.runs.storage import checkpointer_for
from crewgraph.runtime.runs.stored_run import StoredCrewRun, StoredRun
from crewgraph.storage.checkpoints.listing import LatestCheckpoint
from crewgraph.storage.checkpoints.sqlite import SqliteCheckpointer

__all__ = [
    "acrew_runs",
    "aflow_runs",
    "all_runs",
    "apending",
    "crew_question",
    "crew_runs",
    "flow_runs",
    "latest_run",
    "of_crew",
    "pending",
    "waiting",
]


_PROGRESS = "progress"
_PARKED = "parked"
_UNSAVED = "unsaved"

_OF_FLOWS = (_PROGRESS, _PARKED, _UNSAVED, CHANNEL)

_AnyFlow = Flow | type[Flow]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """Which runs are asked for."""

    labels: Mapping[str, Any]
    told: Callable[[LatestCheckpoint], RunInfo | None]
    """What is told of a thread; None where it is that of something else."""
    wanted: RunFilter
    is_read: Callable[[str], bool]
    """Which channels are looked at."""

    def named(self, thread_id: str) -> bool:
        """Whether a thread's name is that of such a run."""
        return self.wanted.inside or around(thread_id) is None

    def chosen(self, found: Iterable[LatestCheckpoint]) -> list[RunInfo]:
        """The runs among what was found, which comes in its order."""
        told = filter(None, map(self.told, found))
        status = self.wanted.status
        return list(islice((one for one in told if status in (None, one.status)), self.wanted.limit))


class _ReadRuns(Operation):
    """The runs that are kept in a checkpointer, those written last first."""

    def __init__(self, saver: Any, asked: _Asked) -> None:
        self.saver, self.asked = saver, asked

    def run(self) -> list[RunInfo]:
        if isinstance(self.saver, SqliteCheckpointer):
            return self._latest(self.saver)
        return self._listed(self.saver.list(None, filter=dict(self.asked.labels)))

    async def arun(self) -> list[RunInfo]:
        if isinstance(self.saver, SqliteCheckpointer):
            return await in_thread(self._latest, self.saver)
        refuse_without_async_face(self.saver)
        return self._listed([one async for one in self.saver.alist(None, filter=dict(self.asked.labels))])

    def _latest(self, saver: SqliteCheckpointer) -> list[RunInfo]:
        asked = self.asked
        return asked.chosen(saver.latest(filter=dict(asked.labels), threads=asked.named, channels=asked.is_read))

    def _listed(self, checkpoints: Iterable[CheckpointTuple]) -> list[RunInfo]:
        """Of all checkpoints the latest of each thread: other checkpointers offer no shorter way."""
        latest: dict[str, CheckpointTuple] = {}
        oldest: dict[str, str] = {}
        for one in checkpoints:
            run = StoredRun(one)
            thread_id = run.thread_id
            if run.address.get("checkpoint_ns") or not self.asked.named(thread_id):
                continue
            oldest[thread_id] = min(one.checkpoint["ts"], oldest.get(thread_id, one.checkpoint["ts"]))
            if thread_id not in latest or one.checkpoint["id"] > latest[thread_id].checkpoint["id"]:
                latest[thread_id] = one
        found = sorted(latest.items(), key=lambda item: item[1].checkpoint["id"], reverse=True)
        return self.asked.chosen(
            LatestCheckpoint(
                one, datetime.fromisoformat(oldest[thread_id]).timestamp(), StoredRun(one).created_at.timestamp()
            )
            for thread_id, one in found
        )


def flow_runs(flow: _AnyFlow, wanted: RunFilter) -> list[RunInfo]:
    """The runs of a flow; see `Flow.runs`."""
    return drive(_of_flow(flow, wanted))


async def aflow_runs(flow: _AnyFlow, wanted: RunFilter) -> list[RunInfo]:
    """The runs of a flow; see `Flow.runs`."""
    return await adrive(_of_flow(flow, wanted))


def crew_runs(crew: Crew, wanted: RunFilter, checkpointer: Checkpointer) -> list[RunInfo]:
    """The runs of a crew; see `Crew.runs`."""
    return drive(of_crew(crew, wanted, checkpointer))


async def acrew_runs(crew: Crew, wanted: RunFilter, checkpointer: Checkpointer) -> list[RunInfo]:
    """The runs of a crew; see `Crew.runs`."""
    return await adrive(of_crew(crew, wanted, checkpointer))


def all_runs(saver: object, wanted: RunFilter, kind: str | None = None) -> list[RunInfo]:
    """The runs of all crews and flows, read without their programs, those written last first.

    Of a flow whose methods are all one node, it is told what its latest checkpoint says.

    Args:
        saver: where they are kept.
        wanted: which of them.
        kind: those of a "crew" or of a "flow" alone.
    """
    asked = _Asked(labels={}, told=partial(_any_told, kind), wanted=wanted, is_read=_is_read)
    return drive(_read(saver, asked))


def pending(flow: _AnyFlow) -> list[PendingFlow]:
    """The runs that wait; see `Flow.pending`."""
    return [_waiting(one) for one in drive(_of_flow(flow, RunFilter(status="pending", inside=True)))]


async def apending(flow: _AnyFlow) -> list[PendingFlow]:
    """The runs that wait; see `Flow.pending`."""
    return [_waiting(one) for one in await adrive(_of_flow(flow, RunFilter(status="pending", inside=True)))]


def waiting(saver: object) -> list[RunInfo]:
    """All runs in a checkpointer that wait for somebody's answer, those written last first, but those inside other runs.

    Of flows with a node for all methods it knows only what they asked when they stopped first; `pending` knows.
    """
    asked = _Asked(
        labels={},
        told=_either_told,
        wanted=RunFilter(status="pending"),
        is_read=lambda name: leads_on(name) or name in (ANSWER, _PROGRESS, _PARKED, _UNSAVED),
    )
    return drive(_read(saver, asked))


def _either_told(found: LatestCheckpoint) -> RunInfo:
    if FLOW_NAME in found.checkpoint.metadata:
        return _flow_told(None, found)
    return _crew_told({}, found)


def _waiting(run: RunInfo) -> PendingFlow:
    return PendingFlow(flow_id=run.thread_id, flow=run.name, questions=cast("tuple[Question, ...]", run.questions))


def _of_flow(flow: _AnyFlow, wanted: RunFilter) -> Program[list[RunInfo]]:
    kind, given = flow if isinstance(flow, type) else type(flow), flow.name
    asked = _Asked(
        labels={FLOW_NAME: given if isinstance(given, str) else kind.__name__},
        told=partial(_flow_told, TriggerPlan(flow.topology())),
        wanted=wanted,
        is_read=_OF_FLOWS.__contains__,
    )
    return (yield from _read(checkpointer_for(flow.checkpointer), asked))


def crew_question(asked: Interrupt) -> CrewQuestion:
    """A question of a crew's run, as people are shown it."""
    return CrewQuestion.from_plain(own_id(asked) or asked.id, asked.value)


def of_crew(crew: Crew, wanted: RunFilter, checkpointer: Checkpointer) -> Program[list[RunInfo]]:
    """The runs of a crew as a program; see `Crew.runs`."""
    tasks = bind_tasks(crew)
    asked = _Asked(
        labels=crew_labels(crew.name, tasks),
        told=partial(_crew_told, {one.slug: one.number for one in tasks}),
        wanted=wanted,
        is_read=lambda name: leads_on(name) or name == ANSWER,
    )
    return (yield from _read(checkpointer_for(checkpointer, crew.checkpointer), asked))


def latest_run(crew: Crew, saver: Any) -> Program[str]:
    """The thread of the run of a crew that was written last.

    Raises:
        RunError: none is kept.
    """
    found = yield from of_crew(crew, RunFilter(inside=True, limit=1), saver)
    if not found:
        raise RunError(
            f"no run of crew `{crew.name}` is kept in the {type(saver).__name__}: run it with `kickoff` first, or look at where "
            "its runs are kept (`checkpointer=`, CREWGRAPH_STORAGE_DIR). A crew without a name is known by the names of its "
            "tasks; give `thread_id=` where these have changed."
        )
    return found[0].thread_id


def _read(saver: Any, asked: _Asked) -> Program[list[RunInfo]]:
    return [] if saver is None else (yield _ReadRuns(saver, asked))


def _is_read(channel: str) -> bool:
    return channel in _OF_FLOWS or leads_on(channel)


def _any_told(kind: str | None, found: LatestCheckpoint) -> RunInfo | None:
    metadata: Mapping[str, Any] = found.checkpoint.metadata
    if FLOW_NAME in metadata:
        return _flow_told(None, found) if kind != "crew" else None
    return _crew_told({}, found) if CREW_NAME in metadata and kind != "flow" else None


def _flow_told(plan: TriggerPlan | None, found: LatestCheckpoint) -> RunInfo:
    kept = found.checkpoint
    values: Mapping[str, Any] = kept.checkpoint["channel_values"]
    if plan is not None and _PROGRESS in values and is_whole(kept.metadata):
        values = caught_up(plan, values, appended_in(kept.pending_writes or ()))
    # Without progress its inputs are stored, and nothing was begun.
    progress: Mapping[str, Any] = values.get(_PROGRESS) or {"inflight": True, "last": None}
    parked: Mapping[str, Any] = values.get(_PARKED) or {}
    questions = tuple(question_of(one, partial(from_record, classes={})) for one in parked.values())
    is_open = progress["inflight"] or of_run(values, _UNSAVED)
    status: RunStatus = "pending" if questions else "open" if is_open else "finished"
    done = progress["last"]
    return _told(found, "flow", FLOW_NAME, status, done and done.rpartition("#")[0], questions)


def _crew_told(order: Mapping[str, int], found: LatestCheckpoint) -> RunInfo:
    checkpoint, writes = found.checkpoint.checkpoint, found.checkpoint.pending_writes or ()
    questions = tuple(map(crew_question, questions_in(writes)))
    status: RunStatus = "pending" if questions else "open" if has_next(checkpoint["channel_values"]) else "finished"
    last = StoredCrewRun(found.checkpoint).last_task(order)
    return _told(found, "crew", CREW_NAME, status, last, questions)


def _told(
    found: LatestCheckpoint,
    kind: Any,
    label: str,
    status: RunStatus,
    last: str | None,
    questions: tuple[Question, ...] | tuple[CrewQuestion, ...],
) -> RunInfo:
    run = StoredRun(found.checkpoint)
    # A checkpoint's time is from before it was stored; what is written after it has none.
    updated = max(run.created_at, datetime.fromtimestamp(found.touched, UTC))
    created = None if found.created is None else datetime.fromtimestamp(found.created, UTC)
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
