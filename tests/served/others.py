"""Crews and flows on other people's servers: `make servers` starts each, tries what users do there, and prints a table.

Run as `python -m served.others [SERVER ...]`. The servers are installed in `build/servers`, or in `OTHER_SERVERS`. langhost
needs PostgreSQL and redis-server, Aegra PostgreSQL and Python 3.12; what is missing is said and left out.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_sync_client
from servers.ports import reserved_port
from servers.postgres import missing, running_postgres
from waiting import wait_until

from .http_servers import TARGETS, environment

__all__: list[str] = []

_ROOT = Path(__file__).parent.parent.parent
_PLACE = Path(os.environ.get("OTHER_SERVERS", _ROOT / "build" / "servers"))
_PACKAGES = {
    "langgraph dev": ["langgraph-cli[inmem]"],
    "langhost": ["langhost", "langgraph-runtime-pg"],
    "Aegra": ["aegra-cli", "aegra-api"],
}
_SECONDS = 60.0
_RECOVERY_SECONDS = 120.0
_HEARTBEAT = "10"  # seconds; langhost takes up a dead server's run after twice that, by default after 240 s


class _Server:
    """A server with its folder, started again after a kill."""

    def __init__(self, command: list[str], url: str, folder: Path, more: dict[str, str]) -> None:
        self._command, self.url, self.folder = command, url, folder
        self._environment = {**environment(folder, **more), "SERVED_SECONDS": "2"}
        self.process: subprocess.Popen[bytes]
        self.client: Any = get_sync_client(url=url)

    def start(self) -> None:
        with open(self.folder / "output", "a") as output:
            self.process = subprocess.Popen(
                self._command,
                cwd=self.folder,
                env=self._environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        wait_until(lambda: _is_up(self.url) or self.process.poll() is not None, seconds=_SECONDS)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    @property
    def notes(self) -> list[str]:
        log = self.folder / "notes"
        return log.read_text().splitlines() if log.exists() else []

    def begun(self, name: str) -> tuple[str, str]:
        """Start a run of the crew `slow`, and wait for its first effect."""
        thread = self.client.threads.create()["thread_id"]
        run = self.client.runs.create(thread, "slow", input={"name": name})["run_id"]
        wait_until(lambda: f"{name} first" in self.notes, seconds=_SECONDS)
        return thread, run

    def ended(self, thread: str, run: str, seconds: float = _SECONDS) -> str:
        """Wait for the end of a run, and return its status."""
        deadline = time.monotonic() + seconds
        while (status := self.client.runs.get(thread, run)["status"]) in ("pending", "running"):
            if time.monotonic() > deadline:
                return f"still {status} after {seconds:g} s"
            time.sleep(0.2)
        return status


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/ok", timeout=2).status_code == 200 or httpx.get(f"{url}/health", timeout=2).is_success
    except httpx.TransportError:
        return False


def _run(server: _Server) -> str:
    output = server.client.runs.wait(None, "desk", input={"topic": "rain"})
    return output["tell"]["raw"]


def _modes(server: _Server) -> str:
    seen: list[str] = []
    for mode in ("values", "updates", "messages-tuple", "custom", "tasks", "events", "debug", "tools"):
        thread, name = server.client.threads.create()["thread_id"], mode.partition("-")[0]
        try:
            parts = list(server.client.runs.stream(thread, "desk", input={"topic": "rain"}, stream_mode=mode))
        except httpx.HTTPError:
            continue
        seen += [mode] if any(part.event.startswith(name) for part in parts) else []
    return ", ".join(seen)


def _approval(server: _Server) -> str:
    thread = server.client.threads.create()["thread_id"]
    server.client.runs.wait(thread, "payer", input={"bill": "a1"})
    before = server.notes.count("paid a1")
    output = server.client.runs.wait(thread, "payer", command={"resume": True})
    return f"{output['pay']['raw']}; effects {before}, then {server.notes.count('paid a1')}"


def _rejoin(server: _Server) -> str:
    thread, run = server.begun("j1")
    parts = list(server.client.runs.join_stream(thread, run))
    return f"{len(parts) > 0 and 'streamed on' or 'no events'}, {server.ended(thread, run)}"


def _cancel(server: _Server) -> str:
    found: list[str] = []
    for number in range(3):
        thread, run = server.begun(f"c{number}")
        server.client.runs.cancel(thread, run)
        status = server.ended(thread, run)
        time.sleep(5)  # for what a lost cancel would go on to do
        found.append(f"{status}, second task {'begun' if f'c{number} second' in server.notes else 'not begun'}")
    return "; ".join(f"{found.count(one)} of 3: {one}" for one in dict.fromkeys(found))


def _two_runs(server: _Server) -> str:
    thread, first = server.begun("t1")
    second = server.client.runs.create(thread, "slow", input={"name": "t2"}, multitask_strategy="enqueue")["run_id"]
    statuses = [server.ended(thread, one) for one in (first, second)]
    return f"{', '.join(statuses)}; effects {', '.join(one for one in server.notes if one.startswith('t'))}"


def _killed(server: _Server) -> str:
    thread, run = server.begun("k1")
    wait_until(lambda: "k1 second" in server.notes, seconds=_SECONDS)
    server.kill()
    server.start()
    try:
        status = server.ended(thread, run, _RECOVERY_SECONDS)
    except httpx.HTTPStatusError as error:
        status = f"the run is gone ({error.response.status_code})"
    return f"{status}; effects {', '.join(one for one in server.notes if one.startswith('k'))}"


_TRIALS: dict[str, Callable[[_Server], str]] = {
    "run": _run, "stream modes": _modes, "approval, resume": _approval, "rejoin": _rejoin, "cancel": _cancel,
    "two runs of one thread": _two_runs, "`kill -9` in the second task, restart": _killed,
}  # fmt: skip


def _installed(name: str) -> Path:
    """Return the folder of programs of a server, which is installed if it is not there."""
    place = _PLACE / name.lower().replace(" ", "-")
    if not (place / "bin" / "python").exists():
        python = shutil.which("python3.12") if name == "Aegra" and sys.version_info < (3, 12) else sys.executable
        subprocess.run([str(python), "-m", "venv", str(place)], check=True)
        packages = [*_PACKAGES[name], "-e", f"{_ROOT}[postgres,middleware]"]
        subprocess.run([str(place / "bin" / "pip"), "install", "--quiet", *packages], check=True)
    return place / "bin"


def _why_not(name: str) -> str | None:
    if name == "langgraph dev":
        return None
    if reason := missing():
        return reason
    if name == "langhost" and shutil.which("redis-server") is None:
        return "redis-server is not installed"
    is_new = sys.version_info >= (3, 12)
    runs = (
        is_new
        or subprocess.run([shutil.which("python3.12") or "false", "-V"], capture_output=True, check=False).returncode
        == 0
    )
    return None if name == "langhost" or runs else "Python 3.12 is not installed"


@contextmanager
def _started(name: str) -> Generator[_Server]:
    programs = _installed(name)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = "".join(f"{one} = made[{one!r}]\n" for one in TARGETS)
        (folder / "graphs.py").write_text(f"from served.programs import graphs\n\nmade = graphs()\n{made}")
        config = {"dependencies": ["."], "graphs": {one: f"./graphs.py:{one}" for one in TARGETS}}
        for file in ("langgraph.json", "aegra.json"):
            (folder / file).write_text(json.dumps(config))
        port, more = stack.enter_context(reserved_port()), {"LANGSMITH_TRACING": "false"}
        command = [
            str(programs / "langgraph"), "dev", f"--port={port}", "--no-browser", "--no-reload",
            "--n-jobs-per-worker=4",
        ]  # fmt: skip
        if name != "langgraph dev":
            database = stack.enter_context(
                stack.enter_context(running_postgres(stack.enter_context(reserved_port()))).database()
            )
            fields = dict(field.split("=") for field in database.split())
            address = f"{fields['host']}:{fields['port']}/{fields['dbname']}"
            more |= {
                "DATABASE_URI": f"postgres://postgres@{address}",
                "DATABASE_URL": f"postgresql://postgres@{address}",
            }
            command = [str(programs / "aegra"), "serve", "--host=127.0.0.1", f"--port={port}"]
        if name == "langhost":
            redis = stack.enter_context(reserved_port())
            answering = subprocess.Popen(
                ["redis-server", "--port", str(redis), "--save", ""], stdout=subprocess.DEVNULL
            )
            stack.callback(answering.kill)
            command = [str(programs / "langhost"), "serve", f"--port={port}", "--no-browser", "--n-jobs-per-worker=4"]
            more |= {"REDIS_URI": f"redis://127.0.0.1:{redis}/0", "LG_BG_JOB_HEARTBEAT": _HEARTBEAT}
        server = _Server(command, f"http://127.0.0.1:{port}", folder, more)
        server.start()
        stack.callback(server.kill)
        yield server


def main(names: list[str]) -> None:
    table: dict[str, dict[str, str]] = {}
    for name in names or list(_PACKAGES):
        if reason := _why_not(name):
            print(f"{name} is left out: {reason}")
            continue
        with _started(name) as server:
            if server.process.poll() is not None:
                print(f"{name} did not start:\n{(server.folder / 'output').read_text()[-3000:]}")
                continue
            found = table[name] = {}
            for trial, carry_out in _TRIALS.items():
                try:
                    found[trial] = carry_out(server)
                except (httpx.HTTPError, AssertionError, KeyError, TypeError) as error:  # belongs in the table
                    found[trial] = f"{type(error).__name__}: {error}"[:200].replace("\n", " ")
                print(f"{name}: {trial}: {found[trial]}", flush=True)
            if kept := os.environ.get("OTHER_OUTPUT"):
                shutil.copy(server.folder / "output", kept)
    print(f"\n| | {' | '.join(table)} |\n|---|{'---|' * len(table)}")
    for trial in _TRIALS:
        print(f"| {trial} | {' | '.join(found[trial] for found in table.values())} |")


if __name__ == "__main__":
    main(sys.argv[1:])
