"""Runs of crews and flows on many machines: a queue of jobs in the Postgres database that holds their checkpoints.

`crew.enqueue(inputs)` adds a run, `crewgraph worker` executes runs, and a `Job` reports the status of one. The engine is
procrastinate. A job only says "complete the run of this thread": what a killed worker has recorded is in the checkpoints, and
the next worker resumes there.
"""

from typing import TYPE_CHECKING

from crewgraph.extras import require
from crewgraph.lazy import lazy_exports

if TYPE_CHECKING:
    from crewgraph.contrib.queue.job import Job, JobFailed, JobProgress, JobStatus
    from crewgraph.contrib.queue.queue import JobInfo, Queue
    from crewgraph.contrib.queue.worker import QueueWorker
else:  # the packages that they need are optional
    _MODULES = {
        "Job": "job",
        "JobFailed": "job",
        "JobInfo": "queue",
        "JobProgress": "job",
        "JobStatus": "job",
        "Queue": "queue",
        "QueueWorker": "worker",
    }
    _export = lazy_exports(__name__, {name: f"{__name__}.{module}" for name, module in _MODULES.items()})

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            require("procrastinate", extra="queue", purpose=f"`{name}`")
        return _export(name)


__all__ = ["Job", "JobFailed", "JobInfo", "JobProgress", "JobStatus", "Queue", "QueueWorker"]
