"""Ends at random moments: `python -m kills.ends` causes thousands of them and writes ends.md.

They are ends of processes, of connections to PostgreSQL (`connections.py`), and of event loops (`losses.py`).

A run is started, ended, resumed and ended again, until a last process finishes it. Its effects are performed one after the
other, and each needs the record of the previous one: an effect that is repeated after a later one was therefore recorded.
"""

import argparse
import itertools
import json
import logging
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import processes
from servers.postgres import missing, prepared_postgres
from storage.checkpoints.test_saver_retention import FINISHED, OPEN, filled_with_runs

from kills.connections import LostConnections, run_lost_connections
from kills.crew_of_letters import EFFECTS
from kills.losses import Losses, run_losses
from kills.matrix import ROOT

__all__ = ["ENDS", "Ends", "run_ends"]

RESULTS = Path(__file__).parent / "ends.md"
ENDS = ("SIGKILL", "SIGTERM", "Ctrl-C", "time limit", "cancellation", "exit under a daemon thread", "two at once")
_DAY = 86_400.0  # seconds
_CLOCKS = (0.0, 0.0, 0.6, -0.6, 7_200.0, -7_200.0, 40 * _DAY, -40 * _DAY)
_RETENTION = 30  # days
_LONGEST = 0.25  # seconds until an end; a run takes about half of it
_MOST_ENDS = 6  # of one run
_SIGNALS = {
    "SIGKILL": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "Ctrl-C": signal.SIGINT,
    "time limit": signal.SIGUSR1,  # for which the program has a handler that raises
}


@dataclass
class Ends:
    """The results of some ends."""

    runs: int = 0
    ends: Counter[str] = field(default_factory=Counter[str])
    """Ends before the run was done, by kind."""

    again: int = 0
    """Effects that were performed again, each in progress at an end."""

    repeated: list[str] = field(default_factory=list[str])
    """Runs in which a recorded effect was repeated."""

    lost: list[str] = field(default_factory=list[str])
    """Runs in which an effect was never performed, or that did not end with their result."""

    ahead: int = 0
    """Processes whose clock was forty days ahead, and that opened a database with a retention of thirty."""

    expired: int = 0
    """Finished runs that retention removed."""

    removed: list[str] = field(default_factory=list[str])
    """Runs that were open or waited for a person, and that retention removed."""

    def add(self, other: "Ends") -> None:
        """Add the results of others."""
        self.runs, self.again = self.runs + other.runs, self.again + other.again
        self.ends.update(other.ends)
        self.repeated += other.repeated
        self.lost += other.lost
        self.ahead, self.expired = self.ahead + other.ahead, self.expired + other.expired
        self.removed += other.removed


class _Run:
    """One run, from its first process to its last.

    Other runs may share its database, from which each process removes what ended thirty days ago by its clock.
    """

    def __init__(self, where: str, folder: Path, seed: int, *, shares: bool) -> None:
        self.chance, self.name = random.Random(seed), uuid4().hex
        self.where, self.log = where or str(folder / f"{self.name}.db"), folder / f"{self.name}.log"
        self.retention = _RETENTION if shares else None
        self.seed, self.outcome = seed, Ends(runs=1)
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(ROOT / "compat")])
        self.environment = {**os.environ, "PYTHONPATH": path, "LANGSMITH_TRACING": "false"}

    def run(self) -> Ends:
        for _ in range(self.chance.randint(1, _MOST_ENDS)):
            if self._ended(self.chance.choice(ENDS)):
                break
        reported = self._process("none", 0.0).communicate(timeout=120)[0].strip().splitlines()
        effects = [line.rpartition(" ")[0] for line in self.log.read_text().splitlines()]
        collapsed = [name for name, _ in itertools.groupby(effects)]
        if reported[-1:] != ["third is stamped"] or set(effects) != set(EFFECTS):
            self.outcome.lost.append(f"seed {self.seed}: {reported[-1:]}")
        elif collapsed != EFFECTS and not self._was_expired(collapsed):
            self.outcome.repeated.append(f"seed {self.seed}: {collapsed}")
        self.outcome.again = len(effects) - len(collapsed)
        return self.outcome

    def _was_expired(self, effects: list[str]) -> bool:
        """Return whether the run had ended, though nobody had its result, and was removed before it was resumed."""
        times = len(effects) // len(EFFECTS)
        self.outcome.expired += times - 1
        return self.retention is not None and effects == EFFECTS * times

    def _ended(self, end: str) -> bool:
        """Let a process end in a way; return whether the run was done before."""
        seconds = self.chance.uniform(0.0, _LONGEST)
        if end == "two at once":
            both = [self._process(end, seconds), self._process(end, seconds)]
            reported = [one.communicate(timeout=120)[0].strip() for one in both]
            self.outcome.ends[end] += 1
            return "third is stamped" in reported
        process = self._process(end, seconds)
        if end in _SIGNALS:
            time.sleep(seconds)
            if process.poll() is None:
                process.send_signal(_SIGNALS[end])
        reported = process.communicate(timeout=120)[0].strip()
        is_done = reported.endswith("third is stamped")
        self.outcome.ends[end] += not is_done
        return is_done

    def _process(self, end: str, seconds: float) -> Any:
        # On an event loop, asyncio logs what a handler raises inside one of its callbacks, and drops the callback.
        clock = self.chance.choice(_CLOCKS)
        self.outcome.ahead += self.retention is not None and clock > _RETENTION * _DAY
        modes = {"cancellation": ["async"], "exit under a daemon thread": ["sync"], "time limit": ["sync"]}
        order = {
            "where": self.where,
            "thread": self.name,
            "log": str(self.log),
            "mode": self.chance.choice(modes.get(end, ["sync", "async"])),
            "end": end,
            "seconds": seconds,
            "clock": clock,
            "retention": self.retention,
        }
        command = [sys.executable, "-m", "kills.crew_of_letters", json.dumps(order)]
        return processes.Popen(command, env=self.environment, stdout=-1, stderr=-1, text=True)


def run_ends(where: str, number: int, seed: int, folder: Path) -> Ends:
    """Run processes until a number of ends was reached.

    Args:
        where: the address of a Postgres database; an empty text for SQLite files.
        number: how many ends.
        seed: seeds all that is drawn.
        folder: for the files.
    """
    outcome, seeds = Ends(), itertools.count(seed)
    for shares in itertools.cycle([not where, False]):
        if outcome.ends.total() >= number:
            return outcome
        shared = _database_of_runs(folder) if shares else None

        def run_once(seed: int, shared: str | None = shared) -> Ends:
            return _Run(shared or where, folder, seed, shares=shared is not None).run()

        with ThreadPoolExecutor(2) as pool:
            for one in pool.map(run_once, itertools.islice(seeds, 8)):
                outcome.add(one)
        if shared is not None:
            _count_the_removed(shared, outcome)
    raise AssertionError("unreachable")


def _database_of_runs(folder: Path) -> str:
    """Return a new database with finished runs, and others that are open or wait for a person."""
    original, copy = folder / "runs.db", folder / f"{uuid4().hex}.db"
    if not original.exists():
        filled_with_runs(original)
    shutil.copyfile(original, copy)
    return str(copy)


def _count_the_removed(database: str, outcome: Ends) -> None:
    with closing(sqlite3.connect(database)) as connection:
        left = {thread for (thread,) in connection.execute("SELECT thread FROM lineages")}
    outcome.removed += [f"{thread} in {database}" for thread in OPEN if thread not in left]
    outcome.expired += sum(thread not in left for thread in FINISHED)


def main() -> None:
    """Cause many ends on both databases, and write the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ends", type=int, default=2000, help="number of ends for each database")
    arguments.add_argument(
        "--runs", type=int, default=500, help="number of runs that lose connections, and that are lost"
    )
    arguments.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = arguments.parse_args()
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # it tells of each connection that was ended
    rows: list[tuple[str, Ends]] = []
    connections = None
    with tempfile.TemporaryDirectory(prefix="crewgraph-ends-") as folder, ExitStack() as stack:
        os.environ["CREWGRAPH_STORAGE_DIR"] = folder
        losses = run_losses(given.runs, given.seed)
        print(losses, flush=True)
        places = {"SQLite": ""}
        if missing() is None:
            places["Postgres"] = stack.enter_context(prepared_postgres()).dsn
            connections = run_lost_connections(places["Postgres"], given.runs, given.seed)
            print(connections, flush=True)
        for name, where in places.items():
            rows.append((name, run_ends(where, given.ends, given.seed, Path(folder))))
            print(name, rows[-1], flush=True)
    RESULTS.write_text(_page(rows, connections or LostConnections(), losses, given.seed))
    bad = [*(one.repeated + one.lost + one.removed for _, one in rows), losses.noticed]
    if connections is not None:
        bad += [connections.repeated, connections.lost]
    sys.exit(any(bad))


def _page(rows: list[tuple[str, Ends]], connections: LostConnections, losses: Losses, seed: int) -> str:
    lines = [
        "# Ends",
        "",
        "## Of processes",
        "",
        f"Written by `python -m kills.ends --seed {seed}`, a part of `make kills`: runs of three tasks with nine effects,",
        "ended at random moments and resumed in new processes, sync and async, with clocks that are up to forty days off.",
        "Half of the SQLite databases are shared by eight such runs and others that are open, wait for a person or have ended,",
        "and each process removes from them what ended thirty days ago by its clock.",
        "",
        "| | " + " | ".join(name for name, _ in rows) + " |",
        "|---|" + "---|" * len(rows),
    ]

    def row(name: str, values: list[object]) -> None:
        lines.append(f"| {name} | " + " | ".join(map(str, values)) + " |")

    row("runs", [one.runs for _, one in rows])
    for end in ENDS:
        row(end if end != "two at once" else "two processes that resume at once", [one.ends[end] for _, one in rows])
    row("ends in all", [one.ends.total() for _, one in rows])
    row("**recorded effects that were repeated**", [f"**{len(one.repeated)}**" for _, one in rows])
    row("**runs that lost an effect or their result**", [f"**{len(one.lost)}**" for _, one in rows])
    row("effects in progress at an end, performed again", [one.again for _, one in rows])
    row("processes with a retention whose clock was forty days ahead", [one.ahead for _, one in rows])
    row("runs removed that had ended", [one.expired for _, one in rows])
    row("**runs removed that were open or waited**", [f"**{len(one.removed)}**" for _, one in rows])
    lines += [
        "",
        "## Of connections",
        "",
        "PostgreSQL ends all connections of a run one to three times, also during a request to a model and a tool that works",
        "once. Each run has a pool, sync or async.",
        "",
        "| | |",
        "|---|---|",
    ]
    row("runs", [connections.runs])
    row("connections ended", [connections.ended])
    row("**runs that took a step twice**", [f"**{len(connections.repeated)}**"])
    row("**runs that did not end with their result**", [f"**{len(connections.lost)}**"])
    lines += [
        "",
        "## Of event loops",
        "",
        f"Runs of {len(losses.lost)} kinds are lost because their event loop is closed, and collected at a random moment of",
        "another run.",
        "",
        "| | |",
        "|---|---|",
    ]
    row("runs lost", [losses.lost.total()])
    row("**runs that noticed: other ids, events, context variables or complaints**", [f"**{len(losses.noticed)}**"])
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
