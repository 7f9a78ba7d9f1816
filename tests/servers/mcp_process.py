"""Real MCP servers as processes, reached over HTTP on loopback, and their notes."""

import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import processes
from waiting import wait_until

from .mcp_server import PROGRAM
from .ports import reserve_port

__all__ = ["RunningServer", "calls", "over_stdio", "running"]


def over_stdio(notes: Path) -> dict[str, Any]:
    """Return the command of a stdio server, and its arguments."""
    command, *args = processes.command(PROGRAM, str(notes))
    return {"command": command, "args": args}


class RunningServer:
    """A server that is reached over HTTP on loopback."""

    def __init__(self, notes: Path, transport: str) -> None:
        self.notes, self.transport = notes, transport
        self.port = reserve_port(self)
        self.url = f"http://127.0.0.1:{self.port}/{'sse' if transport == 'sse' else 'mcp'}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start to serve; return when it answers."""
        words = [sys.executable, PROGRAM, str(self.notes), self.transport, str(self.port)]
        self.process = processes.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers)

    def kill(self) -> None:
        """End at once, as by a crash."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _answers(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def running(notes: Path, transport: str = "streamable-http") -> Generator[RunningServer]:
    """A server for a test."""
    server = RunningServer(notes, transport)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def calls(notes: Path) -> list[str]:
    """Return the notes: process and text of each call."""
    return notes.read_text("utf-8").splitlines() if notes.exists() else []
