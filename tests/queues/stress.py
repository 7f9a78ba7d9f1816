"""A stress test of a queue: many runs, workers that are killed or lose their jobs at random, and a database that restarts.

Other trials stop workers, cancel jobs and raise what ends a program in the middle of effects, or replace all workers again and
again beside jobs that kill them.

`python -m queues.stress` runs the full test and writes its figures to results.md.
"""

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from servers.postgres import Postgres, running_postgres

from crewgraph import Crew
from crewgraph.contrib.queue import Job, Queue
from crewgraph.contrib.queue.queue import JobInfo

from .offices import EXITS, LONG, OFFICES, leaving, long_office
from .sample_crew import TASKS, office, poison
from .worker_processes import Workers, made_once

__all__ = ["Outcome", "Replacements", "Stops", "replacements", "stops", "throughput", "trial"]

RESULTS = Path(__file__).parent / "results.md"
_LONGEST = 300.0  # seconds that no trial needs
_SHORT_GRACE = 0.1  # seconds
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
    return office().enqueue_for_each([{"key": key} for key in keys], thread_ids=keys, queue=queue)


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


@dataclass
class Stops:
    """The result of a trial in which no worker dies, so that every effect is made exactly once."""

    runs: int
    stops: int = 0
    """Workers that got SIGTERM, with a grace far shorter than an effect; each was replaced."""

    cancels: int = 0
    """Jobs that were cancelled while they worked, and retried."""

    exits: int = 0
    """Runs whose tool raised what ends a program."""

    repeated: list[str] = field(default_factory=list[str])
    """Threads in which an effect was made twice."""

    lost: list[str] = field(default_factory=list[str])
    """Runs that did not end with their result and all effects."""

    wrong: list[str] = field(default_factory=list[str])
    """Runs whose tool raised what ends a program, and that did not fail with it; workers that ended otherwise than by SIGTERM."""

    seconds: float = 0.0


def stops(server: Postgres, *, runs: int, exits: int, number: int, seed: int, every: float = 1.0) -> Stops:
    """Stop workers and cancel jobs in the middle of effects, among runs that raise what ends a program.

    Args:
        server: The database.
        runs: How many runs there are of each kind of effect: sync and async tools, ordinary and `once`, and async requests.
        exits: How many runs raise each of the exceptions, half of them in async tools.
        number: How many workers.
        seed: Seeds what happens, and when.
        every: The mean number of seconds between two events.
    """
    outcome = Stops(runs * len(OFFICES), exits=exits * len(EXITS))
    orders: list[tuple[Crew, str, dict[str, str]]] = []
    for made in OFFICES:
        orders += [(made(), key, {"key": key}) for key in (f"{made.__name__}-{count}" for count in range(runs))]
    for how in EXITS:
        tools = [("leave", "aleave")[count % 2] for count in range(exits)]
        orders += [(leaving(), f"{how}-{count}", {"how": how, "by": by}) for count, by in enumerate(tools)]
    with _served(server) as (queue, workers):
        trial = _StopsTrial(queue, workers, orders, number, random.Random(seed))
        started = time.monotonic()
        while time.monotonic() - started < _LONGEST and not trial.has_ended():
            trial.happens()
            time.sleep(trial.chance.uniform(0.5, 1.5) * every)
        outcome.seconds = time.monotonic() - started
        outcome.stops, outcome.cancels = len(trial.stopped), trial.cancels
        outcome.wrong = trial.ended + [
            f"exit code {code} after SIGTERM" for one in trial.stopped if (code := one.wait(60))
        ]
        _judge_stops(outcome, trial.infos(), workers.effects())
    return outcome


class _StopsTrial:
    """The jobs and workers of a trial of stops."""

    def __init__(
        self,
        queue: Queue,
        workers: Workers,
        orders: list[tuple[Crew, str, dict[str, str]]],
        number: int,
        chance: random.Random,
    ) -> None:
        self.queue, self.workers, self.chance = queue, workers, chance
        self.chance.shuffle(orders)
        self.jobs = {key: crew.enqueue(inputs, thread_id=key, queue=queue, retries=0) for crew, key, inputs in orders}
        self.living = [self._start() for _ in range(number)]
        self.stopped: list[subprocess.Popen[str]] = []
        self.ended: list[str] = []
        """What workers said that ended by themselves."""

        self.cancels = 0
        self.cancelled: set[str] = set()
        """The threads whose jobs are to be retried once they have stopped."""

    def _start(self) -> "subprocess.Popen[str]":
        others = [f"--target={made.__module__}:{made.__name__}" for made in (*OFFICES[1:], leaving)]
        return self.workers.start(f"--grace={_SHORT_GRACE}", *others, seconds=0.5)

    def infos(self) -> dict[str, JobInfo]:
        return {info.thread_id: info for info in self.queue.jobs(limit=len(self.jobs))}

    def has_ended(self) -> bool:
        """Retry the cancelled jobs that have stopped; return whether all jobs have ended."""
        infos = self.infos()
        open_ones = {key for key, info in infos.items() if info.state in ("queued", "working")}
        has_ended = not open_ones | self.cancelled
        for key in self.cancelled - open_ones:
            if infos[key].state == "cancelled":
                self.jobs[key].retry()
        self.cancelled &= open_ones
        return has_ended

    def happens(self) -> None:
        """Stop a worker, or cancel a job that works."""
        place = self.chance.randrange(len(self.living))
        victim = self.living[place]
        if victim.poll() is not None:
            self.ended.append(f"a worker ended: {self.workers.output(self.workers.running.index(victim))[-500:]}")
            self.living[place] = self._start()
        elif self.chance.random() < 0.5:
            if any(effect.pid == victim.pid for effect in self.workers.reported()):  # else it may have no handler yet
                victim.send_signal(signal.SIGTERM)
                self.stopped.append(victim)
                self.living[place] = self._start()
        else:
            working = [
                key for key, info in self.infos().items() if info.state == "working" and key not in self.cancelled
            ]
            if working and self.jobs[key := self.chance.choice(working)].cancel():
                self.cancelled.add(key)
                self.cancels += 1


def _judge_stops(outcome: Stops, found: dict[str, JobInfo], effects: dict[str, list[str]]) -> None:
    for key, info in found.items():
        how, made = key.partition("-")[0], effects.get(key, [])
        if how not in EXITS:
            if info.state != "done" or set(made) != set(TASKS):
                outcome.lost.append(f"{key} is {info.state} after {made}: {info.error}")
            elif made != list(TASKS):
                outcome.repeated.append(f"{key}: {made}")
        elif info.state != "failed" or type(EXITS[how]).__name__ not in str(info.error):
            outcome.wrong.append(f"{key} is {info.state}: {info.error}")


@dataclass
class Replacements:
    """The result of a trial in which all workers are killed at once, again and again, beside jobs that kill them."""

    runs: int
    fleets: int = 1
    poisons: int = 0
    deaths: int = 0
    """Workers that a job has killed."""

    repeated: list[str] = field(default_factory=list[str])
    """Threads in which an effect was made again after a later one had begun, which needs its record."""

    lost: list[str] = field(default_factory=list[str])
    """Runs that did not end with their result."""

    wrong: list[str] = field(default_factory=list[str])
    """Jobs that kill their workers, and are no dead letters."""

    seconds: float = 0.0


def replacements(
    server: Postgres, *, runs: int, number: int, fleets: int, poisons: int, deaths: int, retries: int, seed: int
) -> Replacements:
    """Kill all workers as soon as every run has got further, again and again.

    Args:
        server: The database.
        runs: How many runs there are.
        number: How many workers there are at a time.
        fleets: How often they are replaced, unless all runs have ended before.
        poisons: How many jobs kill their workers.
        deaths: How many workers each of them kills.
        retries: How often a run may lose its worker without getting further.
        seed: Seeds when workers are killed.
    """
    chance, outcome = random.Random(seed), Replacements(runs, poisons=poisons)
    keys = [f"k{count}" for count in range(runs)]
    options = ("--target=queues.offices:long_office", "--target=queues.sample_crew:poison")
    with _served(server) as (queue, workers):

        def fleet() -> list["subprocess.Popen[str]"]:
            return [workers.start(*options) for _ in range(number)]

        def reached() -> dict[str, int]:
            return {key: len(set(calls)) for key, calls in workers.effects().items()}

        long_office().enqueue_for_each([{"key": key} for key in keys], thread_ids=keys, queue=queue, retries=retries)
        for count in range(poisons):
            poison().enqueue(thread_id=f"poison-{count}", queue=queue, retries=deaths - 1)
        started, before, living = time.monotonic(), dict[str, int](), fleet()
        while (open_ones := _open_threads(queue)) and time.monotonic() - started < _LONGEST:
            dead = [place for place, one in enumerate(living) if one.poll() is not None]
            for place in dead:
                living[place] = workers.start(*options)
            outcome.deaths += len(dead)
            now, left = reached(), open_ones & {*keys}
            if left and outcome.fleets <= fleets and all(now.get(key, 0) > before.get(key, 0) for key in left):
                time.sleep(chance.uniform(0.0, 1.0))
                outcome.deaths += sum(one.poll() is not None for one in living)
                for one in living:
                    one.kill()
                before, living = reached(), fleet()
                outcome.fleets += 1
            time.sleep(0.1)
        outcome.seconds = time.monotonic() - started
        _judge_replacements(outcome, queue.jobs(limit=1000), workers.effects())
    return outcome


def _open_threads(queue: Queue) -> set[str]:
    return {info.thread_id for info in queue.jobs(limit=1000) if info.state in ("queued", "working")}


def _judge_replacements(outcome: Replacements, found: Sequence[JobInfo], effects: dict[str, list[str]]) -> None:
    for info in found:
        told = f"{info.thread_id} is {info.state}: {info.error}"
        if info.thread_id.startswith("poison"):
            if info.state != "failed" or "died" not in str(info.error):
                outcome.wrong.append(told)
        elif info.state != "done":
            outcome.lost.append(told)
        elif not made_once(effects[info.thread_id], LONG):
            outcome.repeated.append(f"{info.thread_id}: {effects[info.thread_id]}")


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
        print(killed, flush=True)
    stopped, replaced = further_trials(given.seed)
    RESULTS.write_text(_page(rates, robbed, killed, given.seed) + _further_page(stopped, replaced))
    lost = (robbed, killed, stopped, replaced)
    sys.exit(any(one.repeated for one in lost) or any([stopped.lost, stopped.wrong, replaced.lost, replaced.wrong]))


def further_trials(seed: int) -> tuple[Stops, Replacements]:
    """Run the trials of stops and of replacements whole."""
    with running_postgres() as server:
        stopped = stops(server, runs=50, exits=16, number=4, seed=seed, every=0.5)
        print(stopped, flush=True)
    with running_postgres() as server:
        replaced = replacements(server, runs=12, number=2, fleets=20, poisons=2, deaths=2, retries=3, seed=seed)
        print(replaced, flush=True)
    return stopped, replaced


def _further_page(stopped: Stops, replaced: Replacements) -> str:
    def rows(*of: tuple[str, object]) -> list[str]:
        return [f"| {name} | {value} |" for name, value in of]

    lines = [
        "",
        "Stops: runs with sync and async tools, ordinary and `once`, and async requests, in the middle of which workers get",
        f"SIGTERM, with a grace of {_SHORT_GRACE} s, and jobs are cancelled and retried; beside them runs whose tool raises",
        "`SystemExit`, `KeyboardInterrupt` or `CancelledError`. No worker dies, so every effect is made exactly once.",
        "",
        "| | |",
        "|---|---|",
        *rows(
            ("runs", stopped.runs),
            ("workers stopped and replaced (SIGTERM)", stopped.stops),
            ("jobs cancelled and retried", stopped.cancels),
            ("runs that raised what ends a program", stopped.exits),
            ("**effects made twice**", f"**{len(stopped.repeated)}**"),
            ("**runs without their result or an effect**", f"**{len(stopped.lost)}**"),
            ("**wrong statuses, and workers that ended by themselves**", f"**{len(stopped.wrong)}**"),
            ("total seconds", f"{stopped.seconds:.0f}"),
        ),
        "",
        "Replacements: all workers are killed at once (SIGKILL) and replaced as soon as each run has got further, beside jobs",
        f"that kill them. A run has {len(LONG)} tasks, and may lose its worker three times in a row without getting further.",
        "",
        "| | |",
        "|---|---|",
        *rows(
            ("runs", replaced.runs),
            ("fleets of workers", replaced.fleets),
            ("jobs that kill their workers", replaced.poisons),
            ("workers that they killed", replaced.deaths),
            ("**recorded effects that were repeated**", f"**{len(replaced.repeated)}**"),
            ("**runs that did not end with their result**", f"**{len(replaced.lost)}**"),
            ("**jobs that kill their workers, and are no dead letters**", f"**{len(replaced.wrong)}**"),
            ("total seconds", f"{replaced.seconds:.0f}"),
        ),
        "",
    ]
    return "\n".join(lines)


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
