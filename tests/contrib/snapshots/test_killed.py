"""A process continues the run of a killed one."""

import os
import subprocess
import sys
from pathlib import Path

import processes
import pytest

TESTS = Path(__file__).parents[2]
LEDGERS = {
    "crew": ["model first", "model second", "tool sea", "model second looked", "model second looked"],
    "agent": ["model second", "tool sea", "model second looked", "model second looked"],
    "flow": ["up", "down", "home", "home"],
}


def run_program(what: str, method_name: str, place: Path, mode: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PLACE": str(place),
        "CREWGRAPH_STORAGE_DIR": str(place / "elsewhere"),
        "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]),
        **({"ASYNC": "1"} if mode == "async" else {}),
        **more,
    }
    command = [sys.executable, "-m", "contrib.snapshots.killed", what, method_name]
    return processes.run(command, env=environment, capture_output=True, text=True, timeout=250)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("what", ["crew", "agent", "flow"])
def test_what_a_killed_process_had_done_is_not_done_again(what: str, mode: str, tmp_path: Path):
    killed = run_program(what, "run", tmp_path, mode, KILLED="1")
    assert killed.returncode == -9, killed.stderr
    seed = {"PYTHONHASHSEED": "random"} if mode == "sync" else {}  # nothing hangs on the order of a set
    done = run_program(what, "restore", tmp_path, mode, **seed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ("3" if what == "flow" else "high")
    assert (tmp_path / "ledger").read_text().splitlines() == LEDGERS[what]
