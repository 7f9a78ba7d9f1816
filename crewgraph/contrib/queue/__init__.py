"""Runs of crews and flows on many machines: a queue of jobs in the Postgres database that holds their checkpoints.

`crew.enqueue(inputs)` adds a run, `crewgraph worker` executes runs, and a `Job` reports the status of one. The engine is
procrastinate. A job only says "complete the run of this thread": what a killed worker has recorded is in the checkpoints, and
the next worker resumes there.
"""

from crewgraph.contrib.queue.job import Job, JobFailed, JobProgress, JobStatus
from crewgraph.contrib.queue.queue import JobInfo, Queue
from crewgraph.contrib.queue.worker import QueueWorker

__all__ = ["Job", "JobFailed", "JobInfo", "JobProgress", "JobStatus", "Queue", "QueueWorker"]
