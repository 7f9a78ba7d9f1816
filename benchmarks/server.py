"""The model server of the measurements over HTTP, as a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.peer_process import ROOT

__all__ = ["served"]


@contextmanager
def served() -> Iterator[str]:
    """The address of an OpenAI-compatible server on loopback that repeats what it is asked."""
    command = [sys.executable, "-m", "tests.servers.openai_api", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
