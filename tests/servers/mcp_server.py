"""A real MCP server, as a process of its own: `python mcp_server.py NOTES [streamable-http|sse PORT]`.

Each call of `note` is written to the file NOTES, with the number of the process.
"""

import base64
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["PICTURE", "PROGRAM", "RunningServer", "calls", "running", "until"]

PROGRAM = str(Path(__file__).resolve())
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()


class RunningServer:
    """A server that is reached over HTTP on loopback."""

    def __init__(self, notes: Path, transport: str) -> None:
        self.notes, self.transport = notes, transport
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}/{'sse' if transport == 'sse' else 'mcp'}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin to serve; it answers when this returns."""
        words = [sys.executable, PROGRAM, str(self.notes), self.transport, str(self.port)]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers)

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


def until(happens: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something that is about to happen."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def calls(notes: Path) -> list[str]:
    """What was noted: the process and the text, for each call."""
    return notes.read_text("utf-8").splitlines() if notes.exists() else []


def _serve(notes: Path, transport: str = "stdio", port: str = "0") -> None:
    from mcp.server.fastmcp import FastMCP
    from mcp.types import CallToolResult, ImageContent, TextContent
    from pydantic import BaseModel

    server: Any = FastMCP("harbour", host="127.0.0.1", port=int(port), log_level="ERROR")

    class Ship(BaseModel):
        name: str
        feet: int = 1

    def depth(place: str, unit: str = "m") -> str:
        """Look up how deep the sea is."""
        return f"12 {unit} at {place}"

    def note(text: str) -> str:
        """Write something down."""
        with notes.open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {text}\n")
        return f"noted {text}"

    def register(ship: Ship) -> Ship:
        """Register a ship."""
        return ship

    def picture() -> list[Any]:
        """Take a picture."""
        return [
            TextContent(type="text", text="the quay"),
            ImageContent(type="image", data=PICTURE, mimeType="image/png"),
        ]

    def sound() -> CallToolResult:
        """Record a sound."""
        from mcp.types import AudioContent

        return CallToolResult(content=[AudioContent(type="audio", data="AAAA", mimeType="audio/wav")])

    def fail() -> str:
        """Fail."""
        raise ValueError("the lock is stuck")

    def wait(seconds: float) -> str:
        """Take some time."""
        time.sleep(seconds)
        return "waited"

    def end() -> str:
        """End the server."""
        os._exit(3)

    for tool in (depth, note, register, picture, sound, fail, wait, end):
        server.tool(structured_output=False if tool is picture else None)(tool)
    server.run(transport=transport)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), *sys.argv[2:])
