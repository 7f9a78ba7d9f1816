"""A process that has imported what its jobs need, and does each of them in a fork: `python warm.py reference|outcome`.

A line on stdin is a job: where it is done, its environment, the file for what it says, and the arguments of its `main`; the
line that answers says how it ended. So a program costs what it does itself, not what its imports cost.
"""

import contextlib
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

from langchain_openai import ChatOpenAI
from openai import APIConnectionError

_SECONDS = 60


def main() -> None:
    """Do jobs until there are no more."""
    sys.path.insert(0, str(Path(__file__).parent))
    work = importlib.import_module(sys.argv[1])
    sys.path.pop(0)
    _preload()
    _rehearse()
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        job: dict[str, Any] = json.loads(line)
        child = os.fork()
        if child == 0:
            _do(work, job)
        sys.stdout.write(f"{_end(child)}\n")
        sys.stdout.flush()


def _preload() -> None:
    """Load all of crewgraph where the jobs have it: its commands load what they need late."""
    for name in ("crewgraph", "crewgraph_compat"):
        if name in sys.modules:
            for module in pkgutil.walk_packages(sys.modules[name].__path__, f"{name}."):
                if ".templates" not in module.name and not module.name.endswith(("__main__", "pytest_plugin")):
                    importlib.import_module(module.name)


def _rehearse() -> None:
    """Load what is loaded with the first request only."""
    os.environ["OPENAI_API_KEY"] = "key"
    with contextlib.suppress(APIConnectionError):
        ChatOpenAI(model="none", base_url="http://127.0.0.1:9", max_retries=0).invoke("")


def _do(work: ModuleType, job: dict[str, Any]) -> None:
    """Do one, in a process of its own, which ends with it."""
    status = 1
    try:
        said = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for source, target in ((_somebody(job["typed"]), 0), (said, 1), (said, 2)):
            os.dup2(source, target)
        os.chdir(job["place"])
        os.environ.clear()
        os.environ.update(job["environment"])
        work.main(*map(Path, job["arguments"]))
        status = 0
    except BaseException:  # noqa: BLE001 - told, and the fork must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _somebody(typed: str | None) -> int:
    """A standard input: a terminal at which somebody types and goes; or nobody."""
    if typed is None:
        return os.open(os.devnull, os.O_RDONLY)
    keys, terminal = os.openpty()
    os.write(keys, (typed + "\x04" * 20).encode())
    return terminal


def _end(child: int) -> str:
    """How a job ended."""
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
