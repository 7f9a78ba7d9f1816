"""Process ends at random moments: `python -m kills.ends` causes thousands of them and writes ends.md.

A run is started, ended, resumed and ended again, until a last process finishes it. Its effects are performed one after the
other, and each needs the record of the previous one: an effect that is repeated after a later one was therefore recorded.
"""

import argparse
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import processes
from servers.postgres import missing, prepared_postgres

from kills.crew_of_letters import EFFECTS
from kills.matrix import ROOT

__all__ = ["ENDS", "Ends", "run_ends"]

RESULTS = Path(__file__).parent / "ends.md"
ENDS = ("SIGKILL", "SIGTERM", "Ctrl-C", "time limit", "cancellation", "exit under a daemon thread", "two at once")
_CLOCKS = (0.0, 0.0, 0.6, -0.6, 7_200.0, -7_200.0, 86_400.0 * 40, -86_400.0 * 40)
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

    def add(self, other: "Ends") -> None:
        """Add the results of others."""
        self.runs, self.again = self.runs + other.runs, self.again + other.again
        self.ends.update(other.ends)
        self.repeated += other.repeated
        self.lost += other.lost


class _Run:
    """One run, from its first process to its last."""

    def __init__(self, where: str, folder: Path, seed: int) -> None:
        self.chance, self.name = random.Random(seed), uuid4().hex
        self.where, self.log = where or str(folder / f"{self.name}.db"), folder / f"{self.name}.log"
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
        elif collapsed != EFFECTS:
            self.outcome.repeated.append(f"seed {self.seed}: {collapsed}")
        self.outcome.again = len(effects) - len(collapsed)
        return self.outcome

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
        modes = {"cancellation": ["async"], "exit under a daemon thread": ["sync"], "time limit": ["sync"]}
        order = {
            "where": self.where,
            "thread": self.name,
            "log": str(self.log),
            "mode": self.chance.choice(modes.get(end, ["sync", "async"])),
            "end": end,
            "seconds": seconds,
            "clock": self.chance.choice(_CLOCKS),
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

    def run_once(seed: int) -> Ends:
        return _Run(where, folder, seed).run()

    while outcome.ends.total() < number:
        with ThreadPoolExecutor(2) as pool:
            for one in pool.map(run_once, itertools.islice(seeds, 8)):
                outcome.add(one)
    return outcome


def main() -> None:
    """Cause many ends on both databases, and write the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ends", type=int, default=2000, help="number of ends for each database")
    arguments.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = arguments.parse_args()
    rows: list[tuple[str, Ends]] = []
    with tempfile.TemporaryDirectory(prefix="crewgraph-ends-") as folder, ExitStack() as stack:
        places = {"SQLite": ""}
        if missing() is None:
            places["Postgres"] = stack.enter_context(prepared_postgres()).dsn
        for name, where in places.items():
            rows.append((name, run_ends(where, given.ends, given.seed, Path(folder))))
            print(name, rows[-1], flush=True)
    RESULTS.write_text(_page(rows, given.seed))
    sys.exit(any(one.repeated or one.lost for _, one in rows))


def _page(rows: list[tuple[str, Ends]], seed: int) -> str:
    lines = [
        "# Process ends",
        "",
        f"Written by `python -m kills.ends --seed {seed}`, a part of `make kills`: runs of three tasks with nine effects,",
        "ended at random moments and resumed in new processes, sync and async, with clocks that are up to forty days off.",
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
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
