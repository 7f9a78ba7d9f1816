"""The throughput of a queue that holds many jobs."""

from benchmarks.measure import Contender, Measure

__all__ = ["QUEUE_MEASURES"]

_JOBS = (1_000, 10_000)

QUEUE_MEASURES: tuple[Measure, ...] = (
    Measure(
        name="queue",
        title="A queue with many waiting jobs in a new database",
        figures={
            "rate": "jobs per second of wall time, from the start of the worker to the end of the last job",
            "first": "seconds from the start of the worker until the first job is done",
            "added": "seconds to add the jobs",
        },
        cases={f"{jobs:,} jobs": str(jobs) for jobs in _JOBS},
        contenders=(
            Contender(name="crewgraph, one worker", words=("-m", "benchmarks.peers.queue_of_crewgraph", "{case}")),
        ),
        goal="the rate does not depend on how many jobs wait.",
    ),
)
"""All measures of queues."""
