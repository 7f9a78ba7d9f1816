"""`crewgraph serve` as a process that tests kill and start again."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import processes
from until import until

__all__ = ["OfficeServer"]

_TESTS = Path(__file__).parent.parent


class OfficeServer:
    """A server of the office's crews, on a folder that outlives it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder, self._options = folder, options
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{one.getsockname()[1]}"
        self.process: subprocess.Popen[Any] | None = None

    @property
    def notes(self) -> list[str]:
        """What tools have done, line by line."""
        log = self._folder / "notes"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def records(self) -> Path:
        """The file of its assistants, threads and runs."""
        return self._folder / "storage" / "served.db"

    @property
    def output(self) -> str:
        """What it printed."""
        return (self._folder / "output").read_text()

    def let(self, name: str) -> None:
        """Let the tools go on that wait for a name."""
        (self._folder / f"go {name}").touch()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = {
            **os.environ,
            "OFFICE": str(self._folder),
            "CREWGRAPH_STORAGE_DIR": str(self._folder / "storage"),
            "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent), str(_TESTS.parent / "compat")]),
        }
        targets = [f"--target=served.office:{name}" for name in ("two_bills", "steps")]
        port = self.url.rpartition(":")[2]
        command = [sys.executable, "-m", "crewgraph", "serve", *targets, f"--port={port}", "--grace=3", *self._options]
        with open(self._folder / "output", "a") as output:
            self.process = processes.Popen(command, cwd=self._folder, env=environment, stdout=output, stderr=output)
        until(lambda: self._is_up() or self._has_ended())
        assert not self._has_ended(), self.output

    def _has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ok", timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    def end(self, how: signal.Signals = signal.SIGTERM) -> int | None:
        """Send it a signal and return its exit code."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        if process.poll() is None:
            process.send_signal(how)
        return process.wait(30)
