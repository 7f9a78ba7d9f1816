"""`crewgraph serve`, and `crewgraph worker` behind it, as processes that tests kill and start again."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import processes
from servers.ports import reserve_port
from waiting import wait_until

__all__ = ["OfficeServer", "started"]

_TESTS = Path(__file__).parent.parent


class OfficeServer:
    """A server of the waiting crews, on a folder that outlives it."""

    def __init__(self, folder: Path, *options: str, queue: str | None = None) -> None:
        self._folder, self.queue = folder, queue
        self._options = options if queue is None else (*options, f"--queue={queue}")
        self.url = f"http://127.0.0.1:{reserve_port(self)}"
        self.process: subprocess.Popen[Any] | None = None
        self.workers: list[subprocess.Popen[Any]] = []

    @property
    def notes(self) -> list[str]:
        """The calls of tools, line by line."""
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
        """Release the tools that wait for a name."""
        (self._folder / f"go {name}").touch()

    def start(self) -> None:
        """Start it, and its worker where it has a queue, and wait until it answers."""
        if self.queue is not None and not self.workers:
            self.start_worker()
        port = self.url.rpartition(":")[2]
        self.process = self._begin("output", "serve", f"--port={port}", "--grace=3", *self._options)
        wait_until(lambda: self._is_up() or self._has_ended())
        assert not self._has_ended(), self.output

    def start_worker(self) -> None:
        """Start a worker of the queue."""
        self.workers.append(self._begin(f"worker-{len(self.workers)}", "worker", "--grace=1", f"--queue={self.queue}"))

    def kill_workers(self) -> None:
        """Kill the workers."""
        for one in self.workers:
            one.kill()
            one.wait(60)
        self.workers.clear()

    def _begin(self, output: str, command: str, *options: str) -> "subprocess.Popen[Any]":
        environment = {
            **os.environ,
            "OFFICE": str(self._folder),
            "CREWGRAPH_STORAGE_DIR": str(self._folder / "storage"),
            "PYTHONPATH": os.pathsep.join([str(_TESTS), str(_TESTS.parent), str(_TESTS.parent / "compat")]),
        }
        targets = [f"--target=served.waiting_crews:{name}" for name in ("two_bills", "steps", "poison", "leaving")]
        line = [sys.executable, "-m", "crewgraph", command, *targets, *options]
        with open(self._folder / output, "a") as written:
            return processes.Popen(line, cwd=self._folder, env=environment, stdout=written, stderr=written)

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
        return process.wait(60)


@contextmanager
def started(folder: Path, queue: str | None = None) -> Generator[OfficeServer]:
    """Run a server, with a worker where there is a queue."""
    made = OfficeServer(folder, queue=queue)
    try:
        made.start()
        yield made
    finally:
        made.end(signal.SIGKILL)
        made.kill_workers()
