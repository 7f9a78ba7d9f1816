"""Workers as processes: killed, stopped, terminated, deprived of their jobs while alive, and without their database."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import processes
import psycopg
import pytest
from servers.postgres import missing, running_postgres
from waiting import wait_until

from crewgraph.contrib.queue import Job, JobFailed, Queue
from crewgraph.errors import StorageError

from .sample_crew import TASKS, office, poison
from .stress import stops, trial
from .worker_processes import TESTS, Workers, made_once

BOTH = ("a", "async")
"""The keys of a run with a sync tool, and of one with an async one, which must not be repeated."""


@pytest.fixture
def workers(database: str, tmp_path: Path) -> Iterator[Workers]:
    made = Workers(database, tmp_path)
    try:
        yield made
    finally:
        made.end()


def _enqueue(queue: Queue, *keys: str) -> list[Job]:
    return office().enqueue_for_each([{"key": key} for key in keys], thread_ids=list(keys), queue=queue)


def test_the_runs_of_a_killed_worker_are_finished_by_another(queue: Queue, workers: Workers):
    jobs = _enqueue(queue, "a", "b", "c")
    first = workers.start()
    wait_until(lambda: "second" in workers.effects().get("a", ()))
    killed = time.monotonic()
    first.kill()
    workers.start()
    assert [job.result(60).raw for job in jobs] == [f"third of {key}" for key in "abc"]
    assert time.monotonic() - killed < 30  # far less than the time after which a silent worker loses its jobs
    assert all(made_once(calls) for calls in workers.effects().values())
    assert len(set(workers.pids("a"))) == 2


def test_a_living_worker_that_loses_its_job_still_makes_the_run_alone(queue: Queue, workers: Workers):
    """The engine takes a slow worker for dead. The second one finds the thread busy, and must not report success."""
    (job,) = _enqueue(queue, "a")
    with workers.held():
        workers.start("--stalled-after", "0")
        wait_until(lambda: workers.effects().get("a"))
        workers.start("--stalled-after", "0")
        wait_until(lambda: "is being run by" in workers.output(0) + workers.output(1))
        assert job.status() != "done"
    assert job.result(60).raw == "third of a"
    assert workers.effects()["a"] == list(TASKS)
    assert len(set(workers.pids("a"))) == 1


def test_a_living_worker_that_loses_its_job_and_then_dies_leaves_it_to_the_other(queue: Queue, workers: Workers):
    (job,) = _enqueue(queue, "a")
    with workers.held():
        first = workers.start("--concurrency", "1")  # else it may take the job again itself
        wait_until(lambda: workers.effects().get("a"))
        workers.start("--stalled-after", "0", seconds=0.1)
        wait_until(lambda: "is being run by" in workers.output(1))
        first.kill()
    assert job.result(60).raw == "third of a"
    assert made_once(workers.effects()["a"])
    assert len(set(workers.pids("a"))) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGSTOP")
def test_a_stopped_worker_keeps_its_runs_and_continues_with_them(queue: Queue, workers: Workers):
    (job,) = _enqueue(queue, "a")
    first = workers.start(seconds=0.5)
    wait_until(lambda: workers.effects().get("a"))
    os.kill(workers.pids("a")[0], signal.SIGSTOP)
    workers.start("--stalled-after", "0.5", seconds=0.1)
    wait_until(lambda: "is being run by" in workers.output(1))
    assert workers.effects()["a"] == ["first"]
    os.kill(workers.pids("a")[0], signal.SIGCONT)
    assert job.result(60).raw == "third of a"
    assert workers.effects()["a"] == list(TASKS)
    assert first.poll() is None


def test_sigterm_lets_runs_end_and_begins_none(queue: Queue, workers: Workers):
    jobs = _enqueue(queue, "a", "b")
    first = workers.start("--concurrency", "1", seconds=0.3)
    wait_until(lambda: workers.effects().get("a"))
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait(60) == 0
    assert [job.status() for job in jobs] == ["done", "queued"]
    assert workers.effects() == {"a": list(TASKS)}


def test_runs_that_outlast_the_grace_stop_after_what_is_under_way(queue: Queue, workers: Workers):
    jobs = _enqueue(queue, *BOTH)
    first = workers.start("--grace", "0.1", seconds=1.0)
    wait_until(lambda: len(workers.effects()) == 2)
    os.kill(first.pid, signal.SIGTERM)
    assert first.wait(60) == 0
    assert ([job.status() for job in jobs], workers.effects()) == (["queued"] * 2, dict.fromkeys(BOTH, ["first"]))
    workers.start(seconds=0)
    assert [job.result(60).raw for job in jobs] == [f"third of {key}" for key in BOTH]
    assert workers.effects() == dict.fromkeys(BOTH, list(TASKS))  # what was under way was recorded


def test_a_second_signal_stops_runs_at_once_and_a_third_loses_nothing(queue: Queue, workers: Workers):
    jobs = _enqueue(queue, *BOTH)
    first = workers.start("--grace=100", seconds=6.0)
    wait_until(lambda: len(workers.effects()) == 2)
    for number in range(3):
        os.kill(first.pid, signal.SIGTERM)
        wait_until(lambda number=number: workers.output().count("SIGTERM") > number)
    assert first.wait(60) == 0
    assert workers.effects() == dict.fromkeys(BOTH, ["first"])
    workers.start(seconds=0)
    assert jobs[0].result(60).raw == "third of a"
    assert workers.effects()["a"] == list(TASKS)
    with pytest.raises(JobFailed, match="a call of the tool `async_stamp` was started before a crash"):  # it was cut
        jobs[1].result(60)


def test_a_run_under_way_is_cancelled_after_its_effect(queue: Queue, workers: Workers):
    jobs = _enqueue(queue, *BOTH)
    workers.start(seconds=2.5)
    wait_until(lambda: len(workers.effects()) == 2)
    assert all([job.cancel() for job in jobs])
    wait_until(lambda: [job.status() for job in jobs] == ["cancelled"] * 2)
    with pytest.raises(JobFailed, match="was cancelled"):
        jobs[0].result(60)
    assert workers.effects() == dict.fromkeys(BOTH, ["first"])
    assert all([job.retry() for job in jobs])
    assert [job.result(60).raw for job in jobs] == [f"third of {key}" for key in BOTH]
    assert workers.effects() == dict.fromkeys(BOTH, list(TASKS))


def test_a_burst_worker_ends_when_the_job_of_a_killed_one_is_done(queue: Queue, workers: Workers):
    """As under cron: each ends when no job is left."""
    (job,) = _enqueue(queue, "a")
    office().enqueue({"key": "b"}, thread_id="b", queue=queue, delay=1.5)
    later = office().enqueue({"key": "c"}, thread_id="c", queue=queue, delay=3600)
    first = workers.start("--burst", "--concurrency=1", seconds=0.5)
    wait_until(lambda: workers.effects().get("a"))
    first.kill()
    first.wait(60)
    assert workers.start("--burst", seconds=0).wait(60) == 0
    assert (job.status(), made_once(workers.effects()["a"])) == ("done", True)
    assert made_once(workers.effects()["b"])  # it was due in a moment
    assert later.status() == "queued"


def test_a_job_that_kills_its_workers_becomes_a_dead_letter(queue: Queue, workers: Workers):
    job = poison().enqueue(queue=queue, retries=1)
    for _ in range(3):
        workers.start(target="queues.sample_crew:poison")
    wait_until(lambda: job.status() == "failed")
    assert job.error() == "2 workers have died while running it"
    assert sum(one.poll() is None for one in workers.running) == 1


def test_a_job_that_kills_its_workers_takes_no_other_with_it(queue: Queue, workers: Workers):
    """Their effects take longer than it does, so that they make no progress beside it."""
    deadly = poison().enqueue(queue=queue, retries=1)
    jobs = office().enqueue_for_each([{"key": key} for key in "ab"], thread_ids=list("ab"), queue=queue, retries=1)
    targets = ("--target", "queues.sample_crew:poison", "--concurrency", "8")

    def is_over() -> bool:
        if all(one.poll() is not None for one in workers.running):
            workers.start(*targets, seconds=0.6)
        time.sleep(0.2)
        return deadly.status() == "failed" and all(job.status() not in ("queued", "working") for job in jobs)

    wait_until(is_over, 120)
    assert [job.status() for job in jobs] == ["done"] * 2
    assert len(workers.running) == 3


def test_a_run_that_makes_progress_outlives_any_number_of_workers(queue: Queue, workers: Workers):
    (job,) = office().enqueue_for_each([{"key": "a"}], thread_ids=["a"], queue=queue, retries=1)
    for name in TASKS:
        worker = workers.start(seconds=0.5)
        wait_until(lambda name=name: name in workers.effects().get("a", ()))
        time.sleep(0.2)
        worker.kill()
    workers.start(seconds=0)
    assert job.result(60).raw == "third of a"
    assert made_once(workers.effects()["a"])


def test_workers_continue_when_their_connections_were_cut(queue: Queue, workers: Workers, database: str):
    jobs = _enqueue(queue, *"abcd")
    workers.start(seconds=0.3)
    wait_until(lambda: workers.effects().get("a"))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    assert [job.result(60).raw for job in jobs] == [f"third of {key}" for key in "abcd"]
    assert all(made_once(calls) for calls in workers.effects().values())
    assert workers.running[0].poll() is None


def test_runs_end_once_whatever_becomes_of_their_workers_and_of_the_database():
    """A sample of the trial that `make kills` makes whole."""
    if reason := missing():
        pytest.skip(reason)
    seed = random.randrange(10**6)
    print("seed", seed)
    with running_postgres() as server:
        outcome = trial(server, runs=40, number=2, kills=2, restart=True, seed=seed)
    assert (outcome.done, outcome.repeated, outcome.kills, outcome.restarts) == (40, [], 2, 1)


def test_no_effect_is_cut_or_repeated_and_no_run_ends_with_another_when_workers_stop_and_jobs_are_cancelled():
    """A sample of the trial that `make kills` makes whole."""
    if reason := missing():
        pytest.skip(reason)
    seed = random.randrange(10**6)
    print("seed", seed)
    with running_postgres() as server:
        outcome = stops(server, runs=2, exits=2, number=2, seed=seed, every=0.7)
    assert (outcome.repeated, outcome.lost, outcome.wrong) == ([], [], [])
    assert outcome.stops + outcome.cancels


def test_many_that_make_the_tables_at_once_all_find_them(database: str):
    with ExitStack() as stack:
        queues = [stack.enter_context(Queue(database)) for _ in range(6)]
        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(Queue.jobs, queues)) == [[]] * 6


def test_the_commands_list_retry_and_cancel(queue: Queue, database: str, tmp_path: Path):
    def command(*args: str) -> Any:
        line = processes.command("-m", "crewgraph", *args)
        environment = {
            **os.environ,
            "CREWGRAPH_QUEUE": database,
            "PYTHONPATH": str(TESTS),
            "OFFICE_LOG": str(tmp_path / "log"),
        }
        return subprocess.run(
            line, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False, timeout=120
        )

    assert command("jobs").stdout == "no jobs\n"
    _enqueue(queue, "a")
    assert command("jobs", "--cancel", "a").stdout == "a is cancelled\n"
    assert "thread `a` has no queued or running job" in command("jobs", "--cancel", "a").stderr
    assert command("jobs", "--state", "failed").stdout == "no failed jobs\n"
    assert command("jobs", "--retry", "a").stdout == "a is queued again\n"
    done = command("worker", "--target", "queues.sample_crew:office", "--burst")
    assert done.returncode == 0
    assert "working on `crew:office`, 4 at a time" in done.stderr
    assert "Thread `a` of `crew:office` is done" in done.stderr
    listed = command("jobs").stdout
    assert all(word in listed for word in ("thread", "a", "crew:office", "done"))
    assert '"state": "done"' in command("jobs", "--json").stdout
    no_queue = {name: value for name, value in os.environ.items() if name != "CREWGRAPH_QUEUE"}
    line = processes.command("-m", "crewgraph", "jobs")
    refused = subprocess.run(line, capture_output=True, text=True, env=no_queue, cwd=tmp_path, check=False, timeout=120)
    assert (refused.returncode, refused.stderr) == (
        1,
        "Error: no queue given: pass `--queue postgresql://...`, or set CREWGRAPH_QUEUE\n",
    )


def test_a_database_that_cannot_be_reached_is_reported(tmp_path: Path):
    with (
        Queue(f"host={tmp_path} user=nobody dbname=none") as nowhere,
        pytest.raises(StorageError, match=r"the database of the queue cannot be used: .*Check its address"),
    ):
        nowhere.jobs()
