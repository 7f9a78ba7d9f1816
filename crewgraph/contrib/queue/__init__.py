"""Runs of crews and flows on many machines: a queue of jobs in the Postgres database that holds their checkpoints.

`crew.enqueue(inputs)` adds a run, `crewgraph worker` carries runs out, and a `Job` tells what has become of one. The engine is
procrastinate. A job is no more than "bring the run of this thread to its end": what a killed worker has recorded is in the
checkpoints, and the next worker continues there.
"""

from crewgraph.contrib.queue.job import Job, JobFailed, JobProgress, JobStatus
from crewgraph.contrib.queue.queue import JobInfo, Queue
from crewgraph.contrib.queue.worker import QueueWorker

__all__ = ["Job", "JobFailed", "JobInfo", "JobProgress", "JobStatus", "Queue", "QueueWorker"]
