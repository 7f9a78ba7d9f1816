"""A queued run: its status, its result, and answers to its questions."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from procrastinate.jobs import Job as EngineJob

from crewgraph.contrib.queue.work import Work, state_of
from crewgraph.core.loops.bridge import in_thread
from crewgraph.core.operations import Program, adrive, blocking, drive, sleep
from crewgraph.crew import Crew
from crewgraph.definitions.crew.pending import CrewQuestion, RunInfo
from crewgraph.definitions.flow.feedback import Question
from crewgraph.errors import RunError
from crewgraph.flow.flow import Flow
from crewgraph.runtime.crew.kickoff import stored_crew_output
from crewgraph.runtime.flow.kickoff import stored_flow_result
from crewgraph.runtime.runs.flow_history import flow_steps
from crewgraph.runtime.runs.index import run_of_thread
from crewgraph.runtime.runs.stored_run import stored_run
from crewgraph.schema import is_mapping
from crewgraph.storage.checkpoints.strict import strictly_reading

if TYPE_CHECKING:
    from crewgraph.contrib.queue.queue import Queue

__all__ = ["Job", "JobFailed", "JobProgress", "JobStatus"]

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
        if job is not None and (state := state_of(job)) != "finished":
            return state
        run = self._run()
        if run is None:
            raise RunError(f"no job or run of thread `{self.thread_id}` is stored any longer")
        return "waiting" if run.status == "waiting" else "done"

    async def astatus(self) -> JobStatus:
        """Return the status of the run."""
        return await in_thread(self.status)

    def error(self) -> str | None:
        """Return the error of the last failed attempt; None if none has failed."""
        job = self._job()
        return None if job is None else Work.of(job).error

    async def aerror(self) -> str | None:
        """Return the error of the last failed attempt; None if none has failed."""
        return await in_thread(self.error)

    def progress(self) -> JobProgress:
        """Return which tasks or methods have completed."""
        definition, is_stored = self._definition, self._run() is not None
        if isinstance(definition, Flow):
            return JobProgress(done=self._methods_done(definition) if is_stored else (), total=None)
        done = stored_run(self._saver, self.thread_id).finished if is_stored else ()
        return JobProgress(done=tuple(done), total=len(definition.tasks))

    async def aprogress(self) -> JobProgress:
        """Return which tasks or methods have completed."""
        return await in_thread(self.progress)

    def result(self, timeout: float | None = None) -> Any:
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
        return drive(self._result(timeout))

    async def aresult(self, timeout: float | None = None) -> Any:
        """Async version of `result`."""
        return await adrive(self._result(timeout))

    def questions(self) -> Sequence[CrewQuestion | Question]:
        """Return the questions that the run waits on."""
        run = self._run()
        return () if run is None else run.questions

    async def aquestions(self) -> Sequence[CrewQuestion | Question]:
        """Return the questions that the run waits on."""
        return await in_thread(self.questions)

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

    async def aanswer(self, answer: object) -> None:
        """Async version of `answer`."""
        await in_thread(self.answer, answer)

    def cancel(self) -> bool:
        """Cancel the job. A worker that is running it lets the current step finish and records its result, then stops.

        Returns:
            Whether there was anything to cancel. `resume` or `retry` continues the run.
        """
        return self._queue.cancel(self.thread_id)

    async def acancel(self) -> bool:
        """Async version of `cancel`."""
        return await in_thread(self.cancel)

    def retry(self) -> bool:
        """Requeue a failed or cancelled job; return False if it is neither.

        Its run resumes where it stopped.
        """
        return self._queue.retry(self.thread_id)

    async def aretry(self) -> bool:
        """Async version of `retry`."""
        return await in_thread(self.retry)

    def _job(self) -> EngineJob | None:
        return self._queue.latest([self.thread_id]).get(self.thread_id)

    def _run(self) -> RunInfo | None:
        flow = self._definition if isinstance(self._definition, Flow) else None
        return drive(run_of_thread(self._saver, self.thread_id, flow))

    def _methods_done(self, flow: Flow[Any]) -> tuple[str, ...]:
        steps = drive(flow_steps(flow, self.thread_id))
        return tuple(method for step in steps for method in step.methods)

    def _result(self, timeout: float | None) -> Program[Any]:
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

    def _stored_result(self) -> Any:
        if isinstance(self._definition, Flow):
            return drive(stored_flow_result(self._definition, self.thread_id))
        return drive(stored_crew_output(self._definition, self.thread_id, self._saver))


def _answered_ids(question_ids: Sequence[str], answer: object) -> Sequence[str]:
    """Return the ids of the questions that an answer addresses: all, unless it is a dict of answers by id."""
    if is_mapping(answer) and answer and set(answer) <= set(question_ids):
        return [name for name in question_ids if name in answer]
    return question_ids
