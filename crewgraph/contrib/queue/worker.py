"""The worker: fetches jobs, executes their runs, and rescues the jobs of dead workers.

The claim on its thread, not the queue, keeps a run from being executed twice: if a job is delivered to two workers, the second
finds the thread busy, which is an error, and retries later. So nothing here needs certainty about which workers are alive.
"""

import asyncio
import inspect
import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, NamedTuple, cast

from procrastinate import JobContext
from procrastinate.exceptions import JobAborted
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from procrastinate.worker import Worker as EngineWorker

from crewgraph.compiler.agent.models import isolated_tool_cache
from crewgraph.contrib.queue.queue import Queue
from crewgraph.contrib.queue.work import (
    CLOCK,
    LOST,
    TASK,
    Definition,
    OutOfLane,
    Postponed,
    Retries,
    Work,
    is_lost_database,
    queue_of,
)
from crewgraph.core.cancellation import ExitRequested, Supervision, supervised
from crewgraph.core.claims import ThreadClaim
from crewgraph.core.loops.bridge import in_thread, outlasting
from crewgraph.core.operations import adrive
from crewgraph.crew import Crew
from crewgraph.definitions.crew.pending import PendingCrew
from crewgraph.definitions.flow.feedback import PendingFlow
from crewgraph.errors import DefinitionError, RunError, StorageError, ThreadBusy
from crewgraph.extensions import extension
from crewgraph.flow.flow import Flow
from crewgraph.formats import check_format
from crewgraph.redaction import redact_text, redacted_logger
from crewgraph.runtime.runs.index import run_of_thread
from crewgraph.storage.checkpoints.strict import strictly_reading
from crewgraph.storage.claims.postgres import PostgresClaims, postgres_claims
from crewgraph.text import shorten, storable_text

_logger = redacted_logger(__name__)
_ENGINE_LOGGER = logging.getLogger("procrastinate.worker")

_POLL_INTERVAL = 1.0  # seconds: for orphaned jobs, and for new jobs without a notification
_ABORT_POLL_INTERVAL = 1.0  # seconds: for jobs to cancel
_CLEANUP_INTERVAL = 3600.0  # seconds: for deleting old jobs
# Without `wait`, in seconds: for jobs and for the end of the last one; and a job that is due later is left to the next worker.
_BURST_POLL_INTERVAL = 0.1
_BURST_PATIENCE = 60.0
_TRIAL_RETRY_DELAY = 1.0  # seconds
_RECONNECT_DELAYS = (0.5, 10.0)  # seconds: the first and the longest
_ERROR_LENGTH = 2000

_UNDER_WAY = """
SELECT id, worker_id, attempts, abort_requested, args FROM procrastinate_jobs
WHERE task_name = %(task)s AND status = 'doing'
"""
# Jobs behind one of another crew or flow on their thread may have to wait for a worker of that.
_LEFT = """
SELECT EXISTS (
    SELECT 1 FROM procrastinate_jobs AS job
    WHERE task_name = %(task)s AND status = 'todo' AND queue_name = ANY(%(queues)s)
    AND (scheduled_at IS NULL OR scheduled_at <= clock_timestamp() + make_interval(secs => %(patience)s))
    AND NOT EXISTS (
        SELECT 1 FROM procrastinate_jobs AS other
        WHERE other.lock = job.lock AND other.status IN ('todo', 'doing') AND other.queue_name <> ALL(%(queues)s)
    )
) AS are_due,
ARRAY(SELECT worker_id FROM procrastinate_jobs WHERE task_name = %(task)s AND status = 'doing') AS workers
"""
_OTHERS = """
SELECT queue_name, count(*) AS number FROM procrastinate_jobs
WHERE task_name = %(task)s AND status = 'todo' AND queue_name <> ALL(%(queues)s) GROUP BY queue_name ORDER BY queue_name
"""
_IS_CANCELLED = "SELECT abort_requested FROM procrastinate_jobs WHERE id = %(id)s"
_CANCELLED_MEANWHILE = """
UPDATE procrastinate_jobs SET status = 'aborted', abort_requested = false
WHERE id = %(id)s AND status = 'failed' AND abort_requested
"""
_NOTE = "UPDATE procrastinate_jobs SET args = args || %(noted)s WHERE id = %(id)s"
# The conditions fail if another worker has rescued the job in the meantime.
_RESCUE = f"{_NOTE} AND status = 'doing' AND attempts = %(attempts)s AND worker_id IS NOT DISTINCT FROM %(worker)s RETURNING id"


class _Orphan(NamedTuple):
    """A job marked as running that no live worker works on."""

    id: int
    worker_id: int | None
    attempts: int


class QueueWorker:
    """Executes queued runs of some crews and flows until it is stopped.

    Any number of workers may serve one queue, on any number of machines. `crewgraph worker` runs one.
    """

    def __init__(
        self,
        queue: Queue,
        targets: Sequence[Definition],
        *,
        concurrency: int = 4,
        grace: float = 20.0,
        heartbeat: float = 10.0,
        stalled_after: float = 60.0,
        keep_days: float = 30.0,
    ) -> None:
        """Create a worker.

        Args:
            queue: The queue.
            targets: The crews and flows to run, or functions or classes that create them, called for each run.
            concurrency: Maximum number of runs at a time.
            grace: Seconds that runs may continue after `stop`. Then each stops after its current step.
            heartbeat: Seconds between heartbeats to the engine.
            stalled_after: Seconds without a heartbeat after which a worker's jobs are requeued. Those of a worker whose process
                has ended are requeued at once.
            keep_days: Days after which finished and cancelled jobs are deleted. Dead letters stay.

        Raises:
            DefinitionError: Two targets have the same name, or one is neither a crew nor a flow.
        """
        self._queue, self._targets = queue, _by_queue(targets)
        self._concurrency, self._grace, self._heartbeat = concurrency, grace, heartbeat
        self._stalled_after, self._keep_days = stalled_after, keep_days
        self._under_way: dict[int, tuple[asyncio.Task[object], Supervision]] = {}
        self._on_trial: int | None = None
        self._suspects: set[_Orphan] = set()
        self._engine: EngineWorker | None = None
        self._claim: tuple[int, ThreadClaim] | None = None
        self._retries = Retries()
        self._is_stopping = False
        self._has_maintained = False
        self._served: Any = None

    @property
    def queues(self) -> list[str]:
        """The queues of the targets: "crew:NAME" or "flow:NAME"; long names are shortened."""
        return list(self._targets)

    def stop(self) -> None:
        """Fetch no further jobs, and end when the running ones have ended; call it on the worker's event loop.

        The second call ends the grace, and cancels async effects that are under way. Threads are waited for all the same.
        """
        if self._is_stopping:
            for run, supervision in self._under_way.values():
                supervision.is_cut = True
                run.cancel()
        self._is_stopping = True
        if self._engine is not None:
            self._engine.stop()

    async def run(self, *, wait: bool = True) -> None:
        """Work until `stop` is called. A cancellation calls it, too.

        Args:
            wait: Whether to wait for further jobs when none is left. None is left when none is due within a minute, and no
                dead worker's job is still to be requeued.

        Raises:
            StorageError: The database cannot be used at the start. Later failures are retried until it can.
        """
        async with AsyncExitStack() as stack:
            self._app = app = await in_thread(self._queue.database.worker_app)
            await stack.enter_async_context(app.open_async())
            saver, connections = self._queue.database.worker_saver(self._concurrency)
            await stack.enter_async_context(connections)
            self._saver, self._connections = strictly_reading(saver), connections
            self._served = None  # it belongs to this event loop
            self._claims: PostgresClaims = postgres_claims(connections)
            silence = _EngineLogFilter()
            _ENGINE_LOGGER.addFilter(silence)
            stack.callback(_ENGINE_LOGGER.removeFilter, silence)
            app.job_manager = _Jobs(app.connector, self._claim_id)
            app.task(name=TASK, pass_context=True, retry=self._retries)(self._carry_out)
            self._has_maintained = False
            beside = [asyncio.create_task(self._maintain())]
            if not wait:
                beside.append(asyncio.create_task(self._stop_when_empty()))
            try:  # until the last run has ended and is stored, no cancellation closes the connections
                serving = asyncio.create_task(self._serve(_POLL_INTERVAL if wait else _BURST_POLL_INTERVAL))
                await outlasting(serving, lambda *_: self.stop(), raises=True)
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)
                self._is_stopping = False  # it may run again
                if self._claim is not None:
                    self._claim[1].close()
                    self._claim = None

    async def _serve(self, poll_interval: float) -> None:
        """Run the engine's worker, and restart it when the database connection is lost."""
        pause, longest = _RECONNECT_DELAYS
        while not self._is_stopping:
            started = time.monotonic()
            self._engine = EngineWorker(
                self._app,
                queues=self.queues,
                name=None,
                concurrency=self._concurrency,
                fetch_job_polling_interval=poll_interval,
                abort_job_polling_interval=_ABORT_POLL_INTERVAL,
                shutdown_graceful_timeout=self._grace,
                install_signal_handlers=False,
                update_heartbeat_interval=self._heartbeat,
                stalled_worker_timeout=max(self._stalled_after, 2 * self._heartbeat),
            )
            try:
                await self._engine.run()
                if self._is_stopping:
                    return
            except (*LOST, StorageError, ThreadBusy) as error:
                if self._is_stopping:
                    return
                _logger.warning(
                    "The connection to the queue's database was lost; reconnecting: %s", error.__cause__ or error
                )
            if time.monotonic() - started > longest:
                pause = _RECONNECT_DELAYS[0]
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)

    async def _carry_out(self, context: JobContext, **arguments: Any) -> None:
        """The engine's task: run one attempt of a job. A cancellation ends the run, whose end is stored all the same."""
        work, job = Work.read(arguments), context.job
        assert job.id is not None
        if work.lane is not None and job.lock != work.lane:
            raise OutOfLane
        if work.is_last_trial:
            if self._on_trial is not None:
                raise Postponed(_TRIAL_RETRY_DELAY)
            self._on_trial = job.id
        progress = asyncio.Event()
        supervision = Supervision(
            partial(asyncio.get_running_loop().call_soon_threadsafe, progress.set) if work.deaths else None
        )
        with supervised(supervision):
            run = asyncio.create_task(self._run_job(context, work))
        self._under_way[job.id] = run, supervision
        clearing = asyncio.create_task(self._clear_deaths(context, work, progress))
        try:
            await outlasting(asyncio.create_task(self._settle(run, context, work)), run.cancel)
        finally:
            clearing.cancel()
            self._end_trial(job.id)
            del self._under_way[job.id]

    async def _clear_deaths(self, context: JobContext, work: Work, progress: asyncio.Event) -> None:
        """Forget the workers that died while running a job as soon as its run makes progress."""
        await progress.wait()
        try:
            await self._note(context.job.id, {"deaths": 0})
        except LOST as lost:
            _logger.warning("The progress of thread `%s` could not be recorded: %s", work.thread_id, lost)
        self._end_trial(context.job.id)

    def _end_trial(self, job_id: int | None) -> None:
        if self._on_trial == job_id:
            self._on_trial = None

    async def _run_job(self, context: JobContext, work: Work) -> object:
        check_format(work.format, "The job", "Run workers of the version that enqueued it, then retry it.")
        if work.unreadable:
            names = ", ".join(f"`{name}`" for name in work.unreadable)
            raise RunError(
                f"the job has arguments that this version of crewgraph cannot read: {names}. Run workers of the version that "
                "enqueued it, then retry it."
            )
        if work.is_last_trial:
            await self._note(context.job.id, {"trial": context.job.attempts})
        if work.run_id is None:
            return await self._complete(self._targets[context.job.queue], work)
        return await self._serve_run(self._targets[context.job.queue], work, context)

    async def _settle(self, run: "asyncio.Task[object]", context: JobContext, work: Work) -> None:
        """Wait for a run, report its end, and raise what tells it to the engine."""
        started, queue_name = time.monotonic(), context.job.queue
        try:
            result = await run
        except asyncio.CancelledError as error:
            if await self._was_cancelled(context):
                _logger.info("Thread `%s` of `%s` was cancelled.", work.thread_id, queue_name)
                raise JobAborted from None
            if run.cancelling():
                raise Postponed(0) from None
            await self._note_failure(context, work, failure := ExitRequested(error).error)
            raise failure from error
        except ThreadBusy as error:
            _logger.info("A job of `%s` will be retried: %s", queue_name, error)
            raise
        except GeneratorExit:  # the event loop was closed
            raise
        except BaseException as error:  # whatever fails the run is noted, then raised again
            failure = error.error if isinstance(error, ExitRequested) else error
            await self._note_failure(context, work, failure)
            if failure is not error:
                raise failure from failure.__cause__
            raise
        ended = "waits for an answer" if isinstance(result, (PendingCrew, PendingFlow)) else "is done"
        _logger.info("Thread `%s` of `%s` %s, %.2f s.", work.thread_id, queue_name, ended, time.monotonic() - started)

    async def _complete(self, target: Definition, work: Work) -> object:
        definition = _created_definition(target)
        answer = None
        if work.answer is not None and await self._awaits_answer(work):
            answer = json.loads(work.answer)
        inputs = json.loads(work.inputs)
        if isinstance(definition, Crew):
            with isolated_tool_cache(definition):
                if answer is not None:
                    return await definition.aresume(work.thread_id, answer, checkpointer=self._saver)
                return await definition.arun_or_resume(
                    work.thread_id, inputs, checkpointer=self._saver, granularity=work.granularity
                )
        flow = definition.detached() if definition is target else definition
        flow.checkpointer = self._saver
        if answer is not None:
            return await flow.aresume(work.thread_id, answer)
        return await flow.arun_or_resume(work.thread_id, inputs)

    async def _serve_run(self, target: Definition, work: Work, context: JobContext) -> object:
        """Execute a run of a server."""
        if self._served is None:
            self._served = extension("serve.worker")(self._saver, self._connections)
        return await self._served.carry_out(
            lambda: _created_definition(target),
            work.thread_id,
            work.run_id,
            is_cancelled=lambda: context.abort_reason() is AbortReason.USER_REQUEST,
        )

    async def _awaits_answer(self, work: Work) -> bool:
        """Return whether the run still waits for the answer, which an earlier attempt may have given."""
        run = await adrive(run_of_thread(self._saver, work.thread_id))
        question_ids = () if run is None else tuple(question.id for question in run.questions)
        return not work.answers or bool(set(question_ids) & set(work.answers))

    async def _note_failure(self, context: JobContext, work: Work, error: BaseException) -> None:
        text = storable_text(redact_text(shorten(_error_text(error), _ERROR_LENGTH)))
        decision = self._retries.get_retry_decision(exception=error, job=context.job)
        then = "will not be retried" if decision is None else "will be retried"
        _logger.warning("Thread `%s` of `%s` failed and %s: %s", work.thread_id, context.job.queue, then, text)
        failures = work.failures + (not is_lost_database(error))
        try:
            await self._note(context.job.id, {"error": text, "failures": failures})
        except LOST as lost:
            _logger.warning("The failure of thread `%s` could not be recorded: %s", work.thread_id, lost)

    async def _was_cancelled(self, context: JobContext) -> bool:
        """Return whether the job was cancelled; when the worker stops afterwards, the engine gives that as the reason."""
        (row,) = await self._ask(_IS_CANCELLED, id=context.job.id)
        return row["abort_requested"]

    async def _note(self, job_id: int | None, noted: dict[str, object]) -> None:
        await self._connector.execute_query_async(_NOTE, id=job_id, noted=noted)

    async def _ask(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        return await self._connector.execute_query_all_async(query, **arguments)

    @property
    def _connector(self) -> Any:
        return self._app.connector

    async def _maintain(self) -> None:
        """Verify this worker's claim, rescue orphaned jobs, and delete old ones, at the start and then every hour."""
        cleaned = -math.inf
        while True:
            try:
                (row,) = await self._ask(CLOCK)
                self._retries.set_clock(row["now"])
                if self._claim is not None:
                    await self._claim[1].averify()
                await self._rescue()
                if time.monotonic() - cleaned > _CLEANUP_INTERVAL:
                    cleaned = time.monotonic()
                    hours = int(self._keep_days * 24)
                    await self._app.job_manager.delete_old_jobs(hours, include_cancelled=True, include_aborted=True)
                    await self._report_others()
            except (*LOST, StorageError, ThreadBusy) as error:
                _logger.warning("Could not check for orphaned jobs: %s", error)
            self._has_maintained = True
            await asyncio.sleep(_POLL_INTERVAL)

    async def _report_others(self) -> None:
        """Log what waits for other workers: perhaps nobody knows that a crew was renamed."""
        for row in await self._ask(_OTHERS, task=TASK, queues=self.queues):
            _logger.info(
                "%d jobs wait for another worker: this one has no target `%s`. If that was renamed, run a worker with the old "
                "name, or cancel the jobs and enqueue them again.",
                row["number"],
                row["queue_name"],
            )

    async def _stop_when_empty(self) -> None:
        """Stop when no job is left, after a first maintenance."""
        while True:
            await asyncio.sleep(_BURST_POLL_INTERVAL)
            try:
                if self._has_maintained and not self._under_way and not await self._is_work_left():
                    self.stop()
                    return
            except (*LOST, StorageError) as error:
                _logger.warning("Could not check for jobs that are left: %s", error)

    async def _is_work_left(self) -> bool:
        """Return whether a job is due soon, or marked as running by this worker or a dead one."""
        (row,) = await self._ask(_LEFT, task=TASK, queues=self.queues, patience=_BURST_PATIENCE)
        workers = set(row["workers"])
        return row["are_due"] or self._id in workers or bool(workers & await self._dead_workers(workers))

    @property
    def _id(self) -> int | None:
        """The engine's id of this worker."""
        return None if self._claim is None else self._claim[0]

    async def _claim_id(self, number: int) -> None:
        """Hold a claim under the engine's id of this worker; it ends with this process."""
        claim = await in_thread(self._claims.claim, _claim_name(number))
        if self._claim is not None:
            self._claim[1].close()
        self._claim = number, claim

    async def _rescue(self) -> None:
        """Requeue jobs that were orphaned in two consecutive polls, and those of workers without a heartbeat."""
        rows = await self._ask(_UNDER_WAY, task=TASK)
        dead = await self._dead_workers({row["worker_id"] for row in rows})
        orphans = {
            _Orphan(row["id"], row["worker_id"], row["attempts"]): row for row in rows if self._is_orphan(row, dead)
        }
        for orphan in orphans.keys() & self._suspects:
            await self._requeue(orphan, orphans[orphan])
        self._suspects = set(orphans)
        jobs = self._app.job_manager
        for job in await jobs.get_stalled_jobs(task_name=TASK, seconds_since_heartbeat=self._stalled_after):
            if job.id not in self._under_way:
                _logger.info("Thread `%s` is requeued: its worker sends no heartbeat.", Work.of(job).thread_id)
                await jobs.retry_job(job, retry_at=self._retries.due(0))

    async def _dead_workers(self, numbers: set[int | None]) -> set[int | None]:
        dead: set[int | None] = {None}  # the engine has forgotten the worker
        for number in numbers - {None, self._id}:
            if await in_thread(self._claims.holder, _claim_name(number)) is None:
                dead.add(number)
        return dead

    def _is_orphan(self, row: Mapping[str, Any], dead: set[int | None]) -> bool:
        # Its end could not be recorded, if it is one of this worker.
        return row["id"] not in self._under_way and row["worker_id"] in dead | {self._id}

    async def _requeue(self, orphan: _Orphan, row: Mapping[str, Any]) -> None:
        work = Work.read(row["args"])
        is_own = orphan.worker_id is not None and orphan.worker_id == self._id
        counts = not is_own and (not work.is_last_trial or work.trial == orphan.attempts)
        noted: dict[str, object] = {"deaths": work.deaths + 1} if counts else {}
        is_poison = counts and work.deaths >= work.retries
        if is_poison:
            noted["error"] = f"{work.deaths + 1} workers have died while running it"
        if not await self._ask(_RESCUE, id=orphan.id, attempts=orphan.attempts, worker=orphan.worker_id, noted=noted):
            return
        if row["abort_requested"] or is_poison:
            status = Status.ABORTED if row["abort_requested"] else Status.FAILED
            await self._app.job_manager.finish_job_by_id_async(orphan.id, status, delete_job=False)
        else:
            _logger.info("Thread `%s` is requeued: its worker has died.", work.thread_id)
            await self._app.job_manager.retry_job_by_id_async(orphan.id, self._retries.due(0))


def _claim_name(number: int | None) -> str:
    return f"crewgraph worker {number}"


def _by_queue(targets: Sequence[Definition]) -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for target in targets:
        name = queue_of(_created_definition(target))
        if name in found:
            raise DefinitionError(f"two targets are called {name!r}; give one of them another `name`")
        found[name] = target
    if not found:
        raise DefinitionError("a worker needs a crew or a flow to run")
    return found


def _created_definition(target: Definition) -> Crew | Flow[Any]:
    """Return the crew or flow; a class or a function is called to create it."""
    definition: Any = target() if inspect.isclass(target) or inspect.isroutine(target) else target
    if not isinstance(definition, (Crew, Flow)) and callable(getattr(definition, "crew", None)):
        definition = definition.crew()  # of a `@CrewBase` class
    if not isinstance(definition, (Crew, Flow)):
        raise DefinitionError(f"a worker runs crews and flows, but {target!r:.80} returned {definition!r:.80}")
    return cast("Crew | Flow[Any]", definition)


def _error_text(error: BaseException) -> str:
    """Return the type and text of an error, and of those in a group."""
    text = f"{type(error).__name__}: {error}"
    if not isinstance(error, BaseExceptionGroup):
        return text
    group = cast("BaseExceptionGroup[BaseException]", error)
    return f"{text}: {'; '.join(_error_text(one) for one in group.exceptions)}"


class _Jobs(JobManager):
    """Claims the id of a worker before the worker fetches a job: one that holds no claim is taken for dead.

    A job that is cancelled just before the worker postpones it is cancelled; the engine's own query takes it for failed.
    """

    def __init__(self, connector: Any, claim: Callable[[int], Awaitable[None]]) -> None:
        super().__init__(connector)
        self._claim = claim

    async def register_worker(self) -> int:
        number = await super().register_worker()
        await self._claim(number)
        return number

    async def retry_job_by_id_async(self, job_id: int, *args: Any, **keywords: Any) -> None:
        await super().retry_job_by_id_async(job_id, *args, **keywords)
        await self.connector.execute_query_async(_CANCELLED_MEANWHILE, id=job_id)


class _EngineLogFilter(logging.Filter):
    """Drops the engine's log lines about this queue's jobs: they quote all arguments, and the worker logs its own."""

    def filter(self, record: logging.LogRecord) -> bool:
        job: Any = getattr(record, "job", None) or {}
        return job.get("task_name") != TASK and f"{TASK}[" not in record.getMessage()
