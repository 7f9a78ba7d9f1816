"""The servers under test, as processes: `crewgraph serve`, and LangGraph's own `langgraph dev`."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import processes
from servers.ports import reserved_port
from waiting import wait_until

__all__ = ["TARGETS", "Served", "environment", "langgraph_dev", "our_server", "our_server_with_workers", "worker"]

TESTS = Path(__file__).parent.parent
TARGETS = ("desk", "payer", "reviewed", "slow", "Letters")


class Served:
    """A server that runs."""

    def __init__(self, url: str, process: "subprocess.Popen[Any]", folder: Path) -> None:
        self.url, self.process, self.folder = url, process, folder

    @property
    def notes(self) -> list[str]:
        """The calls of tools."""
        log = self.folder / "notes"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text()


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a server that keeps everything in a folder."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent), str(TESTS.parent / "compat")])
    return {
        **os.environ,
        "SERVED_LOG": str(folder / "notes"),
        "CREWGRAPH_STORAGE_DIR": str(folder / "storage"),
        "PYTHONPATH": path,
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        **more,
    }


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ok", timeout=2).status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def _running(command: list[str], url: str, folder: Path, kind: Any, **more: str) -> Generator[Served]:
    with open(folder / "output", "a") as output:
        process = kind(command, cwd=folder, env=environment(folder, **more), stdout=output, stderr=output)
    served = Served(url, process, folder)
    try:
        wait_until(lambda: _is_up(url) or process.poll() is not None)
        assert process.poll() is None, served.output
        yield served
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(60)


@contextmanager
def our_server(folder: Path, *options: str, **more: str) -> Generator[Served]:
    """Run `crewgraph serve`."""
    targets = [f"--target=served.programs:{name}" for name in TARGETS]
    with reserved_port() as port:
        command = [sys.executable, "-m", "crewgraph", "serve", *targets, f"--port={port}", *options]
        with _running(command, f"http://127.0.0.1:{port}", folder, processes.Popen, **more) as served:
            yield served


@contextmanager
def our_server_with_workers(folder: Path, address: str) -> Generator[Served]:
    """Run `crewgraph serve --queue` and two workers."""
    with ExitStack() as stack:
        for number in range(2):
            stack.enter_context(worker(folder, address, number))
        yield stack.enter_context(our_server(folder, f"--queue={address}"))


@contextmanager
def worker(folder: Path, address: str, number: int) -> "Generator[subprocess.Popen[Any]]":
    """Run `crewgraph worker`."""
    targets = [f"--target=served.programs:{name}" for name in TARGETS]
    command = [sys.executable, "-m", "crewgraph", "worker", *targets, f"--queue={address}", "--grace=1"]
    with open(folder / f"worker-{number}", "a") as output:
        process = processes.Popen(command, cwd=folder, env=environment(folder), stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


@contextmanager
def langgraph_dev(folder: Path) -> Generator[Served]:
    """Run `langgraph dev`, with the same crews and flows."""
    made = "".join(f"{name} = made[{name!r}]\n" for name in TARGETS)
    (folder / "graphs.py").write_text(f"from served.programs import graphs\n\nmade = graphs()\n{made}")
    listed = {name: f"./graphs.py:{name}" for name in TARGETS}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": listed}))
    program = Path(sys.executable).parent / "langgraph"
    with reserved_port() as port:
        command = [str(program), "dev", f"--port={port}", "--no-browser", "--no-reload", "--n-jobs-per-worker=4"]
        with _running(command, f"http://127.0.0.1:{port}", folder, subprocess.Popen) as served:
            yield served
