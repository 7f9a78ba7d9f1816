"""Processes of measured programs, each with its own environment."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "PeerRunner"]

ROOT = Path(__file__).parent.parent
"""The repository."""

_PATIENCE = 3600


@dataclass(frozen=True, kw_only=True)
class PeerRunner:
    """Runs programs in a folder, which is also their home directory, with the address of a model server."""

    folder: Path
    url: str

    def run(self, python: str, words: Sequence[str]) -> dict[str, Any]:
        """Run a program and return the JSON object that it prints last.

        Args:
            python: the interpreter.
            words: the command line; `{url}` stands for the server's address, empty words are left out.

        Raises:
            RuntimeError: the program failed.
        """
        for left in self.folder.glob("*.db*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        done = subprocess.run(
            [python, *(word.replace("{url}", self.url) for word in words if word)],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"`{' '.join(words)}` failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        # CrewAI prints more on its first run, even at exit.
        line = next(line for line in reversed(done.stdout.splitlines()) if line.startswith("{"))
        printed: dict[str, Any] = json.loads(line)
        return printed

    def _environment(self) -> dict[str, str]:
        # Without the caller's variables: tracing, unwritten bytecode and keys would distort the measurement.
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "CREWGRAPH_STORAGE_DIR": str(self.folder),
            "CREWAI_STORAGE_DIR": str(self.folder),
            "CREWAI_DISABLE_TELEMETRY": "true",
            "OTEL_SDK_DISABLED": "true",
            "ANONYMIZED_TELEMETRY": "false",
        }
