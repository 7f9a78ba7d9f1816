"""Kills at every point, and what they cost: `make kills` runs all of them and writes `results.md`."""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import uuid4

import processes
from servers.postgres import missing, prepared_postgres

from kills.flow_program import VOYAGE
from kills.program import Case

__all__ = ["Kills", "Verdict", "ways"]

ROOT = Path(__file__).parent.parent.parent
TEXTS = json.dumps(["seen", "good", "end", "fine"])


@dataclass(frozen=True)
class Verdict:
    """The result of a kill and a resume."""

    case: Case
    killed: bool
    output: str
    lost: set[str]
    """The effects that never happened."""

    repeated: int
    """The number of effects that happened twice."""

    unrecorded: int
    """The number of effects that had happened but were not recorded at the kill; only these may be repeated."""

    @property
    def sound(self) -> bool:
        """Nothing recorded was repeated, nothing was lost."""
        return self.output == expected(self.case) and not self.lost and self.repeated <= self.unrecorded


class Kills:
    """Runs cases in separate processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._points: dict[Case, list[str]] = {}
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(ROOT / "compat")])
        own = {"PYTHONPATH": path, "CREWGRAPH_STORAGE_DIR": str(folder), "LANGSMITH_TRACING": "false"}
        self._environment = {**os.environ, **own}

    def fresh(self, way: Case) -> Case:
        """Return the case with its own thread, ledger and (on SQLite) database."""
        name = uuid4().hex
        where = way.where or str(self._folder / f"{name}.db")
        return replace(way, thread=name, ledger=str(self._folder / f"{name}.txt"), where=where)

    def run(self, case: Case) -> tuple[int, str]:
        """Run a case in a separate process; return its exit code (-9: killed) and output."""
        command = [sys.executable, "-m", "kills.program", json.dumps(asdict(case))]
        ran = processes.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=250)
        return ran.returncode, ran.stdout + ran.stderr

    def points(self, way: Case) -> list[str]:
        """Return every point that a run of this case passes, from an undisturbed run."""
        if way not in self._points:
            self._points[way] = self._find_points(way)
        return self._points[way]

    def _find_points(self, way: Case) -> list[str]:
        case = self.fresh(way)
        status, output = self.run(case)
        assert (status, output) == (0, expected(way)), output
        lines = Path(case.ledger).read_text().splitlines()
        return [f"{side} {line}" for line in dict.fromkeys(lines) for side in ("before", "after")]

    def verdict(self, way: Case, kill: str) -> Verdict:
        """Kill at a point, resume in a new process, and count."""
        case = replace(self.fresh(way), kill=kill)
        status, output = self.run(case)
        first = _lines(case)
        if status == -9:
            status, output = self.run(replace(case, kill=""))
        then = _lines(case)[len(first) :]
        happened = Counter(line for line in _lines(case) if line.startswith("E "))
        every = {line.split(" ", 1)[1] for line in self.points(way) if " E " in line}
        return Verdict(
            case=case,
            killed=len(first) < len(_lines(case)) or status == 0,
            output=output,
            lost=every - set(happened),
            repeated=sum(count - 1 for count in happened.values()),
            unrecorded=_unrecorded(case, first, then),
        )


def expected(case: Case) -> str:
    """Return the expected output of the program."""
    return VOYAGE if case.is_flow else TEXTS


def _unrecorded(case: Case, first: list[str], then: list[str]) -> int:
    """Return the number of effects that a resume may repeat."""
    done = [line for line in first if line.startswith("E ")]
    if not case.is_flow:
        return len(done) - sum(line.startswith("R ") for line in first)
    if case.durability == "async" and case.shape == "foreign":
        return len(done)  # LangGraph may not have stored any of the steps yet
    open_ones = {line.partition(" ")[2] for line in then if line.startswith("I ")}
    if not open_ones:  # nothing was stored yet, unless all is done
        return max(0, len(done) - sum(line.startswith("R ") for line in first))
    # A method in flight runs again as a whole; but of the crew inside of it only the request the process died in.
    crew = [line for line in done if "/" in line]
    methods = [line for line in done if "/" not in line and line[2:].partition("-")[0] in open_ones]
    return len(methods) + bool(crew and "sail" in open_ones)


def _lines(case: Case) -> list[str]:
    path = Path(case.ledger)
    return path.read_text().splitlines() if path.exists() else []


def ways(postgres: str | None) -> Iterator[Case]:
    """Return every case of the program."""
    savers = [("sqlite", "")] + ([("postgres", postgres)] if postgres else [])
    for saver, where in savers:
        for mode in ("sync", "async"):
            if saver == "postgres" and mode == "async":
                continue  # PostgresSaver has no async methods; asyncio has a separate class
            for granularity in ("task", "step", "method"):
                for shape, durability in (("root", "sync"), ("foreign", "sync"), ("foreign", "async")):
                    yield Case(mode, shape, granularity, durability, saver, where or "", "", "")


def main() -> None:
    """Kill at every point of every case, and write the table to `results.md`."""
    rows: list[str] = []
    unsound = 0
    with ExitStack() as stack:
        kills = Kills(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        reason = missing()
        dsn = None if reason else stack.enter_context(prepared_postgres()).dsn
        for way in ways(dsn):
            verdicts = [kills.verdict(way, point) for point in kills.points(way)]
            bad = [verdict for verdict in verdicts if not verdict.sound]
            unsound += len(bad)
            for verdict in bad:
                print(verdict)
            repeated, unrecorded = sum(v.repeated for v in verdicts), sum(v.unrecorded for v in verdicts)
            name = f"{way.saver} | {way.mode} | {way.shape} | {way.granularity} | {way.durability}"
            rows.append(f"| {name} | {len(verdicts)} | {len(bad)} | {repeated} | {unrecorded} |")
            print(rows[-1], flush=True)
    head = (
        "| saver | mode | shape | granularity | durability | kills | unsound | effects repeated "
        "| effects unrecorded when killed |"
    )
    rule = "|" + "---|" * head.count(" | ") + "---|"
    title = (
        "# Kills\n\nWritten by `make kills`: a process is killed with SIGKILL at every point, and the run resumed in a new "
        "one.\n\n"
    )
    text = f"{title}{head}\n{rule}\n"
    note = f"\nPostgreSQL was left out: {reason}.\n" if reason else ""
    name = "results_uninlined.md" if os.environ.get("KILLS_INLINE") == "0" else "results.md"
    (ROOT / "tests" / "kills" / name).write_text(text + "\n".join(rows) + "\n" + note, "utf-8")
    sys.exit(1 if unsound else 0)


if __name__ == "__main__":
    main()
