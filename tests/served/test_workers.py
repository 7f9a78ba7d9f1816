"""A server with a queue: workers are killed, streams are read from any position, and several servers run side by side."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_sdk import get_sync_client
from servers.postgres import Postgres, missing, running_postgres
from waiting import wait_until

from crewgraph.contrib.queue import Queue
from crewgraph.contrib.queue.database import QueueDatabase
from crewgraph.contrib.serve import serve_app
from crewgraph.contrib.serve.streams import EventWriter
from crewgraph.contrib.serve.wire import Event
from crewgraph.errors import DefinitionError

from .server_processes import OfficeServer, started
from .waiting_crews import steps


@pytest.fixture
def client(queued: OfficeServer) -> Iterator[Any]:
    with get_sync_client(url=queued.url) as made:
        yield made


class Reader:
    """Reads a stream on a thread of its own, as langgraph-sdk does."""

    def __init__(self, stream: Callable[[], Iterator[Any]]) -> None:
        self.parts: list[Any] = []
        self.thread = threading.Thread(target=lambda: self.parts.extend(_each(stream(), self.parts)))
        self.thread.start()

    def names(self) -> list[str]:
        return [part.event for part in self.parts]

    def all(self) -> list[Any]:
        """Wait for the end of the stream, and return its parts."""
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.parts


def _each(stream: Iterator[Any], parts: list[Any]) -> Iterator[Any]:
    for part in stream:
        parts.append(part)
    yield from ()


def _begin(client: Any, name: str = "steps", **more: Any) -> tuple[str, str]:
    thread = client.threads.create()["thread_id"]
    return thread, client.runs.create(thread, name, input={}, **more)["run_id"]


def _ended(client: Any, thread: str, run: str) -> str:
    client.runs.join(thread, run)
    return client.runs.get(thread, run)["status"]


def _events(http: httpx.Client, thread: str, run: str, after: int = 0) -> list[tuple[int, str]]:
    headers = {"Last-Event-ID": str(after)} if after else {}
    text = http.get(f"/threads/{thread}/runs/{run}/stream", headers=headers).text
    ids = [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]
    names = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
    return list(zip(ids, names, strict=True))


def test_the_run_of_a_killed_worker_and_its_stream_continue_in_another(queued: OfficeServer, client: Any):
    queued.let("one")
    thread = client.threads.create()["thread_id"]
    reader = Reader(lambda: client.runs.stream(thread, "steps", input={}, stream_mode="updates"))
    wait_until(lambda: "posting two" in queued.notes and "updates" in reader.names())
    queued.kill_workers()
    queued.let("two")
    queued.start_worker()
    parts = reader.all()
    assert [part.data["attempt"] for part in parts if part.event == "metadata"] == [1, 2]
    updates = [name for part in parts if part.event == "updates" for name in part.data]
    assert updates == ["one", "two"]
    assert queued.notes == ["posting one", "posted one", "posting two", "posting two", "posted two"]
    (run,) = client.runs.list(thread)
    assert (run["status"], client.threads.get(thread)["status"]) == ("success", "idle")


def test_the_server_is_killed_and_a_client_joins_the_run_at_the_next_one(queued: OfficeServer, client: Any):
    thread, run = _begin(client, stream_mode=["updates"])
    wait_until(lambda: "posting one" in queued.notes)
    queued.end(signal.SIGKILL)
    queued.let("one")
    wait_until(lambda: "posting two" in queued.notes)  # the run goes on without a server
    queued.start()
    reader = Reader(lambda: client.runs.join_stream(thread, run))
    wait_until(lambda: reader.names() == ["metadata", "updates"])
    queued.let("two")
    assert [list(part.data) for part in reader.all()[1:]] == [["one"], ["two"]]
    assert client.runs.join(thread, run)["two"]["raw"] == "two is sent"
    assert queued.notes.count("posting one") == queued.notes.count("posting two") == 1


def test_a_stream_is_read_late_and_from_any_point_and_by_many(queued: OfficeServer, client: Any):
    queued.let("one")
    thread, run = _begin(client, stream_mode=["updates", "values"])
    wait_until(lambda: "posting two" in queued.notes)
    readers = [Reader(lambda: client.runs.join_stream(thread, run)) for _ in range(3)]
    queued.let("two")
    first = [(part.event, part.data) for part in readers[0].all()]
    assert all([(part.event, part.data) for part in one.all()] == first for one in readers)
    with httpx.Client(base_url=queued.url, timeout=60) as http:
        events = _events(http, thread, run)
        assert [number for number, _ in events] == list(range(1, len(first) + 1))
        assert _events(http, thread, run, after=3) == events[3:]
        assert _events(http, thread, run, after=10_000) == []


def test_nothing_is_kept_of_a_run_without_a_thread(queued: OfficeServer, client: Any):
    queued.let("one")
    queued.let("two")
    assert client.runs.wait(None, "steps", input={})["two"]["raw"] == "two is sent"
    assert queued.queue is not None
    with psycopg.connect(queued.queue, autocommit=True) as connection:
        left = "SELECT count(*) FROM store WHERE prefix IN ('crewgraph.runs', 'crewgraph.threads')"
        wait_until(lambda: connection.execute(left).fetchone() == (0,))
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)


def test_of_a_long_stream_the_latest_events_are_kept(
    queued: OfficeServer, client: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("crewgraph.contrib.serve.streams.MAX_STORED_EVENTS", 1000)
    thread, run = _begin(client)
    wait_until(lambda: "posting one" in queued.notes)
    queued.kill_workers()

    async def tell() -> None:
        assert queued.queue is not None
        async with QueueDatabase(queued.queue).connections() as connections:
            writer = await EventWriter.opened(connections, run)
            for number in range(2500):
                await writer.add(Event("custom", str(number)))
            await writer.end()

    asyncio.run(tell())
    with httpx.Client(base_url=queued.url, timeout=60) as http:
        events = _events(http, thread, run)
        assert events[0] == (1, "metadata")
        assert len(events) in range(1000, 1502)
        assert [number for number, _ in events[1:]] == list(range(events[1][0], events[-1][0] + 1))
        assert events[-1][0] >= 2501


def test_a_cancellation_reaches_the_worker(queued: OfficeServer, client: Any):
    thread, run = _begin(client)
    reader = Reader(lambda: client.runs.join_stream(thread, run))
    wait_until(lambda: "posting one" in queued.notes)
    client.runs.cancel(thread, run)
    queued.let("one")
    reader.all()
    assert client.runs.get(thread, run)["status"] == "interrupted"
    assert client.threads.get(thread)["status"] == "idle"
    assert queued.notes == ["posting one", "posted one"]  # what was under way was recorded
    queued.let("two")
    assert client.runs.wait(thread, "steps", input=None)["two"]["raw"] == "two is sent"
    assert queued.notes.count("posting one") == 1


def test_a_run_that_no_worker_has_is_cancelled(queued: OfficeServer, client: Any):
    queued.kill_workers()
    thread, run = _begin(client)
    assert client.runs.get(thread, run)["status"] == "pending"
    client.runs.cancel(thread, run, wait=True)
    assert _ended(client, thread, run) == "interrupted"
    queued.start_worker()
    other, later = _begin(client)
    wait_until(lambda: queued.notes == ["posting one"])
    queued.let("one")
    queued.let("two")
    assert _ended(client, other, later) == "success"
    assert client.runs.get(thread, run)["status"] == "interrupted"
    assert queued.notes.count("posting one") == 1


def test_a_run_cancelled_as_its_worker_dies_is_interrupted(queued: OfficeServer, client: Any):
    thread, run = _begin(client)
    wait_until(lambda: "posting one" in queued.notes)
    queued.kill_workers()
    client.runs.cancel(thread, run)
    queued.start_worker()
    assert _ended(client, thread, run) == "interrupted"
    assert queued.notes == ["posting one"]


def test_a_run_that_kills_its_workers_is_given_up(queued: OfficeServer, client: Any):
    thread, run = _begin(client, "poison")
    for _ in range(4):  # the last one sees that all before have died
        queued.start_worker()
    output = client.runs.join(thread, run)
    assert output["__error__"]["message"] == "the run failed for good: 4 workers have died while running it"
    assert client.runs.get(thread, run)["status"] == "error"
    assert client.threads.get(thread)["status"] == "error"


def test_a_tool_that_ends_the_process_ends_its_own_run(queued: OfficeServer, client: Any):
    thread, run = _begin(client)
    wait_until(lambda: "posting one" in queued.notes)
    other, leaving = _begin(client, "leaving")
    output = client.runs.join(other, leaving)
    assert "`SystemExit: 3` was raised in a call of the tool `leave`" in output["__error__"]["message"]
    assert client.runs.get(other, leaving)["status"] == "error"
    queued.let("one")
    queued.let("two")
    assert _ended(client, thread, run) == "success"
    assert queued.workers[0].poll() is None


def test_a_run_that_is_to_begin_later_holds_up_no_other(queued: OfficeServer, client: Any):
    queued.let("one")
    queued.let("two")
    thread, later = _begin(client, after_seconds=4)
    assert client.runs.wait(thread, "steps", input={})["two"]["raw"] == "two is sent"
    assert client.runs.get(thread, later)["status"] == "pending"
    assert _ended(client, thread, later) == "success"


def test_a_stopped_worker_leaves_the_run_to_another_and_the_stream_continues(queued: OfficeServer, client: Any):
    thread = client.threads.create()["thread_id"]
    reader = Reader(lambda: client.runs.stream(thread, "steps", input={}, stream_mode="updates"))
    wait_until(lambda: "posting one" in queued.notes)
    queued.workers[0].send_signal(signal.SIGTERM)
    time.sleep(3)  # its grace, of a second
    queued.let("one")
    assert queued.workers.pop().wait(60) == 0
    queued.let("two")
    queued.start_worker()
    assert [name for part in reader.all() if part.event == "updates" for name in part.data][-1] == "two"
    assert queued.notes == ["posting one", "posted one", "posting two", "posted two"]


def test_of_runs_that_come_at_once_to_two_servers_one_is_begun(queued: OfficeServer, client: Any, tmp_path: Path):
    folder = tmp_path / "other"
    folder.mkdir()
    other = OfficeServer(folder, queue=queued.queue)
    other.workers = queued.workers
    other.start()
    thread = client.threads.create()["thread_id"]
    body: dict[str, Any] = {"assistant_id": "steps", "input": {}, "multitask_strategy": "reject"}

    async def all_at_once() -> list[int]:
        async with httpx.AsyncClient(timeout=60) as http:
            urls = [f"{one.url}/threads/{thread}/runs" for one in (queued, other) * 3]
            answers = await asyncio.gather(*(http.post(url, json=body) for url in urls))
        return sorted(answer.status_code for answer in answers)

    try:
        assert asyncio.run(all_at_once()) == [200, 409, 409, 409, 409, 409]
    finally:
        other.end(signal.SIGKILL)


def test_a_queue_takes_over_what_a_server_without_one_left(tmp_path: Path, postgres: Postgres):
    with postgres.database() as address:
        before = OfficeServer(tmp_path, f"--postgres={address}")
        before.start()
        with get_sync_client(url=before.url) as client:
            before.let("one")
            thread, run = _begin(client)
            wait_until(lambda: "posting two" in before.notes)
            refused = OfficeServer(tmp_path, queue=address)
            refused.workers = [before.process] if before.process else []
            with pytest.raises(AssertionError, match="is already served from this database"):
                refused.start()
        before.end(signal.SIGKILL)
        before.let("two")
        with started(tmp_path, address) as after, get_sync_client(url=after.url) as client:
            assert _ended(client, thread, run) == "success"
            assert after.notes.count("posting one") == 1


def test_a_run_that_cannot_be_queued_is_refused_and_has_failed(queued: OfficeServer, client: Any):
    assert queued.queue is not None
    with psycopg.connect(queued.queue, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the disk is full'; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON crewgraph_queue.procrastinate_jobs EXECUTE FUNCTION refuse()"
        )
        thread = client.threads.create()["thread_id"]
        response = httpx.post(
            f"{queued.url}/threads/{thread}/runs", json={"assistant_id": "steps", "input": {}}, timeout=60
        )
        assert (response.status_code, response.json()) == (
            503,
            {"detail": "the database of the queue cannot be queried: the disk is full"},
        )
        connection.execute("DROP FUNCTION refuse CASCADE")
    (run,) = client.runs.list(thread)
    assert (run["status"], client.threads.get(thread)["status"]) == ("error", "error")
    queued.let("one")
    queued.let("two")
    thread, run = _begin(client)
    assert _ended(client, thread, run) == "success"


def test_a_database_that_is_restarted_costs_neither_the_run_nor_the_stream(tmp_path: Path):
    if reason := missing():
        pytest.skip(reason)
    with (
        running_postgres() as database,
        started(tmp_path, database.dsn) as server,
        get_sync_client(url=server.url) as client,
    ):
        server.let("one")
        thread, run = _begin(client, stream_mode=["updates"])
        wait_until(lambda: "posting two" in server.notes)
        reader = Reader(lambda: client.runs.join_stream(thread, run))
        wait_until(lambda: "updates" in reader.names())
        database.restart()
        server.let("two")
        assert list(reader.all()[-1].data) == ["two"]
        assert _ended(client, thread, run) == "success"
        assert server.notes.count("posting one") == 1


def test_a_server_with_a_queue_needs_postgres(postgres: Postgres):
    with Queue(postgres.dsn) as queue, pytest.raises(DefinitionError, match="needs an AsyncPostgresSaver"):
        serve_app([steps()], checkpointer=InMemorySaver(), queue=queue)
