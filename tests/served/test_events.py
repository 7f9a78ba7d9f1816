"""The events of a run, in this process and in Postgres."""

import asyncio
import logging

import pytest
from servers.postgres import Postgres

from crewgraph.contrib.queue import Queue
from crewgraph.contrib.serve.running import MAX_STORED_EVENTS, RunEvents
from crewgraph.contrib.serve.streams import EventFeed, EventWriter, StoredEvents
from crewgraph.contrib.serve.wire import Event


async def _fill(events: RunEvents | EventWriter) -> None:
    """Add more events than are kept, and an error behind them."""
    for number in range(MAX_STORED_EVENTS + 5):
        await events.add(Event("custom", str(number)))
    await events.add(Event("error", '"down"'))
    await events.flush()
    await events.end()


async def _read(events: RunEvents | StoredEvents) -> list[Event]:
    return [item[1] async for item in events.read() if item is not None]


def _check(kept: list[Event], caplog: pytest.LogCaptureFixture) -> None:
    assert kept[-2:] == [Event("custom", str(MAX_STORED_EVENTS - 1)), Event("error", '"down"')]
    assert len(kept) == MAX_STORED_EVENTS + 1
    [warning] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.startswith(
        "Run r has more than 20000 events; its streams leave out the rest, except errors. The run goes on"
    )


def test_events_beyond_those_that_are_kept_are_told_of_once_and_errors_are_kept(caplog: pytest.LogCaptureFixture):
    async def run() -> list[Event]:
        events = RunEvents("r")
        await _fill(events)
        return await _read(events)

    _check(asyncio.run(run()), caplog)


def test_events_in_postgres_beyond_those_that_are_kept_are_told_of_once(
    postgres: Postgres, caplog: pytest.LogCaptureFixture
):
    async def run(address: str) -> list[Event]:
        queue = Queue(address)
        async with queue.database.connections() as pool, EventFeed(address, pool) as feed:
            await _fill(await EventWriter.opened(pool, "r"))
            return await _read(StoredEvents(feed, "r"))

    with postgres.database() as address:
        _check(asyncio.run(run(address)), caplog)
