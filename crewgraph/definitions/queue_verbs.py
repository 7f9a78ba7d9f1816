"""The methods of crews and flows that add runs to a queue, which workers on any number of machines carry out."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from crewgraph.core.loops.bridge import in_thread
from crewgraph.definitions.run_options import Inputs
from crewgraph.extensions import extension
from crewgraph.extras import require

if TYPE_CHECKING:
    from crewgraph.contrib.queue import Job, Queue

__all__ = ["QueueVerbs"]


class QueueVerbs:
    """Methods that add runs to a queue."""

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
        """Add a run to a queue, which a `crewgraph worker` carries out; `Job.result` waits for it.

        A thread that has a job in the queue, or under way, keeps that one; a run that has begun keeps its inputs.

        Args:
            inputs: Values for the `{placeholders}` of a crew, or for the state of a flow.
            thread_id: The name to store the run under; None generates one.
            queue: The queue, or the address of its Postgres database. None uses the database of a Postgres checkpointer of the
                crew or flow, else the one in the environment variable CREWGRAPH_QUEUE.
            priority: Jobs of a higher priority are fetched first.
            delay: The seconds to wait before the first attempt.
            retries: How often a failed attempt is made again, after 1, 2, 4 ... seconds. Errors that would be the same again
                are not retried.
            limit: How many runs of this crew or flow may be under way at a time, on all workers together. Use the same number
                each time.

        Raises:
            RunError: There is no queue.
            NotPlain: The inputs cannot be stored.
            StorageError: The database cannot be used.
            MissingExtra: `crewgraph[queue]` is not installed.
        """
        return _queue_for(self, queue).enqueue(
            self, inputs, thread_id=thread_id, priority=priority, delay=delay, retries=retries, limit=limit
        )

    async def aenqueue(
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
        """Add a run to a queue without blocking the event loop; see `enqueue`."""
        add = partial(self.enqueue, inputs, thread_id=thread_id, queue=queue, priority=priority, delay=delay)
        return await in_thread(partial(add, retries=retries, limit=limit))

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
            ValueError: There are not as many names as inputs.
        """
        names = [None] * len(inputs) if thread_ids is None else thread_ids
        return _queue_for(self, queue).enqueue_all(
            self,
            list(zip(names, inputs, strict=True)),
            priority=priority,
            delay=delay,
            retries=retries,
            limit=limit,
        )

    async def aenqueue_for_each(
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
        """Add a run for each of several inputs without blocking the event loop; see `enqueue_for_each`."""
        add = partial(self.enqueue_for_each, inputs, thread_ids=thread_ids, queue=queue, priority=priority, delay=delay)
        return await in_thread(partial(add, retries=retries, limit=limit))

    def job(self, thread_id: str, *, queue: "Queue | str | None" = None) -> "Job":
        """Return the job of a run that was added to a queue, by this process or another one.

        Args:
            thread_id: The name that the run is stored under.
            queue: See `enqueue`.

        Raises:
            RunError: There is none.
        """
        return _queue_for(self, queue).job(thread_id, self)


def _queue_for(definition: object, queue: "Queue | str | None") -> Any:
    require("procrastinate", extra="queue", purpose="A queue")
    return extension("queue.for")(definition, queue)
