"""A stress test of a queue: many runs, workers that are killed or lose their jobs at random, and a database that restarts.

`python -m queues.stress` runs the full test and writes its figures to results.md.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from servers.postgres import Postgres, running_postgres

from crewgraph.contrib.queue import Job, Queue

from .sample_crew import TASKS, office
from .worker_processes import Workers, made_once

__all__ = ["Outcome", "throughput", "trial"]

RESULTS = Path(__file__).parent / "results.md"
_ROBBING = 3.0  # seconds, far below the ten between two heartbeats: live workers lose their jobs, too


@dataclass
class Outcome:
    """The result of a trial."""

    runs: int
    done: int = 0
    repeated: list[str] = field(default_factory=list[str])
    """Threads in which an effect was made again after a later one had begun, which needs its record."""

    again: int = 0
    """Effects that were under way when their worker was lost, and were made again."""

    kills: int = 0
    robbed: int = 0
    """How many jobs were requeued although their worker was alive."""

    restarts: int = 0
    recoveries: list[float] = field(default_factory=list[float])
    """Seconds from a kill to the next effect of a run that was under way, made by another worker."""

    seconds: float = 0.0


@contextmanager
def _served(server: Postgres) -> Generator[tuple[Queue, Workers]]:
    with tempfile.TemporaryDirectory(prefix="crewgraph-trial-") as folder, Queue(server.dsn) as queue:
        workers = Workers(server.dsn, Path(folder))
        try:
            yield queue, workers
        finally:
            workers.end()


def _enqueue(queue: Queue, runs: int) -> list[Job]:
    keys = [f"k{number}" for number in range(runs)]
    return office().enqueue_for_each([{"key": key} for key in keys], thread_ids=keys, queue=queue, retries=20)


def trial(
    server: Postgres,
    *,
    runs: int,
    number: int,
    kills: int,
    restart: bool,
    seed: int,
    every: float = 2.0,
    stalled_after: float = _ROBBING,
) -> Outcome:
    """Run a trial.

    Args:
        server: The database.
        runs: How many runs there are.
        number: How many workers; each that is killed is replaced.
        kills: How many are killed.
        restart: Whether the database is restarted once.
        seed: Seeds which are killed, and when.
        every: The mean number of seconds between two kills.
        stalled_after: Seconds without a heartbeat after which the jobs of a worker are requeued.
    """
    chance, outcome, option = random.Random(seed), Outcome(runs), f"--stalled-after={stalled_after}"
    with _served(server) as (queue, workers):
        jobs = _enqueue(queue, runs)
        started = time.monotonic()
        living = [workers.start(option) for _ in range(number)]
        killed: list[tuple[float, int]] = []
        restart_at = kills // 2 if restart else -1
        while _unfinished(workers, jobs):
            time.sleep(chance.uniform(0.5, 1.5) * every if outcome.kills < kills else 0.5)
            if outcome.kills < kills:
                victim = chance.randrange(number)
                living[victim].kill()
                killed.append((time.time(), living[victim].pid))
                outcome.kills += 1
                living[victim] = workers.start(option)
            if outcome.kills == restart_at and not outcome.restarts:
                server.restart()
                outcome.restarts = 1
        results = [job.result(120).raw for job in jobs]
        outcome.seconds = time.monotonic() - started
        outcome.done = sum(result.startswith("third of ") for result in results)
        effects = workers.effects()
        outcome.repeated = [key for key, calls in effects.items() if not made_once(calls)]
        outcome.again = sum(map(len, effects.values())) - len(TASKS) * len(effects)
        outcome.robbed = sum(workers.output(n).count("shows no sign of life") for n in range(len(workers.running)))
        outcome.recoveries = _recoveries(workers, killed)
    return outcome


def _unfinished(workers: Workers, jobs: Sequence[Job]) -> bool:
    calls = workers.effects()
    return any(len(set(calls.get(job.thread_id, ()))) < len(TASKS) for job in jobs)


def _recoveries(workers: Workers, killed: Sequence[tuple[float, int]]) -> list[float]:
    reported, found = workers.reported(), list[float]()
    for at, pid in killed:
        for key in {effect.key for effect in reported if effect.at <= at and effect.pid == pid}:
            before = [effect for effect in reported if effect.key == key and effect.at <= at]
            after = [effect for effect in reported if effect.key == key and effect.at > at]
            if after and before[-1].pid == pid:
                found.append(after[0].at - at)
    return found


def throughput(server: Postgres, number: int, runs: int) -> float:
    """Return the runs a second that some workers carry, four at a time each."""
    with _served(server) as (queue, workers):
        for _ in range(number):
            workers.start()
        time.sleep(3)  # until all have begun to listen
        jobs = _enqueue(queue, runs)
        started = time.monotonic()
        for job in jobs:
            job.result(300)
        return runs / (time.monotonic() - started)


def main() -> None:
    """Run the whole trial and write its results."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--runs", type=int, default=1000)
    arguments.add_argument("--kills", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = arguments.parse_args()
    rates: dict[int, float] = {}
    for number in (1, 2, 4):
        with running_postgres() as server:
            rates[number] = throughput(server, number, runs=40 * number)
            print(f"{number} workers: {rates[number]:.2f} runs a second", flush=True)
    with running_postgres() as server:
        robbed = trial(server, runs=given.runs, number=4, kills=given.kills, restart=True, seed=given.seed)
        print(robbed, flush=True)
    with running_postgres() as server:
        killed = trial(
            server, runs=given.runs, number=4, kills=given.kills, restart=False, seed=given.seed, stalled_after=60.0
        )
        print(killed)
    RESULTS.write_text(_page(rates, robbed, killed, given.seed))


def _page(rates: dict[int, float], robbed: Outcome, killed: Outcome, seed: int) -> str:
    ideal = 4 / (len(TASKS) * 0.2)  # four runs at a time, three effects of 0.2 s each

    def row(name: str, of: Callable[[Outcome], object]) -> str:
        return f"| {name} | {of(robbed)} | {of(killed)} |"

    def recovery(outcome: Outcome) -> str:
        if not outcome.recoveries:
            return "none was in progress"
        return (
            f"{statistics.median(outcome.recoveries):.1f}, {max(outcome.recoveries):.1f} (of {len(outcome.recoveries)})"
        )

    lines = [
        "# Queue: throughput and a trial",
        "",
        "Written by `python -m queues.stress`, a part of `make kills`: `crewgraph worker` processes with four runs at a time",
        f"each, on a machine with {os.cpu_count()} cores, and a PostgreSQL server of their own. A run has three tasks, each with",
        "a tool that takes 0.2 s.",
        "",
        "| workers | runs per second | ideal | share of ideal |",
        "|---|---|---|---|",
        *(f"| {n} | {rate:.1f} | {n * ideal:.1f} | {rate / (n * ideal):.0%} |" for n, rate in rates.items()),
        "",
        f"The trial, with seed {seed}: four workers; each killed one is replaced.",
        "",
        "| | live workers lose jobs, too | only killed workers |",
        "|---|---|---|",
        row("time without heartbeat after which jobs are requeued", lambda one: "3 s" if one is robbed else "60 s"),
        row("runs", lambda one: one.runs),
        row("runs that ended with their result", lambda one: one.done),
        row("workers killed (SIGKILL)", lambda one: one.kills),
        row("jobs requeued from live workers", lambda one: one.robbed),
        row("restarts of PostgreSQL (immediate)", lambda one: one.restarts),
        row("**recorded effects that were repeated**", lambda one: f"**{len(one.repeated)}**"),
        row("effects performed again because their worker or the database was lost", lambda one: one.again),
        row("seconds from a kill until its runs continued elsewhere: median, maximum", recovery),
        row("total seconds", lambda one: f"{one.seconds:.0f}"),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
