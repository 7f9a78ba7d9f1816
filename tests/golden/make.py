"""Makes the databases in `data`: `python -m golden.make`, in the folder `tests`.

Each case runs in a process of its own, whose working directory and storage folder are new; some are killed. What they leave is
packed as text: SQLite files as SQL, all else as it is. Make a case anew only where its form is meant to change; what is there
has to stay readable.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from crewgraph.contrib.evaluation.experiment import ExperimentRunner
from crewgraph.definitions.agent.planning import PlanningConfig
from crewgraph.flow import Flow
from golden import program

__all__ = ["CASES", "DATA", "FOLDER", "pack"]

DATA = Path(__file__).parent / "data"
FOLDER = "@FOLDER@"
"""The placeholder for the folder that a case was created in."""

_PRAGMAS = ("application_id", "user_version", "auto_vacuum")
_SKIPPED = (".db-claims", ".db-wal", ".db-shm", ".lock", ".py", ".pyc", "ledger")


def _crew_at_task() -> None:
    program.desk().kickoff({"what": "tide"}, thread_id="golden")


def _crew_at_step() -> None:
    program.desk().kickoff({"what": "tide"}, thread_id="golden", granularity="step")


def _crew_upstream() -> None:
    with SqliteSaver.from_conn_string("upstream.db") as saver:
        program.desk().kickoff({"what": "tide"}, thread_id="golden", checkpointer=saver)


def _waiting_upstream() -> None:
    with SqliteSaver.from_conn_string("upstream.db") as saver:
        program.office().kickoff(thread_id="golden", checkpointer=saver)


def _waiting() -> None:
    program.office().kickoff(thread_id="approval")
    program.office().kickoff(thread_id="feedback")
    program.office().resume("feedback", {"args": {"to": "Anna", "euros": 90}})


def _finished() -> None:
    program.desk().kickoff({"what": "tide"}, thread_id="golden")


def _once() -> None:
    program.mailing().kickoff(thread_id="golden")


def _bank(*, native: bool) -> Callable[[], None]:
    def run() -> None:
        program.bank(native=native).kickoff(thread_id="golden")

    return run


def _bank_once() -> None:
    program.bank(native=True).kickoff(thread_id="golden")
    program.bank(native=True).resume("golden", True)


def _flow(kind: type["Flow[Any]"]) -> Callable[[], None]:
    return lambda: kind().kickoff(id="golden")


def _flow_states() -> None:
    program.Counter().kickoff(id="golden")


def _crew_plan() -> None:
    program.planned_by_the_crew().kickoff({"what": "tide"}, thread_id="golden")


def _agent_plan() -> None:
    program.planned_by_the_agent(reasoning=True).kickoff({"what": "tide"}, thread_id="golden")


def _agent_plan_in_steps() -> None:
    program.planned_by_the_agent(planning_config=PlanningConfig()).kickoff({"what": "tide"}, thread_id="golden")


def _delegation() -> None:
    program.delegating().kickoff(thread_id="golden")


def _snapshots_of_a_flow() -> None:
    program.Walk(checkpoint=program.snapshot_config("flow")).kickoff()


def _memories() -> None:
    program.remembering().kickoff()


def _memory() -> None:
    memory = program.recollections()
    memory.remember("The harbour master is called Ines.", scope="/people", categories=["harbour"], importance=0.9)
    memory.remember("The ferry leaves at nine.", scope="/times", metadata={"boat": "Molène"})


def _knowledge() -> None:
    program.hours().load()


def _training() -> None:
    program.careful().train(2, "lessons.json", feedback=program.feedback)


def _baseline() -> None:
    judge = program.ScoringModel(model="judge")
    case = {"identifier": "north", "inputs": {"what": "tide"}, "expected_score": 7}
    results = ExperimentRunner([case]).run(crew=program.desk(), llm=judge)
    results.compare_with_baseline(program.BASELINE)


CASES: dict[str, tuple[Callable[[], None], str | None]] = {
    "crew_at_task": (_crew_at_task, "model SECOND it is deep"),
    "crew_at_step": (_crew_at_step, "model SECOND it is deep"),
    "crew_upstream": (_crew_upstream, "model SECOND it is deep"),
    "waiting": (_waiting, None),
    "waiting_upstream": (_waiting_upstream, None),
    "finished": (_finished, None),
    "once": (_once, "tool send_mail ada@example.org"),
    "titled_native": (_bank(native=True), "model SEARCH done"),
    "titled_text": (_bank(native=False), "model SEARCH done"),
    "titled_waiting_native": (_bank(native=True), None),
    "titled_waiting_text": (_bank(native=False), None),
    "titled_once": (_bank_once, "tool Mail-Report ada@example.org"),
    "crew_plan": (_crew_plan, "model FIRST"),
    "agent_plan": (_agent_plan, "model works on"),
    "agent_plan_in_steps": (_agent_plan_in_steps, "model observes"),
    "delegation": (_delegation, "model leads on"),
    "delegation_done": (_delegation, "model SECOND it is deep"),
    "flow_in_a_crew": (_flow(program.Journey), "model SECOND it is deep"),
    "flow_between": (_flow(program.Journey), "arrive"),
    "flow_method": (_flow(program.Voyage), "land"),
    "flow_feedback": (_flow(program.Draft), None),
    "flow_question": (_flow(program.Inquiry), None),
    "flow_states": (_flow_states, None),
    "snapshots_flow": (_snapshots_of_a_flow, "home"),
    "memories": (_memories, None),
    "memory": (_memory, None),
    "knowledge": (_knowledge, None),
    "training": (_training, None),
    "training_killed": (_training, "model draws lessons"),
    "baseline": (_baseline, None),
}
"""What each case runs, and the line of the ledger that kills it."""


def pack(source: Path, target: Path) -> None:
    """Write the contents of a folder as text files for the repository."""
    for file in sorted(source.rglob("*")):
        if not file.is_file() or file.name.endswith(_SKIPPED):
            continue
        packed = target / file.relative_to(source)
        packed.parent.mkdir(parents=True, exist_ok=True)
        if file.read_bytes()[:15] != b"SQLite format 3":
            packed.write_bytes(file.read_bytes().replace(str(source).encode(), FOLDER.encode()))
            continue
        with closing(sqlite3.connect(file)) as database:
            pragmas = [f"PRAGMA {name} = {database.execute(f'PRAGMA {name}').fetchone()[0]};" for name in _PRAGMAS]
            lines = [*pragmas, *database.iterdump()]
        text = "\n".join(lines).replace(str(source), FOLDER)
        packed.with_name(f"{packed.name}.sql").write_text(f"{text}\n", encoding="utf-8")


def main(expected: list[str]) -> None:
    for name in expected or CASES:
        target = DATA / name
        if target.exists():
            print(f"{name}: is there; remove it first where it is to be made anew")
            continue
        killed_at = CASES[name][1]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "storage").mkdir()
            environment = {
                **os.environ,
                "CREWGRAPH_STORAGE_DIR": str(Path(folder, "storage")),
                "PYTHONPATH": os.pathsep.join(sys.path),
            }
            if killed_at is not None:
                environment["KILLED_AT"] = killed_at
            ended = subprocess.run(
                [sys.executable, "-m", "golden.make", "--run", name],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
            )
            if ended.returncode != (0 if killed_at is None else -signal.SIGKILL):
                raise SystemExit(f"{name}: ended with {ended.returncode}")
            lines = Path(folder, "ledger").read_text().splitlines() if Path(folder, "ledger").exists() else []
            pack(Path(folder), target)
            print(name, json.dumps(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        if sys.argv[2] in ("memories", "memory", "knowledge"):
            os.getcwd = lambda: program.PROJECT
        CASES[sys.argv[2]][0]()
    else:
        main(sys.argv[1:])
