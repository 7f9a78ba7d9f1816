"""Jobs of a session, and the updates by which they move on."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, Literal, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

__all__ = [
    "JobRecord",
    "JobState",
    "JobStatus",
    "JobUpdate",
    "JobUpdateKind",
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
    """A job of a session; a subclass has the fields for what its stages give, and names them in `output_fields`."""

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
    """The stage that began last."""

    committed_stages: list[str] = Field(default_factory=list[str])
    """Those that are done."""

    last_update_seq: int = 0
    error: str | None = None
    created_at: str = Field(default_factory=_timestamp)
    updated_at: str = Field(default_factory=_timestamp)


class JobUpdate(BaseModel):
    """Something that has happened to a job."""

    model_config = ConfigDict(extra="forbid")

    session_id: str = Field(min_length=1)
    job_id: str = Field(min_length=1)
    revision: int = Field(gt=0, strict=True)
    attempt: int = Field(gt=0, strict=True)
    seq: int = Field(gt=0, strict=True)
    """Which update of the job it is, from 1."""

    kind: JobUpdateKind
    stage: str = ""
    outputs: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    """What a stage gave, by the fields of the record."""

    error: str | None = None


UpdatePublisher = Callable[[JobUpdate], bool]
"""Takes an update, and says whether it counts."""

JobT = TypeVar("JobT", bound=JobRecord)


class JobState(BaseModel, Generic[JobT]):
    """The jobs of a session."""

    id: str = Field(default_factory=lambda: str(uuid4()))
    """The session."""

    jobs: dict[str, JobT] = Field(default_factory=dict)
    """By their ids."""

    job_sequence: int = 0
    """How often something has changed."""


class JobWorkState(BaseModel, Generic[JobT]):
    """The state of a flow that does a job."""

    job: JobT
    """The job as it was when the work began."""

    seq: int = 0
    """Its last update."""


JobWorkStateOfAny = JobWorkState[Any]


def add_job(state: JobState[Any], job: JobRecord) -> bool:
    """Add a job that waits to its session; False where it is of another one, was begun, or is there already."""
    if job.session_id != state.id or job.status != "queued" or job.job_id in state.jobs:
        return False
    state.jobs[job.job_id] = job
    state.job_sequence += 1
    return True


def commit_job_update(state: JobState[Any], update: JobUpdate) -> bool:
    """Have a job move on; False, and nothing changes, where it cannot do so from where it is."""
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
    """The fields that change; None where the update is out of turn."""
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
