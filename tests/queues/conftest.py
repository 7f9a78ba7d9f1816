"""A queue in a database of its own, and workers in this process."""

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from servers.postgres import Postgres
from until import until

from crewgraph.contrib.queue import Job, Queue, QueueWorker

_numbers = itertools.count()


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The address of an empty database."""
    name = sql.Identifier(f"queue_{os.getpid()}_{next(_numbers)}")
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        yield make_conninfo(postgres.dsn, dbname=name.as_string().strip('"'))
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture
def queue(database: str) -> Iterator[Queue]:
    with Queue(database) as opened:
        yield opened


@pytest.fixture
def work(queue: Queue) -> Callable[..., None]:
    """Works on the queue with some targets until these jobs have ended, or wait."""

    def work(*targets: Any, until_ended: list[Job], **options: Any) -> None:
        def is_over() -> bool:
            asyncio.run(QueueWorker(queue, targets, **options).run(wait=False))
            return all(job.status() not in ("queued", "working") for job in until_ended)

        until(is_over)

    return work
