"""Servers that are killed or stopped during runs, and restarted; with a queue the runs continue meanwhile."""

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from langgraph_sdk import get_sync_client
from servers.postgres import Postgres, missing, running_postgres
from waiting import LONG, wait_until

from crewgraph.contrib.serve.postgres import opened_postgres
from crewgraph.contrib.serve.records import Records, opened_records
from crewgraph.formats import FORMAT, FORMAT_KEY

from .server_processes import OfficeServer, started


@pytest.fixture(params=["alone", "queued"])
def server(request: pytest.FixtureRequest) -> OfficeServer:
    return request.getfixturevalue(request.param)


@pytest.fixture
def client(server: OfficeServer) -> Iterator[Any]:
    with get_sync_client(url=server.url) as made:
        yield made


def _begin(client: Any, name: str) -> tuple[str, str]:
    thread = client.threads.create()["thread_id"]
    return thread, client.runs.create(thread, name, input={})["run_id"]


def _read(server: OfficeServer, thread: str, run: str) -> Iterator[str]:
    with httpx.stream("GET", f"{server.url}/threads/{thread}/runs/{run}/stream", timeout=60) as answer:
        yield from answer.iter_lines()


def _ended(client: Any, thread: str, run: str) -> str:
    client.runs.join(thread, run)
    return client.runs.get(thread, run)["status"]


def test_an_approval_given_before_a_kill_is_not_taken_for_a_later_one(server: OfficeServer, client: Any):
    thread, first = _begin(client, "two_bills")
    assert _ended(client, thread, first) == "interrupted"
    second = client.runs.create(thread, "two_bills", command={"resume": {"approved": True}})["run_id"]
    wait_until(lambda: "posting letter" in server.notes)
    server.end(signal.SIGKILL)
    assert server.notes == ["paid first", "posting letter"]
    server.let("letter")
    server.start()
    assert _ended(client, thread, second) == "interrupted"
    assert "paid second" not in server.notes
    client.runs.wait(thread, "two_bills", command={"resume": {"approved": True}})
    assert [note for note in server.notes if note.startswith("paid")] == ["paid first", "paid second"]


def test_runs_that_wait_behind_another_one_are_taken_up_in_their_order(server: OfficeServer, client: Any):
    server.let("one")
    thread, first = _begin(client, "steps")
    later = [client.runs.create(thread, "steps", input={}, multitask_strategy="enqueue")["run_id"] for _ in range(2)]
    wait_until(lambda: "posting two" in server.notes)
    server.end(signal.SIGKILL)
    server.let("two")
    server.start()
    assert [_ended(client, thread, run) for run in (first, *later)] == ["success"] * 3
    assert server.notes.count("posting one") == 3  # what was recorded is not done again
    made = [one["metadata"]["run_id"] for one in reversed(client.threads.get_history(thread, limit=100))]
    assert list(dict.fromkeys(made)) == [first, *later]


def test_a_stopped_server_leaves_behind_what_does_not_end(server: OfficeServer, client: Any):
    thread, run = _begin(client, "steps")
    wait_until(lambda: "posting one" in server.notes)
    started = time.monotonic()
    streamed: list[Any] = []
    reading = threading.Thread(target=lambda: streamed.extend(_read(server, thread, run)))
    reading.start()
    wait_until(lambda: bool(streamed))
    server.end()
    reading.join()
    assert time.monotonic() - started < LONG
    server.let("one")
    server.let("two")
    server.start()
    assert _ended(client, thread, run) == "success"


def test_who_waits_for_a_run_of_a_stopped_server_is_told_so(server: OfficeServer, client: Any):
    thread, run = _begin(client, "steps")
    wait_until(lambda: "posting one" in server.notes)
    answers: list[httpx.Response] = []
    url = f"{server.url}/threads/{thread}/runs/{run}/join"
    sent: list[str] = []

    def note(step: str, _: Any) -> None:
        sent.append(step)

    more: dict[str, Any] = {"extensions": {"trace": note}}
    with httpx.Client(timeout=60) as http:
        waiting = threading.Thread(target=lambda: answers.append(http.send(http.build_request("GET", url, **more))))
        waiting.start()
        wait_until(lambda: "http11.send_request_body.complete" in sent)
        time.sleep(0.3)  # until the server has read the request
        server.end()
        waiting.join()
    assert answers[0].status_code == 503
    assert run in answers[0].json()["detail"]


@pytest.mark.parametrize("resume", [{"approved": True}, True], ids=["a mapping", "a value"])
def test_an_answer_whose_run_asked_again_before_a_kill_is_not_given_twice(
    server: OfficeServer, client: Any, resume: Any
):
    server.let("letter")
    thread, first = _begin(client, "two_bills")
    assert _ended(client, thread, first) == "interrupted"
    second = client.runs.create(thread, "two_bills", command={"resume": resume})["run_id"]
    assert _ended(client, thread, second) == "interrupted"
    server.end(signal.SIGKILL)
    asyncio.run(_reopen(server, second))  # as if it had been killed before it could note the end
    server.start()
    assert _ended(client, thread, second) == "interrupted"
    assert [note for note in server.notes if note.startswith("paid")] == ["paid first"]
    client.runs.wait(thread, "two_bills", command={"resume": resume})
    assert [note for note in server.notes if note.startswith("paid")] == ["paid first", "paid second"]


async def _reopen(server: OfficeServer, run_id: str) -> None:
    opened = opened_records(server.records) if server.queue is None else opened_postgres(server.queue)
    async with opened as found:
        runs = Records(found[1] if isinstance(found, tuple) else found).runs
        run = await runs.get(run_id)
        assert run is not None
        run.status = "running"
        await runs.put(run)
    if server.queue is not None:
        with psycopg.connect(server.queue) as connection:
            connection.execute("DELETE FROM crewgraph_queue.run_events WHERE event IS NULL AND run_id = %s", [run_id])


@pytest.mark.parametrize(
    "path", ["/runs/batch", "/runs/cancel", "/threads/prune", "/store/items/search", "/runs/crons", "/nowhere"]
)
def test_what_the_server_does_not_have_is_said_by_name(server: OfficeServer, path: str):
    answer = httpx.post(f"{server.url}{path}", json={})
    assert answer.status_code == 404
    assert f"POST {path}" in answer.json()["detail"]


def test_of_two_servers_on_one_database_the_second_does_not_begin(alone: OfficeServer, tmp_path: Path):
    other = OfficeServer(tmp_path)
    with pytest.raises(AssertionError, match=r"`two_bills` is already served from this database, by process \d+"):
        other.start()
    assert "Traceback" not in other.output


def test_a_run_that_is_to_begin_later_does_so_after_a_restart(server: OfficeServer, client: Any):
    server.let("one")
    server.let("two")
    thread = client.threads.create()["thread_id"]
    started = time.monotonic()
    run = client.runs.create(thread, "steps", input={}, after_seconds=6)["run_id"]
    server.end(signal.SIGKILL)
    server.start()
    assert server.notes == []
    assert _ended(client, thread, run) == "success"
    assert time.monotonic() - started >= 5.5


def test_a_run_on_postgres_continues_after_its_server_was_killed(tmp_path: Path, postgres: Postgres):
    server = OfficeServer(tmp_path, f"--postgres={postgres.dsn}")
    server.start()
    try:
        with get_sync_client(url=server.url) as client:
            server.let("one")
            thread, run = _begin(client, "steps")
            wait_until(lambda: "posting two" in server.notes)
            assert [one["thread_id"] for one in client.threads.search(status="busy")] == [thread]
            server.end(signal.SIGKILL)
            server.let("two")
            server.start()
            assert _ended(client, thread, run) == "success"
            assert server.notes.count("posting one") == 1
            state: Any = client.threads.get_state(thread)
            assert state["values"]["two"]["raw"] == "two is sent"
            assert client.threads.delete(thread) is None
            assert client.threads.search() == []
    finally:
        server.end(signal.SIGKILL)


def test_a_postgres_that_cannot_be_reached_is_an_error_in_one_line(tmp_path: Path):
    server = OfficeServer(tmp_path, "--postgres=postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")
    with pytest.raises(AssertionError, match="the database cannot be used"):
        server.start()
    assert "Traceback" not in server.output


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_server_waits_for_a_postgres_that_is_started_with_it():
    with running_postgres() as database:
        database.stop()
        starting = threading.Timer(1, database.start)
        starting.start()
        try:
            asyncio.run(_read_from(database.dsn))
        finally:
            starting.join()


async def _read_from(address: str) -> None:
    async with opened_postgres(address) as (_, store):
        assert await store.aget(("desk",), "key") is None


@pytest.mark.parametrize("option", ["--postgres", "--queue"])
@pytest.mark.parametrize("address", ["nonsense://u:s3cret@h/x", "postgresql://u:s3cret/word@h/x", "s3cret"])
def test_an_address_that_cannot_be_read_is_an_error_that_does_not_show_its_password(
    option: str, address: str, tmp_path: Path
):
    server = OfficeServer(tmp_path, f"{option}={address}")
    with pytest.raises(AssertionError, match="the address of the database cannot be read"):
        server.start()
    assert ("Traceback" in server.output, "s3cret" in server.output) == (False, False)


def test_a_port_that_another_program_uses_is_an_error_in_one_line(tmp_path: Path):
    server = OfficeServer(tmp_path)
    port = int(server.url.rpartition(":")[2])
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(AssertionError, match=f"the server could not start on 127.0.0.1:{port}"),
    ):
        server.start()
    assert ("address already in use" in server.output, "Traceback" in server.output) == (True, False)


def test_a_client_that_sends_half_a_request_does_not_keep_a_server_that_stops(tmp_path: Path):
    with started(tmp_path) as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(
                f"POST /threads HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
                "Content-Length: 100\r\n\r\n{".encode()
            )
            wait_until(lambda: httpx.get(f"{server.url}/ok").is_success)  # it has read what there was
            assert server.end() == -signal.SIGTERM
            assert client.recv(12) == b"HTTP/1.1 413"
        assert "Traceback" not in server.output


_STOPPED_AT_ONCE = """
import os, signal, threading, time
from crewgraph.flow import Flow, start

class Idle(Flow):
    @start()
    def begin(self) -> None:
        pass

flow = Idle()

def stop() -> None:  # as soon as the server handles signals, before it has started
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0)
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=stop, daemon=True).start()
"""


def test_a_server_that_is_told_to_stop_while_it_starts_stops_without_a_word(tmp_path: Path):
    (tmp_path / "stopped_at_once.py").write_text(_STOPPED_AT_ONCE)
    server = OfficeServer(tmp_path, "--target=stopped_at_once.py:flow")
    with pytest.raises(AssertionError):
        server.start()
    assert (server.end(), server.output) == (-signal.SIGTERM, "")


async def _store_impossible_runs(server: OfficeServer, like: str) -> list[str]:
    """Store open runs as no server makes them: with delays and times that do not exist, and one that is not a run at all."""
    opened = opened_records(server.records) if server.queue is None else opened_postgres(server.queue)
    async with opened as found:
        store = found[1] if isinstance(found, tuple) else found
        run = await Records(store).runs.get(like)
        assert run is not None
        document = {**run.model_dump(mode="json"), "status": "pending", "is_queued": False, FORMAT_KEY: FORMAT}
        fields = [
            {"after_seconds": 1e300},
            {"after_seconds": -1.0, "created_at": "0001-01-01T00:00:00Z"},
            {"after_seconds": 1e9, "created_at": "9999-12-31T00:00:00Z"},
            {"after_seconds": "soon"},
            {"created_at": "2026-01-01T00:00:00"},
        ]
        for number, changed in enumerate(fields):
            run_id = f"00000000-0000-4000-8000-{number:012}"
            await store.aput(("crewgraph", "runs"), run_id, {**document, "run_id": run_id, **changed}, index=False)
    return [f"00000000-0000-4000-8000-{number:012}" for number in range(len(fields))]


def test_runs_with_an_impossible_delay_or_time_do_not_keep_a_server_from_starting(server: OfficeServer, client: Any):
    server.let("one")
    server.let("two")
    thread, run = _begin(client, "steps")
    assert _ended(client, thread, run) == "success"
    server.end()
    impossible = asyncio.run(_store_impossible_runs(server, run))
    server.start()
    for run_id in impossible[:3]:
        wait_until(lambda run_id=run_id: client.runs.get(thread, run_id)["status"] == "error")
        assert f"Run {run_id} of `steps` failed" in server.output
    for run_id in impossible[3:]:
        assert f"The record {run_id} of `runs` cannot be read, and is left out" in server.output
    assert _ended(client, *_begin(client, "steps")) == "success"
    assert {one["run_id"] for one in client.runs.list(thread)} == {run, *impossible[:3]}
