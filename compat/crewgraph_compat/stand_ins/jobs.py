"""Background jobs of a session: records, updates, and the runner that executes flows for them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from datetime import UTC, datetime
from threading import Event, Lock
from typing import Any, ClassVar, Generic, Literal, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from crewgraph.flow import Flow

__all__ = [
    "JobRecord",
    "JobRunner",
    "JobState",
    "JobStatus",
    "JobUpdate",
    "JobUpdateKind",
    "JobWorkFlow",
    "JobWorkState",
    "JobWorkStateOfAny",
    "UpdatePublisher",
    "add_job",
    "commit_job_update",
]


JobStatus = Literal["queued", "running", "completed", "failed"]
JobUpdateKind = Literal["started", "stage_started", "stage_completed", "completed", "failed"]


def _timestamp() -> str:
    return datetime.now(UTC).isoformat()


class JobRecord(BaseModel):
    """A job of a session; a subclass adds fields for the outputs of its stages, listed in `output_fields`."""

    model_config = ConfigDict(extra="forbid")

    output_fields: ClassVar[frozenset[str]] = frozenset()
    """The fields that updates may set."""

    job_id: str = Field(default_factory=lambda: str(uuid4()), min_length=1)
    session_id: str = Field(min_length=1)
    origin_turn_id: str = ""
    kind: str = ""
    revision: int = Field(default=1, gt=0, strict=True)
    attempt: int = Field(default=1, gt=0, strict=True)
    status: JobStatus = "queued"
    stage: str = ""
    """The stage that started last."""

    committed_stages: list[str] = Field(default_factory=list[str])
    """The completed stages."""

    last_update_seq: int = 0
    error: str | None = None
    created_at: str = Field(default_factory=_timestamp)
    updated_at: str = Field(default_factory=_timestamp)


class JobUpdate(BaseModel):
    """A change of a job's status."""

    model_config = ConfigDict(extra="forbid")

    session_id: str = Field(min_length=1)
    job_id: str = Field(min_length=1)
    revision: int = Field(gt=0, strict=True)
    attempt: int = Field(gt=0, strict=True)
    seq: int = Field(gt=0, strict=True)
    """The sequence number within the job, starting at 1."""

    kind: JobUpdateKind
    stage: str = ""
    outputs: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """The outputs of a stage by record field."""

    error: str | None = None


UpdatePublisher = Callable[[JobUpdate], bool]
"""Receives an update and returns whether it was accepted."""

JobT = TypeVar("JobT", bound=JobRecord)


class JobState(BaseModel, Generic[JobT]):
    """The jobs of a session."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """The session id."""

    jobs: dict[str, JobT] = Field(default_factory=dict)
    """The jobs by id."""

    job_sequence: int = 0
    """The number of changes."""


class JobWorkState(BaseModel, Generic[JobT]):
    """The state of a flow that executes a job."""

    job: JobT
    """The job as it was when the flow started."""

    seq: int = 0
    """The latest update."""


JobWorkStateOfAny = JobWorkState[Any]


def add_job(state: JobState[Any], job: JobRecord) -> bool:
    """Add a pending job; return False if it belongs to another session, was started, or is already present."""
    if job.session_id != state.id or job.status != "queued" or job.job_id in state.jobs:
        return False
    state.jobs[job.job_id] = job
    state.job_sequence += 1
    return True


def commit_job_update(state: JobState[Any], update: JobUpdate) -> bool:
    """Apply an update to its job; return False without a change if it is not valid in the job's status."""
    job: JobRecord | None = state.jobs.get(update.job_id)
    if job is None or not _is_due(state, job, update):
        return False
    changed = _changed(job, update)
    if changed is None:
        return False
    try:
        moved = type(job).model_validate(
            {**job.model_dump(), **changed, "last_update_seq": update.seq, "updated_at": _timestamp()}
        )
    except ValidationError:  # an output has another type than its field
        return False
    for name in type(job).model_fields:  # in place: others hold the record
        setattr(job, name, getattr(moved, name))
    state.job_sequence += 1
    return True


def _is_due(state: JobState[Any], job: JobRecord, update: JobUpdate) -> bool:
    same = (update.session_id, update.revision, update.attempt) == (state.id, job.revision, job.attempt)
    return same and update.seq > job.last_update_seq and job.status in ("queued", "running")


def _changed(job: JobRecord, update: JobUpdate) -> dict[str, Any] | None:
    """Return the changed fields, or None if the update is out of order."""
    if update.outputs and (update.kind != "stage_completed" or not set(update.outputs) <= type(job).output_fields):
        return None
    if update.kind == "failed":
        return {"status": "failed", "error": update.error or "The job failed."}
    if update.kind == "started":
        return {"status": "running"} if job.status == "queued" else None
    if job.status != "running":
        return None
    is_open = job.stage != "" and job.stage not in job.committed_stages
    if update.kind == "completed":
        return None if is_open else {"status": "completed"}
    if update.stage == "" or update.stage in job.committed_stages:
        return None
    if update.kind == "stage_started":
        return None if is_open else {"stage": update.stage}
    if not is_open or update.stage != job.stage:
        return None
    return {"committed_stages": [*job.committed_stages, update.stage], **update.outputs}


WorkStateT = TypeVar("WorkStateT", bound=JobWorkState[Any])

_log = logging.getLogger("crewgraph")


class JobWorkFlow(Flow[WorkStateT], Generic[WorkStateT]):
    """A flow that executes a job and publishes its progress.

    Args:
        publish: receives each update and returns whether it was accepted.
        kwargs: the arguments of a flow; `initial_state` contains the job.
    """

    def __init__(self, *, publish: UpdatePublisher, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._publish_update = publish
        self._stopping = Event()

    def request_stop(self) -> None:
        """Ask the flow to stop at the next `check_open`."""
        self._stopping.set()

    def check_open(self) -> None:
        """Continue unless the flow was asked to stop.

        Raises:
            RuntimeError: The flow was asked to stop.
        """
        if self._stopping.is_set():
            raise RuntimeError("the session is closed: the job stops here")

    def publish_update(self, kind: JobUpdateKind, **details: Any) -> None:
        """Publish a status change of the job.

        Args:
            kind: what.
            details: `stage`, `outputs`, `error`.

        Raises:
            RuntimeError: The update was rejected: the session is closed, or the status change is invalid.
        """
        state: JobWorkState[Any] = self.state
        state.seq += 1
        if not self._publish_update(_update(state.job, state.seq, kind, **details)):
            raise RuntimeError(
                f"the update `{kind}` of the job `{state.job.job_id}` was rejected: the session is closed, "
                "or the job's current state does not allow it"
            )


class JobRunner:
    """Execute jobs as flows in background threads; create and use it on a single event loop.

    Args:
        state: the jobs of the session.
        make_work: creates the flow for a job from the job, its inputs and the publish function.
        on_update: awaited with the snapshot after each change, in order.
        on_worker_event: called on the job's thread with "started" and "settled".
        format_error: returns the message for an exception.

    Raises:
        RuntimeError: No event loop is running.
    """

    def __init__(
        self,
        state: JobState[Any],
        make_work: Callable[[JobRecord, Any, UpdatePublisher], JobWorkFlow[Any]],
        *,
        on_update: Callable[[dict[str, Any]], Awaitable[None]],
        on_worker_event: Callable[[str, JobRecord], None] | None = None,
        format_error: Callable[[Exception], str] = str,
    ) -> None:
        self.state, self.make_work, self.on_update = state, make_work, on_update
        self.on_worker_event, self.format_error = on_worker_event, format_error
        self.state_lock, self.closed = Lock(), False
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.workflows: dict[str, JobWorkFlow[Any]] = {}
        self._loop = asyncio.get_running_loop()
        self._in_turn = asyncio.Lock()

    def snapshot(self) -> dict[str, Any]:
        """Return the session's jobs as JSON data."""
        with self.state_lock:
            jobs = [job.model_dump(mode="json") for job in self.state.jobs.values()]
            return {"session_id": self.state.id, "seq": self.state.job_sequence, "jobs": jobs}

    def submit(self, job: JobRecord, inputs: Any) -> None:
        """Start a job of the session; a job that is running or unknown is ignored.

        Raises:
            RuntimeError: The runner is closed.
        """
        if self.closed:
            raise RuntimeError("the job runner is closed; create a new one")
        if job.job_id in self.state.jobs and job.job_id not in self.tasks:
            task = self.tasks[job.job_id] = self._loop.create_task(self._done(deepcopy(job), inputs))
            task.add_done_callback(lambda _: self.tasks.pop(job.job_id, None))

    def request_close(self) -> None:
        """Reject further jobs and updates, and ask running jobs to stop."""
        self.closed = True
        for work in [*self.workflows.values()]:
            work.request_stop()

    async def aclose(self) -> None:
        """Close the runner and wait for running jobs."""
        self.request_close()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    async def _done(self, job: JobRecord, inputs: Any) -> None:
        try:
            async with self._in_turn:
                await self.on_update(self.snapshot())
            if self.closed:
                return
            work = self.workflows[job.job_id] = self.make_work(job, inputs, self._publish)
        except Exception as error:  # noqa: BLE001 - reported with the job
            _log.exception("the job %s could not be started", job.job_id)
            await self._failed(job, error)
            return
        try:
            await asyncio.to_thread(self._run, work)
        finally:
            self.workflows.pop(job.job_id, None)

    async def _failed(self, job: JobRecord, error: Exception) -> None:
        try:
            await self._commit_update(_update(job, job.last_update_seq + 1, "failed", error=self.format_error(error)))
        except Exception:  # noqa: BLE001 - nothing left to do but log
            _log.exception("the failure of job %s could not be reported", job.job_id)

    def _run(self, work: JobWorkFlow[Any]) -> None:
        job = work.state.job
        self._notify("started", job)
        try:
            work.kickoff()
        except Exception as error:  # noqa: BLE001 - reported with the job
            work.state.seq += 1
            self._publish(_update(job, work.state.seq, "failed", error=self.format_error(error)))
        finally:
            self._notify("settled", job)

    def _notify(self, status: str, job: JobRecord) -> None:
        if self.on_worker_event is not None:
            self.on_worker_event(status, job)

    def _publish(self, update: JobUpdate) -> bool:
        """Called on the job's thread, which waits until the update was handled."""
        return asyncio.run_coroutine_threadsafe(self._commit_update(update), self._loop).result()

    async def _commit_update(self, update: JobUpdate) -> bool:
        async with self._in_turn:
            with self.state_lock:
                if self.closed or not commit_job_update(self.state, update):
                    return False
            await self.on_update(self.snapshot())
            return True


def _update(job: JobRecord, seq: int, kind: JobUpdateKind, **details: Any) -> JobUpdate:
    about: dict[str, Any] = {
        "session_id": job.session_id,
        "job_id": job.job_id,
        "revision": job.revision,
        "attempt": job.attempt,
    }
    return JobUpdate(**about, seq=seq, kind=kind, **details)
