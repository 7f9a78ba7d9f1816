"""The examples that need nothing run as they stand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("led_by_a_manager", ["result: The mayor is told.", "posted: ['Dear mayor, 7,312.']", "Clerk: 1 requests"]),
        ("nest_in_langgraph", []),
        ("port_a_crew", []),
        ("resume_after_kill", ["asked:  0 requests to the researcher's model, 1 to the writer's"]),
        ("triage_a_ticket", []),
    ],
)
def test_an_example_runs_as_it_stands(name: str, said: list[str], tmp_path: Path):
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py")],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert [line for line in said if line not in done.stdout.splitlines()] == []
    assert done.stdout
