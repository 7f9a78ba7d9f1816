"""How many of crewgraph's functions a run calls: counted by `calls.py` in a process of its own, free of other tests."""

import subprocess
import sys
from pathlib import Path


def test_a_run_calls_no_more_than_it_uses():
    counted = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", str(Path(__file__).with_name("calls.py"))],
        capture_output=True,
        text=True,
    )
    assert counted.returncode == 0, counted.stdout
    assert " passed" in counted.stdout or "100%" in counted.stdout
