"""Runs a program of this folder in a separate process."""

import os
import sys
from pathlib import Path

import processes

from kills.matrix import ROOT

__all__ = ["points_of", "run_program"]


def run_program(program: str, folder: Path, kill: str = "") -> tuple[int, str]:
    """Start or resume it; return its exit code (-9: killed) and output."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), str(ROOT / "compat")])
    env = {**os.environ, "PYTHONPATH": path, "CREWGRAPH_STORAGE_DIR": str(folder)}
    command = [sys.executable, "-m", f"kills.{program}", str(folder), kill]
    ran = processes.run(command, env=env, capture_output=True, text=True, check=False, timeout=250)
    assert ran.returncode in (0, -9), ran.stderr
    return ran.returncode, ran.stdout


def points_of(lines: list[str]) -> list[str]:
    """Return the points at which a run with these lines may be killed."""
    return [f"{side} {line}" for line in dict.fromkeys(lines) for side in ("before", "after")]
