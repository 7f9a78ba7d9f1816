"""The queue: enqueues runs and looks up their jobs."""

import os
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from threading import Lock
from typing import Any, Literal
from uuid import uuid4

from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job as EngineJob

from crewgraph.contrib.queue.database import QueueDatabase
from crewgraph.contrib.queue.work import CLOCK, STATES, TASK, JobState, Work, json_of, queue_of, state_of
from crewgraph.contrib.serve.postgres import refusal_of
from crewgraph.core.methods import async_of, from_program, other_form
from crewgraph.core.operations import Program, blocking, drive, sleep
from crewgraph.crew import Crew
from crewgraph.definitions.crew.pending import CrewQuestion, RunInfo
from crewgraph.definitions.flow.feedback import Question
from crewgraph.errors import RunError, StorageError
from crewgraph.flow.flow import Flow
from crewgraph.redaction import redacted_logger
from crewgraph.runtime.crew.kickoff import stored_crew_output
from crewgraph.runtime.flow.kickoff import stored_flow_result
from crewgraph.runtime.runs.flow_history import flow_steps
from crewgraph.runtime.runs.index import run_of_thread
from crewgraph.runtime.runs.stored_run import stored_run
from crewgraph.schema import is_mapping
from crewgraph.storage.checkpoints.strict import strictly_reading
from crewgraph.storage.claims.postgres import conninfo_of
from crewgraph.text import storable_id

JobStatus = Literal["queued", "working", "waiting", "done", "failed", "cancelled"]
"""- `queued`: no worker has it yet, or it waits for a retry.
- `working`: a worker is running it.
- `waiting`: its run waits for a person's answer.
- `done`: its run has a result.
- `failed`: it is a dead letter and is not retried; `Job.error` says why, and `Job.retry` requeues it.
- `cancelled`: `Job.cancel` ended it. What its run had recorded is kept.
"""

_POLLS = (0.05, 1.0)  # seconds: the first and the longest polling interval


class JobFailed(RunError):
    """A job failed for good or was cancelled; the message holds the last error."""


@dataclass(frozen=True, kw_only=True)
class JobProgress:
    """How far a run has come."""

    done: tuple[str, ...]
    """The completed tasks or methods, in order."""

    total: int | None
    """The number of tasks; None for a flow, whose methods may run any number of times."""


class Job:
    """A queued run. The methods query the database; those with an `a` prefix do so off the event loop."""

    def __init__(self, queue: "Queue", definition: Crew | Flow[Any], thread_id: str) -> None:
        """See `Crew.enqueue` and `Crew.job`."""
        self.thread_id = thread_id
        """The name that the run is stored under."""

        self._queue = queue
        self._saver = strictly_reading(queue.database.saver)
        self._definition = definition
        if isinstance(definition, Flow):
            self._definition = definition.detached()
            self._definition.checkpointer = self._saver

    def __repr__(self) -> str:
        return f"<Job of thread {self.thread_id!r}>"

    def status(self) -> JobStatus:
        """Return the status of the run."""
        job = self._job()
        if job is not None and (state := state_of(job)) != "done":
            return state
        run = self._run()
        if run is None:
            raise RunError(f"no job or run of thread `{self.thread_id}` is stored any longer")
        return "waiting" if run.status == "waiting" else "done"

    astatus = other_form(status, "astatus")
    """Async `status`."""

    def error(self) -> str | None:
        """Return the error of the last failed attempt; None if none has failed."""
        job = self._job()
        return None if job is None else Work.of(job).error

    aerror = other_form(error, "aerror")
    """Async `error`."""

    def progress(self) -> JobProgress:
        """Return which tasks or methods have completed."""
        definition, is_stored = self._definition, self._run() is not None
        if isinstance(definition, Flow):
            return JobProgress(done=self._methods_done(definition) if is_stored else (), total=None)
        done = stored_run(self._saver, self.thread_id).finished if is_stored else ()
        return JobProgress(done=tuple(done), total=len(definition.tasks))

    aprogress = other_form(progress, "aprogress")
    """Async `progress`."""

    @from_program
    def result(self, timeout: float | None = None) -> "Program[Any]":
        """Wait for the run to end, and return its stored output.

        Args:
            timeout: Maximum seconds to wait; None waits forever.

        Returns:
            The `CrewOutput`, or the flow's result; a `PendingCrew` or `PendingFlow` if the run waits for an answer.
            `after_kickoff` functions run in the worker; their changes are not visible here.

        Raises:
            JobFailed: The job failed for good or was cancelled.
            TimeoutError: The run did not end in time.
        """
        pause, longest = _POLLS
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := (yield blocking(self.status))) in ("queued", "working"):
            left = longest if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"the job of thread `{self.thread_id}` is `{status}` after {timeout:g} seconds")
            yield sleep(min(pause, left))
            pause = min(pause * 1.5, longest)
        if status in ("failed", "cancelled"):
            error = yield blocking(self.error)
            raise JobFailed(
                f"the job of thread `{self.thread_id}` {'failed for good' if status == 'failed' else 'was cancelled'}"
                f"{f': {error}' if error else ''}. What it had recorded is kept; `retry` continues it."
            )
        return (yield blocking(self._stored_result))

    aresult = async_of(result)
    """Async `result`."""

    def questions(self) -> Sequence[CrewQuestion | Question]:
        """Return the questions that the run waits on."""
        run = self._run()
        return () if run is None else run.questions

    aquestions = other_form(questions, "aquestions")
    """Async `questions`."""

    def answer(self, answer: object) -> None:
        """Answer the question that the run waits on, and enqueue a job that resumes the run.

        Args:
            answer: As for `resume`; with several questions a dict of answers by question id.

        Raises:
            RunError: The run does not wait on these questions, or an answer is already queued.
        """
        question_ids = [question.id for question in self.questions()]
        if not question_ids:
            raise RunError(f"the run `{self.thread_id}` does not wait for an answer; see its `status`")
        self._queue.enqueue_answer(self._definition, self.thread_id, answer, _answered_ids(question_ids, answer))

    aanswer = other_form(answer, "aanswer")
    """Async `answer`."""

    def cancel(self) -> bool:
        """Cancel the job. A worker that is running it lets the current step finish and records its result, then stops.

        Returns:
            Whether there was anything to cancel. `resume` or `retry` continues the run.
        """
        return self._queue.cancel(self.thread_id)

    acancel = other_form(cancel, "acancel")
    """Async `cancel`."""

    def retry(self) -> bool:
        """Requeue a failed or cancelled job; return False if it is neither.

        Its run resumes where it stopped.
        """
        return self._queue.retry(self.thread_id)

    aretry = other_form(retry, "aretry")
    """Async `retry`."""

    def _job(self) -> EngineJob | None:
        return self._queue.latest([self.thread_id]).get(self.thread_id)

    def _run(self) -> RunInfo | None:
        return drive(run_of_thread(self._saver, self.thread_id))

    def _methods_done(self, flow: Flow[Any]) -> tuple[str, ...]:
        steps = drive(flow_steps(flow, self.thread_id))
        return tuple(method for step in steps for method in step.methods)

    def _stored_result(self) -> Any:
        if isinstance(self._definition, Flow):
            return drive(stored_flow_result(self._definition, self.thread_id))
        return drive(stored_crew_output(self._definition, self.thread_id, self._saver))


def _answered_ids(question_ids: Sequence[str], answer: object) -> Sequence[str]:
    """Return the ids of the questions that an answer addresses: all, unless it is a dict of answers by id."""
    if is_mapping(answer) and answer and set(answer) <= set(question_ids):
        return [name for name in question_ids if name in answer]
    return question_ids


_logger = redacted_logger(__name__)

_ENVIRONMENT = "CREWGRAPH_QUEUE"
_JOBS_OF_THREADS = """
SELECT DISTINCT ON (args->>'thread_id') * FROM procrastinate_jobs
WHERE task_name = %(task)s AND args->>'thread_id' = ANY(%(threads)s)
ORDER BY args->>'thread_id', id DESC
"""
_JOBS = """
SELECT * FROM procrastinate_jobs AS jobs
WHERE task_name = %(task)s AND (%(statuses)s::text[] IS NULL OR status::text = ANY(%(statuses)s))
AND NOT EXISTS (
    SELECT 1 FROM procrastinate_jobs AS later
    WHERE later.args->>'thread_id' = jobs.args->>'thread_id' AND later.id > jobs.id
)
ORDER BY id DESC LIMIT %(limit)s
"""
_JOBS_OF_RUNS = """
SELECT DISTINCT ON (args->>'run_id') * FROM procrastinate_jobs
WHERE task_name = %(task)s AND args->>'thread_id' = ANY(%(threads)s) AND args->>'run_id' = ANY(%(runs)s)
ORDER BY args->>'run_id', id DESC
"""
_OPEN = ("queued", "working")
_BATCH_SIZE = 500  # jobs in one statement
# Until Postgres has counted many new rows, it plans the engine's queries as if there were few. Autovacuum may take a minute.
_ANALYZE = "ANALYZE procrastinate_jobs, procrastinate_events"
_MAX_INTEGER = 2**31 - 1  # of Postgres
_MAX_DELAY = 10 * 365 * 86400.0  # seconds


@dataclass(frozen=True, kw_only=True)
class JobInfo:
    """A job as stored in the queue."""

    thread_id: str
    """The name that its run is stored under."""

    queue: str
    """What it runs: "crew:NAME" or "flow:NAME"; a long name is shortened, and ends with a digest."""

    state: JobState
    """"done" means that the run is done or waits for an answer."""

    attempts: int
    failures: int
    error: str | None
    """The error of the last failed attempt."""

    due: datetime | None
    """The earliest time of the next attempt; None for now."""


def _engine_job(
    queue: str, work: Work, lock: str, once: str, due: datetime | None = None, priority: int = 0
) -> EngineJob:
    """Return a job for the engine.

    Args:
        queue: the name of the queue.
        work: what to run.
        lock: jobs with the same one run one after another.
        once: of jobs with the same one, only one may be queued.
        due: the earliest time to start it.
        priority: jobs of a higher priority are fetched first.
    """
    return EngineJob(
        queue=queue,
        priority=priority,
        lock=lock,
        queueing_lock=once,
        task_name=TASK,
        task_kwargs=work.arguments(),
        scheduled_at=due,
    )


class Queue:
    """A queue of runs in a Postgres database that also stores their checkpoints.

    Use it as a context manager or call `close` if the program outlives it. It is thread-safe.
    """

    def __init__(self, url: str) -> None:
        """Create a queue. It connects, and creates its tables, on first use.

        Args:
            url: The address of the database, in libpq's form: "postgresql://user:password@host/database".
        """
        self.database = QueueDatabase(url)

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. The next use reopens them."""
        self.database.close()

    def enqueue_all(
        self,
        definition: Crew | Flow[Any],
        requests: Sequence[tuple[str | None, Mapping[str, Any]]],
        *,
        priority: int = 0,
        delay: float = 0,
        retries: int = 3,
        limit: int | None = None,
        granularity: str = "task",
    ) -> list[Job]:
        """Add several runs of a crew or a flow.

        A thread that already has a queued or running job keeps it.

        Args:
            definition: The crew or flow.
            requests: For each run, its thread id (None for a new one) and its inputs.
            priority: Jobs of a higher priority are fetched first; a whole number, which may be negative.
            delay: Seconds to wait before the first attempt, at most ten years.
            retries: Maximum number of retries after a failure, and of workers in a row that may die while it makes no progress.
            limit: Maximum number of these runs at a time, across all workers.
            granularity: "task" or "step"; for new runs of a crew.

        Raises:
            ValueError: A number is out of its range.
            RunError: A thread id is empty, or the thread has an open job of another crew or flow.
            NotPlain: Inputs cannot be stored.
            StorageError: The database cannot be used.
        """
        _check_number("priority", priority, -_MAX_INTEGER, "jobs of a higher priority are fetched first")
        _check_number("retries", retries, 0, "it is the maximum number of retries")
        if limit is not None:
            _check_number("limit", limit, 1, "it is the maximum number of concurrent runs")
        named = [(_thread_name(thread_id), inputs) for thread_id, inputs in requests]
        present = self.latest([thread_id for thread_id, _ in named])
        due = self._due(delay)
        name = queue_of(definition)
        matching: list[EngineJob] = []
        for thread_id, inputs in named:
            before = present.get(thread_id)
            if before is not None and state_of(before) in _OPEN:
                if before.queue != name:
                    raise RunError(
                        f"thread `{thread_id}` already has a {state_of(before)} job of `{before.queue}`, so none of `{name}` was "
                        "added. Use another thread id, or cancel that job first."
                    )
                continue
            lane = None if limit is None else _lane(name, thread_id, limit)
            work = Work(
                thread_id=thread_id, inputs=json_of(inputs), granularity=granularity, lane=lane, retries=retries
            )
            lock = work.own_lock if due or lane is None else lane
            matching.append(_engine_job(name, work, lock, f"run {thread_id}", due, priority))
        self._add(matching)
        return [Job(self, definition, thread_id) for thread_id, _ in named]

    def enqueue_answer(
        self, definition: Crew | Flow[Any], thread_id: str, answer: object, questions: Sequence[str]
    ) -> None:
        """Enqueue a job that answers a waiting run.

        Raises:
            RunError: An answer to these questions is already queued.
        """
        before = self.latest([thread_id]).get(thread_id)
        previous = Work(thread_id=thread_id) if before is None else Work.of(before)
        work = Work(
            thread_id=thread_id,
            granularity=previous.granularity,
            lane=previous.lane,
            retries=previous.retries,
            answer=json_of(answer),
            answers=tuple(questions),
        )
        asked = blake2b(" ".join(sorted(questions)).encode(), digest_size=8).hexdigest()
        priority, lock = 0 if before is None else before.priority, work.lane or work.own_lock
        job = _engine_job(queue_of(definition), work, lock, f"answer {asked} {thread_id}", priority=priority)
        try:
            with _reported():
                self.database.app.job_manager.batch_defer_jobs([job])
        except AlreadyEnqueued:
            raise RunError(f"an answer to the run `{thread_id}` is already queued") from None

    def add_run(self, definition: Crew | Flow[Any], thread_id: str, run_id: str, delay: float = 0) -> None:
        """Add a run of a server, to execute after the earlier runs of its thread.

        A run that is already queued is not added again.
        """
        due = self._due(delay)
        turn = Work(thread_id=thread_id).own_lock
        # A delayed run must not hold up its thread, so it waits outside of the thread's lane.
        work = Work(thread_id=thread_id, run_id=run_id, lane=turn if due else None)
        lock = f"run {run_id}" if due else turn
        self._add([_engine_job(queue_of(definition), work, lock, f"serve {run_id}", due)])

    def jobs_of_runs(self, threads: Mapping[str, str]) -> dict[str, EngineJob]:
        """Return the engine's latest job of each of these runs of servers that has one.

        Args:
            threads: the thread ids by run id.
        """
        found: dict[str, EngineJob] = {}
        for part in _batches(list(threads)):
            names = [threads[run_id] for run_id in part]
            for row in self._ask(_JOBS_OF_RUNS, task=TASK, threads=names, runs=part):
                job = EngineJob.from_row(row)
                found[str(Work.of(job).run_id)] = job
        return found

    def cancel_job(self, job: EngineJob) -> bool:
        """Cancel a job of the engine; return whether it was queued or running."""
        if job.id is None or state_of(job) not in _OPEN:
            return False
        with _reported():
            return self.database.app.job_manager.cancel_job_by_id(job.id, abort=True)

    def job(self, thread_id: str, definition: Crew | Flow[Any]) -> Job:
        """Return the job of a run that was enqueued elsewhere.

        Args:
            thread_id: The name that the run is stored under.
            definition: The crew or flow, used to read the run's output.

        Raises:
            RunError: There is no such job.
        """
        if thread_id not in self.latest([thread_id]):
            raise RunError(
                f"there is no job of thread `{thread_id}` in the queue. Check the name and the queue's database; finished jobs "
                "are deleted after some weeks."
            )
        return Job(self, definition, thread_id)

    def jobs(self, state: JobState | None = None, limit: int = 100) -> list[JobInfo]:
        """Return the latest job of each thread, newest first.

        Args:
            state: Only jobs in this state; "failed" for dead letters, which are not retried.
            limit: Maximum number of jobs.
        """
        statuses = None if state is None else [name for name, meant in STATES.items() if meant == state]
        rows = self._ask(_JOBS, task=TASK, statuses=statuses, limit=limit)
        return [_info(EngineJob.from_row(row)) for row in rows]

    def latest(self, threads: Sequence[str]) -> dict[str, EngineJob]:
        """Return the engine's latest job of each of these threads that has one."""
        found: dict[str, EngineJob] = {}
        for part in _batches(list(threads)):
            for row in self._ask(_JOBS_OF_THREADS, task=TASK, threads=part):
                job = EngineJob.from_row(row)
                found[Work.of(job).thread_id] = job
        return found

    def cancel(self, thread_id: str) -> bool:
        """Cancel the job of a thread; see `Job.cancel`."""
        job = self.latest([thread_id]).get(thread_id)
        return job is not None and self.cancel_job(job)

    def retry(self, thread_id: str) -> bool:
        """Requeue a dead letter with its full number of attempts; see `Job.retry`."""
        job = self.latest([thread_id]).get(thread_id)
        if job is None or state_of(job) not in ("failed", "cancelled"):
            return False
        work = Work.of(job)
        again = job.evolve(
            id=None,
            status=None,
            attempts=0,
            lock=work.lane or work.own_lock,
            scheduled_at=None,
            task_kwargs={**job.task_kwargs, "failures": 0, "deaths": 0, "error": None},
        )
        self._add([again])
        return True

    def _add(self, jobs: Sequence[EngineJob]) -> None:
        app = self.database.app
        with _reported():
            for part in _batches(jobs):
                try:
                    app.job_manager.batch_defer_jobs(list(part))
                except AlreadyEnqueued:  # another process has just added one of them
                    for job in part:
                        with suppress(AlreadyEnqueued):
                            app.job_manager.batch_defer_jobs([job])
        if len(jobs) >= _BATCH_SIZE:
            connector: Any = app.connector
            try:
                connector.execute_query(_ANALYZE)
            except ConnectorException as error:  # the jobs are added
                _logger.warning(
                    "The tables of the queue could not be analyzed: %s", refusal_of(error.__cause__ or error)
                )

    def _due(self, delay: Any) -> datetime | None:
        """Return the time in some seconds, by the database's clock, by which jobs become due; None without a delay."""
        if not isinstance(delay, (int, float)) or not 0 <= delay <= _MAX_DELAY:
            raise ValueError(
                f"`delay` is {delay!r:.80}; it is the number of seconds to wait, from 0 to {_MAX_DELAY:.0f}"
            )
        return self._ask(CLOCK)[0]["now"] + timedelta(seconds=delay) if delay else None

    def _ask(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        connector: Any = self.database.app.connector
        with _reported():
            return connector.execute_query_all(query, **arguments)


@contextmanager
def _reported() -> Generator[None]:
    """Raise a StorageError for what the database refuses."""
    try:
        yield
    except ConnectorException as error:
        raise StorageError(
            f"the database of the queue cannot be queried: {refusal_of(error.__cause__ or error)}"
        ) from error


def _check_number(name: str, value: object, least: int, meaning: str) -> None:
    """Raise a ValueError if a value is not a whole number in its range."""
    if not isinstance(value, int) or not least <= value <= _MAX_INTEGER:
        raise ValueError(f"`{name}` is {value!r:.80}; {meaning}, a whole number from {least} to {_MAX_INTEGER}")


def _thread_name(thread_id: str | None) -> str:
    if thread_id is None:
        return str(uuid4())
    if not str(thread_id):
        raise RunError("the thread id is empty. Give each run a name of its own, or None for a new one.")
    return storable_id(str(thread_id), "thread")


def _lane(queue: str, thread_id: str, limit: int) -> str:
    """Return one of `limit` lock names; the engine runs one job per lock at a time."""
    number = int.from_bytes(blake2b(thread_id.encode(), digest_size=8).digest(), "big") % limit
    return f"{queue} {number + 1}/{limit}"


def _batches(items: "Sequence[Any]") -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _BATCH_SIZE):
        yield items[start : start + _BATCH_SIZE]


def _info(job: EngineJob) -> JobInfo:
    work = Work.of(job)
    return JobInfo(
        thread_id=work.thread_id,
        queue=job.queue,
        state=state_of(job),
        attempts=job.attempts,
        failures=work.failures,
        error=work.error,
        due=job.scheduled_at if state_of(job) == "queued" else None,
    )


_queues: dict[str, Queue] = {}
_lock = Lock()


def queue_for(definition: Crew | Flow[Any], queue: "Queue | str | None") -> Queue:
    """Return the given queue, or that of the definition's Postgres checkpointer or of the environment.

    Raises:
        RunError: none of them names one.
    """
    if isinstance(queue, Queue):
        return queue
    url = queue or _own_database(definition) or os.environ.get(_ENVIRONMENT)
    if not url:
        raise RunError(
            f"there is no queue for {queue_of(definition)!r}: pass `queue=` with the address of a Postgres database, set "
            f"{_ENVIRONMENT} to it, or give the crew or flow a PostgresSaver as `checkpointer`"
        )
    with _lock:
        if url not in _queues:
            _queues[url] = Queue(url)
        return _queues[url]


def _own_database(definition: Crew | Flow[Any]) -> str | None:
    saver: Any = definition.checkpointer
    kinds = {kind.__module__ for kind in type(saver).__mro__}
    if any(kind.startswith("langgraph.checkpoint.postgres") for kind in kinds):
        return conninfo_of(saver.conn)
    return None
