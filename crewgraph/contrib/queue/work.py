"""The payload of a job: the thread to run, and the record of earlier attempts.

It is stored as the arguments of procrastinate's job, as plain JSON: nothing in it names code to import. Inputs and answers are
nested JSON strings, because Postgres' `jsonb` takes neither NUL characters nor infinite numbers.
"""

import json
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Literal, Self

import psycopg
from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as EngineJob
from psycopg_pool import PoolTimeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crewgraph.core.outages import status_of
from crewgraph.core.plain import plain
from crewgraph.crew import Crew
from crewgraph.errors import (
    CrewgraphError,
    MCPServerError,
    OtherFormat,
    RemoteAgentError,
    StorageError,
    ThreadBusy,
    TimeLimitReached,
)
from crewgraph.flow.flow import Flow
from crewgraph.formats import FORMAT
from crewgraph.llm.errors import UnreadableAnswer

CLOCK = "SELECT clock_timestamp() AS now"
"""The query for the database's time."""

TASK = "crewgraph.run"
"""The name of the engine's task."""

# Procrastinate notifies workers in the channel "procrastinate_queue_v1#NAME", and Postgres takes 63 bytes.
_MAX_NAME_LENGTH = 40  # bytes of a queue's name
_MAX_RETRY_DELAY = 60.0  # seconds
_MAX_DATABASE_ATTEMPTS = 100  # after that, a lost database counts as an ordinary failure
LOST = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, ConnectorException)
"""The errors raised when Postgres cannot be reached."""

_BUSY_RETRY_DELAYS = (1.0, 5.0)  # seconds: the first and the longest, while another process runs the thread

Definition = Crew | Flow[Any] | type[Flow[Any]] | Callable[[], Any]
"""What a job runs: a crew, a flow, a flow class, or a function without parameters that returns one of them."""


JobState = Literal["queued", "working", "done", "failed", "cancelled"]

STATES: Mapping[str, JobState] = {
    "todo": "queued",
    "doing": "working",
    "succeeded": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "aborted": "cancelled",
}
"""Our names for the states of the engine's jobs."""


def state_of(job: EngineJob) -> JobState:
    """Return the state of a job."""
    return STATES[str(job.status)]


class Postponed(Exception):
    """The job is to be fetched again in some seconds: the worker stops, or tries another job whose workers have died."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        return f"postponed for {self.seconds} s"


class OutOfLane(Exception):
    """The job waited outside of its lane, and must be fetched again when the lane is free."""


class Work(BaseModel):
    """The arguments of a job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int | None = None
    """The format of what was stored; None if it was not."""

    thread_id: str
    """The name that the run is stored under."""

    inputs: str = "{}"
    """The inputs of a new run, as JSON."""

    granularity: str = "task"
    """The granularity of a new run of a crew."""

    answer: str | None = None
    """The answer to the run's question, as JSON; None for a job without one."""

    run_id: str | None = None
    """The id of a server's run, whose record has the rest; None for other jobs. A thread may have many runs."""

    answers: tuple[str, ...] = ()
    """The ids of the questions that the answer addresses. It is applied once, however often the job is retried."""

    lane: str | None = None
    """The engine's lock that runs of a limited crew or flow share; None without a limit."""

    retries: int = 3
    """Maximum number of retries after a failure, and of workers in a row that may die while running it."""

    failures: int = 0
    """Number of failed attempts."""

    deaths: int = 0
    """Number of workers in a row that died while running the job, since its run last made progress."""

    trial: int | None = None
    """The engine's number of the attempt in which it was last tried without others like it; see `is_last_trial`."""

    error: str | None = None
    """The error of the last failed attempt."""

    unreadable: tuple[str, ...] = Field(default=(), exclude=True)
    """The names of arguments that are unknown or of another type, without which the job cannot be run."""

    @classmethod
    def of(cls, job: EngineJob) -> Self:
        """Read the arguments of a job; see `read`."""
        return cls.read(job.task_kwargs)

    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> Self:
        """Read the arguments of a job. What another version of crewgraph may have written is only named, in `unreadable`."""
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            unreadable = {str(fault["loc"][0]) for fault in error.errors()}
        readable = {name: value for name, value in arguments.items() if name not in unreadable}
        return cls.model_validate({"thread_id": "", **readable, "unreadable": sorted(unreadable)})

    @property
    def is_last_trial(self) -> bool:
        """Whether the job becomes a dead letter if another worker dies while running it.

        A run that kills its workers takes others with it, so that their deaths are counted, too. Therefore only one such job
        runs in a worker at a time, and only its death counts.
        """
        return 0 < self.retries <= self.deaths

    @property
    def own_lock(self) -> str:
        """The engine's lock for this thread alone."""
        return f"thread {self.thread_id}"

    def arguments(self) -> dict[str, Any]:
        """Return it as the arguments of a job."""
        return {**self.model_dump(mode="json"), "format": FORMAT}


def queue_of(definition: Crew | Flow[Any]) -> str:
    """Return the name of the engine's queue for a crew or a flow. Workers fetch only jobs of what they can run.

    It is "crew:NAME" or "flow:NAME". A long name, or one that Postgres cannot hold, is shortened to what is readable of it and
    a digest.
    """
    kind, name = ("flow", definition.flow_name) if isinstance(definition, Flow) else ("crew", str(definition.name))
    full = f"{kind}:{name}"
    encoded = full.encode(errors="surrogatepass")
    if full.isprintable() and len(encoded) <= _MAX_NAME_LENGTH:
        return full
    digest = blake2b(encoded, digest_size=8).hexdigest()
    readable = "".join(char for char in full if char.isprintable()).encode()
    return f"{readable[: _MAX_NAME_LENGTH - 1 - len(digest)].decode(errors='ignore')}-{digest}"


def json_of(value: object) -> str:
    """Return a value as JSON, converted to plain data first.

    Raises:
        NotPlain: it cannot be converted.
    """
    return json.dumps(plain(value))


def would_fail_again(error: BaseException) -> bool:
    """Return whether a retry would fail alike because the definition, the inputs or the checkpoints cause the error."""
    if isinstance(error, OtherFormat):
        return True
    if isinstance(error, (StorageError, RemoteAgentError, MCPServerError, TimeLimitReached, UnreadableAnswer)):
        return False
    return isinstance(error, CrewgraphError) or status_of(error) in (400, 401, 403, 404, 422)


def is_lost_database(error: BaseException | None) -> bool:
    """Return whether an attempt ended because Postgres could not be reached, which is not a failure of the run."""
    if error is None:
        return False
    return isinstance(error, LOST) or is_lost_database(error.__cause__)


class Retries(BaseRetryStrategy):
    """The retry strategy.

    The engine fetches no job before an earlier one with the same lock, even if the earlier one is not due yet. So a delayed job
    leaves its lane, waits under the lock of its thread, and returns to the lane when it is due.

    A busy thread is retried without limit, since the process that runs it may still die. A failure is retried after 1, 2, 4 ...
    seconds, as often as the job allows; then the job is a dead letter: `failed`.
    """

    def __init__(self) -> None:
        self._clock_difference = timedelta(0)

    def set_clock(self, now: datetime) -> None:
        """Set the time of the database, by whose clock jobs become due; that of this machine may differ."""
        self._clock_difference = now - datetime.now(UTC)

    def due(self, seconds: float) -> datetime:
        """Return the time in some seconds, by the database's clock."""
        return datetime.now(UTC) + self._clock_difference + timedelta(seconds=seconds)

    def get_retry_decision(self, *, exception: BaseException, job: EngineJob) -> RetryDecision | None:
        """Return when to retry; None for never."""
        work = Work.of(job)
        if isinstance(exception, OutOfLane):
            return RetryDecision(lock=work.lane)
        seconds = _retry_pause(exception, work, job.attempts)
        if seconds is None:
            return None
        # Jitter: jobs that failed together are not all retried at the same instant.
        due = self.due(seconds * random.uniform(0.5, 1))
        return RetryDecision(retry_at=due, lock=work.own_lock if work.lane else None)


def _retry_pause(exception: BaseException, work: Work, attempts: int) -> float | None:
    """Return the seconds until the next attempt; None if there is to be none."""
    if isinstance(exception, ThreadBusy):
        first, longest = _BUSY_RETRY_DELAYS
        return min(first + attempts / 4, longest)
    if isinstance(exception, Postponed):
        return exception.seconds
    if is_lost_database(exception) and attempts < _MAX_DATABASE_ATTEMPTS:
        return min(1 + attempts / 4, _MAX_RETRY_DELAY)
    if not isinstance(exception, Exception) or would_fail_again(exception) or work.failures >= work.retries:
        return None
    return min(2.0**work.failures, _MAX_RETRY_DELAY)
