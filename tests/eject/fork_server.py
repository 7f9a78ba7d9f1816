"""A process that imports what its jobs need once and runs each job in a fork: `python fork_server.py reference|outcome`.

A job is a line of JSON on stdin: its working directory, environment, output file and the arguments of its `main`. The process
answers with a line that says how the job ended. So the imports are paid for once.
"""

import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

_SECONDS = 60


def main() -> None:
    """Run jobs until stdin ends."""
    folder = Path(__file__).parent
    sys.path[:0] = [str(folder), str(folder.parent)]
    work, rehearsal = importlib.import_module(sys.argv[1]), importlib.import_module("processes.rehearsal")
    del sys.path[:2]
    _preload()
    rehearsal.rehearse_request()
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        job: dict[str, Any] = json.loads(line)
        child = os.fork()
        if child == 0:
            _do(work, job)
        sys.stdout.write(f"{_outcome_of(child)}\n")
        sys.stdout.flush()


def _preload() -> None:
    """Import what ejected programs import, and all of crewgraph where jobs have it on their path; its commands import lazily."""
    for name in ("langgraph.checkpoint.memory", "langgraph.graph"):
        importlib.import_module(name)
    for name in ("crewgraph", "crewgraph_compat"):
        if name in sys.modules:
            for module in pkgutil.walk_packages(sys.modules[name].__path__, f"{name}."):
                if ".templates" not in module.name and not module.name.endswith(("__main__", "pytest_plugin")):
                    importlib.import_module(module.name)


def _do(work: ModuleType, job: dict[str, Any]) -> None:
    """Run a job in this process, a fork, and exit."""
    status = 1
    try:
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for source, target in ((_standard_input(job["typed"]), 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.chdir(job["place"])
        os.environ.clear()
        os.environ.update(job["environment"])
        work.main(*map(Path, job["arguments"]))
        status = 0
    except BaseException:  # noqa: BLE001 - printed; the fork must not return into the loop of its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _standard_input(typed: str | None) -> int:
    """Open a standard input: a terminal with typed text and end-of-file, or /dev/null."""
    if typed is None:
        return os.open(os.devnull, os.O_RDONLY)
    keys, terminal = os.openpty()
    os.write(keys, (typed + "\x04" * 20).encode())
    return terminal


def _outcome_of(child: int) -> str:
    """Wait for a job and return how it ended."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "done" if status == 0 else "failed"
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


main()
