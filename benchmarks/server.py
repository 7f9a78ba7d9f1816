"""The model server of the measurements over HTTP, in a separate process."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.peer_process import ROOT

__all__ = ["served"]


@contextmanager
def served() -> Iterator[str]:
    """Start an OpenAI-compatible server on loopback that echoes its requests; yield its address."""
    command = [sys.executable, "-m", "tests.servers.openai_api", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
