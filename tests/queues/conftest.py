"""A queue in a separate database, and workers in this process."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from servers.postgres import Postgres

from crewgraph.contrib.queue import Job, Queue, QueueWorker


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The address of an empty database."""
    with postgres.database() as address:
        yield address


@pytest.fixture
def queue(database: str) -> Iterator[Queue]:
    with Queue(database) as opened:
        yield opened


@pytest.fixture
def work(queue: Queue) -> Callable[..., None]:
    """Runs a worker with some targets until no job is left, when these jobs must have ended, or wait."""

    def work(*targets: Any, until_ended: list[Job], **options: Any) -> None:
        asyncio.run(QueueWorker(queue, targets, **options).run(wait=False))
        assert {job.status() for job in until_ended}.isdisjoint({"queued", "working"})

    return work
