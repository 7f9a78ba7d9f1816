"""What a job carries: the thread to run, and what became of earlier attempts.

It is stored as the arguments of procrastinate's job, as plain JSON: nothing in it names code to import. Inputs and answers are
JSON texts of their own, because Postgres' `jsonb` takes neither NUL characters nor infinite numbers.
"""

import json
import random
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Literal, Self

import psycopg
from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as EngineJob
from psycopg_pool import PoolTimeout
from pydantic import BaseModel, ConfigDict

from crewgraph.core.plain import plain
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.flow.flow import Flow
from crewgraph.errors import (
    CrewgraphError,
    MCPServerError,
    RemoteAgentError,
    StorageError,
    ThreadBusy,
    TimeLimitReached,
)
from crewgraph.llm.errors import UnreadableAnswer
from crewgraph.llm.retry import status_of

__all__ = [
    "LOST",
    "STATES",
    "TASK",
    "Definition",
    "JobState",
    "OutOfLane",
    "Retries",
    "Work",
    "WorkerStopping",
    "is_lost_database",
    "json_of",
    "queue_of",
    "state_of",
    "would_fail_again",
]

TASK = "crewgraph.run"
"""The name of the engine's task."""

_LONGEST_NAME = 128  # characters of a queue's name in procrastinate's table
_LONGEST_WAIT = 60.0  # seconds between two attempts
_MANY_ATTEMPTS = 100  # after which a lost database is a failure like any other
LOST = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, ConnectorException)
"""What is raised when Postgres cannot be reached."""

_BUSY_WAITS = (1.0, 5.0)  # seconds: the first and the longest wait for a thread that somebody runs

Definition = Crew | Flow[Any] | type[Flow[Any]] | Callable[[], Any]
"""What a job runs: a crew, a flow, a class of a flow, or a function without parameters that returns one of them."""


JobState = Literal["queued", "working", "finished", "failed", "cancelled"]

STATES: Mapping[str, JobState] = {
    "todo": "queued",
    "doing": "working",
    "succeeded": "finished",
    "failed": "failed",
    "cancelled": "cancelled",
    "aborted": "cancelled",
}
"""The states of the engine's jobs, in our words."""


def state_of(job: EngineJob) -> JobState:
    """Return the state of a job."""
    return STATES[str(job.status)]


class WorkerStopping(Exception):
    """The worker is being stopped; the job is for the next one."""


class OutOfLane(Exception):
    """The job has waited outside of its lane, and is to be fetched again when the lane is free."""


class Work(BaseModel):
    """The arguments of a job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    thread_id: str
    """The name that the run is stored under."""

    inputs: str = "{}"
    """The inputs of a new run, as JSON."""

    granularity: str = "task"
    """That of a new run of a crew."""

    answer: str | None = None
    """The answer to what the run asked, as JSON; None for a job without one."""

    run_id: str | None = None
    """The run of a server, whose record has all else; None for a job without one. A thread may have many."""

    answers: tuple[str, ...] = ()
    """The ids of the questions that the answer is for. An answer is given once, however often the job is tried."""

    lane: str | None = None
    """The engine's lock that runs of a limited crew or flow share; None without a limit."""

    retries: int = 3
    """How often a failed attempt is made again."""

    failures: int = 0
    """How many attempts have failed."""

    deaths: int = 0
    """How many workers have died while they ran the job."""

    error: str | None = None
    """What the last failed attempt raised."""

    @classmethod
    def of(cls, job: EngineJob) -> Self:
        """Return the work of a job."""
        return cls.model_validate(job.task_kwargs)

    @property
    def own_lock(self) -> str:
        """The engine's lock of the thread alone."""
        return f"thread {self.thread_id}"

    def arguments(self) -> dict[str, Any]:
        """Return it as the arguments of a job."""
        return self.model_dump(mode="json")


def queue_of(definition: Crew | Flow[Any]) -> str:
    """Return the name of the engine's queue for a crew or a flow. Workers fetch only jobs of what they can run."""
    kind, name = ("flow", definition.flow_name) if isinstance(definition, Flow) else ("crew", str(definition.name))
    full = f"{kind}:{name}"
    if len(full) <= _LONGEST_NAME:
        return full
    return f"{full[: _LONGEST_NAME - 17]}-{blake2b(full.encode(), digest_size=8).hexdigest()}"


def json_of(value: object) -> str:
    """Return a value as JSON, converted to plain data first.

    Raises:
        NotPlain: it cannot be converted.
    """
    return json.dumps(plain(value))


def would_fail_again(error: BaseException) -> bool:
    """Return whether another attempt would fail the same way: the definition, the inputs or what is recorded cause the error."""
    if isinstance(error, (StorageError, RemoteAgentError, MCPServerError, TimeLimitReached, UnreadableAnswer)):
        return False
    return isinstance(error, CrewgraphError) or status_of(error) in (400, 401, 403, 404, 422)


def is_lost_database(error: BaseException | None) -> bool:
    """Return whether an attempt ended because Postgres could not be reached, which is no failure of the run."""
    if error is None:
        return False
    return isinstance(error, LOST) or is_lost_database(error.__cause__)


class Retries(BaseRetryStrategy):
    """When a job is tried again.

    The engine fetches no job before an earlier one with the same lock, even if that one is not due yet. So a job of a lane waits
    outside of it, under the lock of its thread, and goes back when it is due.

    A busy thread is waited for as long as it takes, since what runs it may still die. A failure is retried after 1, 2, 4 ...
    seconds, as often as the job allows, then the job is a dead letter: `failed`.
    """

    def get_retry_decision(self, *, exception: BaseException, job: EngineJob) -> RetryDecision | None:
        """Return when to try again; None for never."""
        work = Work.of(job)
        if isinstance(exception, OutOfLane):
            return RetryDecision(lock=work.lane)
        seconds = _wait(exception, work, job.attempts)
        if seconds is None:
            return None
        # Jobs that failed together are not all tried again in the same instant.
        milliseconds = int(seconds * random.uniform(500, 1000))
        return RetryDecision(retry_in={"milliseconds": milliseconds}, lock=work.own_lock if work.lane else None)


def _wait(exception: BaseException, work: Work, attempts: int) -> float | None:
    """Return the seconds until the next attempt; None if there is to be none."""
    if isinstance(exception, ThreadBusy):
        first, longest = _BUSY_WAITS
        return min(first + attempts / 4, longest)
    if isinstance(exception, WorkerStopping):
        return 0
    if is_lost_database(exception) and attempts < _MANY_ATTEMPTS:
        return min(1 + attempts / 4, _LONGEST_WAIT)
    if not isinstance(exception, Exception) or would_fail_again(exception) or work.failures >= work.retries:
        return None
    return min(2.0**work.failures, _LONGEST_WAIT)
