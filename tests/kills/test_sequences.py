"""Any sequence of runs, resumes, answers, forks, deaths, cancellations and clocks against a small model of what may happen.

A record is never lost and its effect never repeated; an effect may be repeated once for each death between it and its record. The
`once` tool never works twice. Nothing is paid that was not approved. What a thread gives is the output of its last run.
"""

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import processes
import pytest
from combinations import of
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kills.matrix import ROOT

_KILLS = st.sampled_from(
    ["", "", ""]
    + [
        f"{side} E {name} {{number}}"
        for side in ("before", "after")
        for name in ("pay", "note", "model pay 1", "model note 0")
    ]
    + [f"{side} {kind} {number}" for side in ("before", "after") for kind in "RC" for number in (1, 2, 3, 4)]
)
_CLOCKS = st.sampled_from([0.0, 0.0, 0.6, -0.6, 7_200.0, -7_200.0, 86_400.0 * 40, -86_400.0 * 40])
_SECONDS = st.sampled_from([None, None, None, 30.0, 0.05, 0.02])


class Office(RuleBasedStateMachine):
    """Threads of one office, and what may have become of them.

    What comes of an order may depend on the moment, so the rule is always the same, and the choice is made from what applies.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="office"))
        self.number = 0
        self.deaths: Counter[int] = Counter()
        self.approved: set[int] = set()
        self.forks: Counter[int] = Counter()
        self.output: str | None = None
        self.status = "none"

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize()
    def begins(self) -> None:
        self.kicks_off(kill="", clock=0.0, seconds=None)

    @rule(choice=st.integers(0, 59), kill=_KILLS, clock=_CLOCKS, seconds=_SECONDS)
    def next_order(self, choice: int, kill: str, clock: float, seconds: float | None) -> None:
        """Do one of the things that apply to the last run."""
        drawn = (kill, clock, seconds)
        begin, resume = partial(self.kicks_off, *drawn), partial(self.resumes, *drawn)
        approve, reject = partial(self.approves, *drawn), partial(self.rejects, kill, clock)
        actions: dict[str, list[Callable[[], None]]] = {
            "open": [resume, resume, partial(self.two_resume_at_once, clock, "resume"), begin],
            "waiting": [approve, approve, reject, resume, partial(self.two_resume_at_once, clock, "approve"), begin],
            "done": [begin, resume, partial(self.is_forked, clock), partial(self.two_resume_at_once, clock, "resume")],
            "unknown": [resume, begin],
        }
        applying = actions.get(self.status, [begin])
        applying[choice % len(applying)]()

    def order(self, method_name: str, kill: str, clock: float, seconds: float | None) -> list[str]:
        order = {
            "method": method_name, "number": self.number, "kill": kill.format(number=self.number), "clock": clock,
            "seconds": seconds, "ledger": str(self.folder / "ledger"), "database": str(self.folder / "runs.db"),
        }  # fmt: skip
        return [sys.executable, "-m", "kills.crew_with_approval", json.dumps(order)]

    def env(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(ROOT / "compat")])}

    def run(self, method_name: str, kill: str, clock: float, seconds: float | None) -> str:
        command = self.order(method_name, kill, clock, seconds)
        ran = processes.run(command, env=self.env(), capture_output=True, text=True, check=False, timeout=250)
        assert ran.returncode in (0, -9), ran.stderr
        result = "killed" if ran.returncode else ran.stdout.strip()
        if result in ("killed", "cancelled"):
            self.deaths[self.number] += 1
        return result

    def expect(self, result: str, method_name: str) -> None:
        """Check what came of an order for the last run, and note what is known of it now."""
        assert not result.startswith("failed"), result
        if result in ("killed", "cancelled"):
            self.status = "open"
        elif result == "waits":
            assert self.number not in self.approved or self.deaths[self.number] or method_name == "kickoff", method_name
            self.status = "waiting"
        elif result.startswith("done: "):
            assert result == f"done: note {self.number}"
            self.status = "done"
        elif result == "unknown":
            assert self.deaths[self.number]
            self.status = "unknown"
        else:
            assert result.startswith("refused: ")
            assert method_name in ("approve", "reject", "resume"), result

    def kicks_off(self, kill: str, clock: float, seconds: float | None) -> None:
        self.number += 1
        result = self.run("kickoff", kill, clock, seconds)
        assert result in ("waits", "killed", "cancelled"), result
        self.expect(result, "kickoff")
        stored = (self.folder / "runs.db").exists() and "C" in self.ledger_kinds()
        if result != "waits" and not self.has_started():
            # It died before anything of it was stored: the thread has what it had.
            self.status = "lost" if stored else "none"

    def ledger_kinds(self) -> set[str]:
        path = self.folder / "ledger"
        return {line[:1] for line in path.read_text().splitlines()} if path.exists() else set()

    def has_started(self) -> bool:
        return any(line.endswith(f" {self.number}") for line in self.lines())

    def lines(self) -> list[str]:
        path = self.folder / "ledger"
        return [line for line in path.read_text().splitlines() if line.startswith("E")] if path.exists() else []

    def resumes(self, kill: str, clock: float, seconds: float | None) -> None:
        before = self.status
        result = self.run("resume", kill, clock, seconds)
        if before == "done" and result not in ("killed", "cancelled"):
            assert result == f"done: note {self.number}"
        if before == "waiting" and result not in ("killed", "cancelled"):
            assert result == "waits"
        if before == "done":
            return
        self.expect(result, "resume")

    def approves(self, kill: str, clock: float, seconds: float | None) -> None:
        self.approved.add(self.number)
        self.expect(self.run("approve", kill, clock, seconds), "approve")

    def rejects(self, kill: str, clock: float) -> None:
        self.expect(self.run("reject", kill, clock, None), "reject")

    def two_resume_at_once(self, clock: float, method_name: str) -> None:
        if method_name == "approve":
            self.approved.add(self.number)
        started = [
            processes.Popen(self.order(method_name, "", offset, None), env=self.env(), stdout=-1, stderr=-1, text=True)
            for offset in (clock, 0.0)
        ]
        ended = [process.communicate(timeout=250) for process in started]
        assert all(process.returncode == 0 for process in started), ended
        results = [printed.strip() for printed, _ in ended]
        reported = [result for result in results if result != "busy" and not result.startswith("refused")]
        assert reported or self.status != "waiting", results
        for result in reported[-1:]:
            if self.status != "done":
                self.expect(result, method_name)

    def is_forked(self, clock: float) -> None:
        self.forks[self.number] += 1
        assert self.run("fork", "", clock, None) == f"done: note {self.number}"

    @invariant()
    def nothing_is_repeated_that_was_recorded(self) -> None:
        times = Counter(line.removeprefix("E ") for line in self.lines())
        for effect, count in times.items():
            name, number = effect.split()[0], int(effect.split()[-1])
            again = self.forks[number] if "note" in effect else 0
            if name == "note":
                assert count <= 1 + again, (effect, count)
            else:
                assert count <= 1 + self.deaths[number] + again, (effect, count, self.deaths)
            if name == "pay":
                assert number in self.approved, effect


TestOffice: Any = pytest.mark.timeout(of(300, 3_600))(Office.TestCase)  # a process for each step
TestOffice.settings = settings(max_examples=of(5, 50), stateful_step_count=of(8, 20), deadline=None)
