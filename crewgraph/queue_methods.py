"""The methods of crews and flows that add runs to a queue for workers on any number of machines."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from crewgraph.core.methods import other_form
from crewgraph.definitions.run_options import Inputs
from crewgraph.extensions import extension
from crewgraph.extras import require
from crewgraph.tracebacks import traced_to_the_caller

if TYPE_CHECKING:
    from crewgraph.contrib.queue import Job, Queue


class QueueMethods:
    """Methods that add runs to a queue."""

    @traced_to_the_caller
    def enqueue(
        self,
        inputs: Inputs | None = None,
        *,
        thread_id: str | None = None,
        queue: "Queue | str | None" = None,
        priority: int = 0,
        delay: float = 0,
        retries: int = 3,
        limit: int | None = None,
    ) -> "Job":
        """Add a run to a queue for a `crewgraph worker` to execute; `Job.result` waits for it.

        A thread that already has a queued or running job of this crew or flow keeps it; a run that has started keeps its inputs.

        Args:
            inputs: Values for the `{placeholders}` of a crew, or for the state of a flow.
            thread_id: The name to store the run under; None generates one.
            queue: The queue, or the address of its Postgres database. None uses the database of a Postgres checkpointer of the
                crew or flow, else the one in the environment variable CREWGRAPH_QUEUE.
            priority: Jobs of a higher priority are fetched first; a whole number, which may be negative.
            delay: Seconds to wait before the first attempt, at most ten years.
            retries: Maximum number of retries after a failure, with delays of 1, 2, 4 ... seconds. Errors that a retry would
                only repeat are not retried. Also of workers in a row that may die while the run makes no progress; with 0, the
                first death is final, but a stop of a worker is none.
            limit: Maximum number of runs of this crew or flow at a time, across all workers. Use the same number in every
                call.

        Raises:
            RunError: There is no queue, the thread id is empty, or the thread has an open job of another crew or flow.
            ValueError: A number is out of its range.
            NotPlain: The inputs cannot be stored.
            StorageError: The database cannot be used.
            MissingExtra: `crewgraph[queue]` is not installed.
        """
        options = {"priority": priority, "delay": delay, "retries": retries, "limit": limit}
        return _queue_for(self, queue).enqueue_all(self, [(thread_id, inputs or {})], **options)[0]

    aenqueue = other_form(enqueue, "aenqueue")
    """Async `enqueue`."""

    @traced_to_the_caller
    def enqueue_for_each(
        self,
        inputs: Sequence[Mapping[str, Any]],
        *,
        thread_ids: Sequence[str] | None = None,
        queue: "Queue | str | None" = None,
        priority: int = 0,
        delay: float = 0,
        retries: int = 3,
        limit: int | None = None,
    ) -> "list[Job]":
        """Add a run to a queue for each of several inputs; see `enqueue`.

        Args:
            inputs: The inputs of each run.
            thread_ids: The name of each run; None generates them.
            queue: See `enqueue`.
            priority: See `enqueue`.
            delay: See `enqueue`.
            retries: See `enqueue`.
            limit: See `enqueue`.

        Raises:
            ValueError: There are not as many names as inputs, or a number is out of its range.
        """
        names = [None] * len(inputs) if thread_ids is None else thread_ids
        options = {"priority": priority, "delay": delay, "retries": retries, "limit": limit}
        return _queue_for(self, queue).enqueue_all(self, list(zip(names, inputs, strict=True)), **options)

    aenqueue_for_each = other_form(enqueue_for_each, "aenqueue_for_each")
    """Async `enqueue_for_each`."""

    def job(self, thread_id: str, *, queue: "Queue | str | None" = None) -> "Job":
        """Return the job of a run that was added to a queue, by this process or another one.

        Args:
            thread_id: The name that the run is stored under.
            queue: See `enqueue`.

        Raises:
            RunError: There is no such job.
        """
        return _queue_for(self, queue).job(thread_id, self)


def _queue_for(definition: object, queue: "Queue | str | None") -> Any:
    require("procrastinate", extra="queue", purpose="A queue")
    return extension("queue.for")(definition, queue)
