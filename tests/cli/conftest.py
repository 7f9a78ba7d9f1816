import os
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import processes
import pytest

ROOT = Path(__file__).parents[2]

Python = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def python(tmp_path: Path) -> Python:
    """Run Python in the test's directory: `python("-m", "crewgraph", "run", "x.py", stdin="text")`.

    `fresh` starts a new interpreter instead of forking a process that has imported everything.
    """

    def run(
        *arguments: str, stdin: str = "", flags: tuple[str, ...] = (), fresh: bool = False, **env: str
    ) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(ROOT), str(ROOT / "compat"), *filter(None, [env.pop("PYTHONPATH", "")])])
        start = subprocess.run if fresh else processes.run
        return start(
            [sys.executable, *flags, *arguments],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **env},
            check=False,
            timeout=250,
        )

    return run


@contextmanager
def at_terminal(folder: Path, *arguments: str, shows: bool = False, **env: str) -> "Generator[tuple[Any, int]]":
    """Run a command of crewgraph whose input is a pseudo-terminal; yield its process and the other end of the terminal.

    With `shows`, the terminal takes its outputs, too.
    """
    terminal, child_end = os.openpty()
    path = os.pathsep.join([str(ROOT), str(ROOT / "compat")])
    output = child_end if shows else subprocess.PIPE
    try:
        with processes.Popen(
            [sys.executable, "-m", "crewgraph", *arguments],
            cwd=folder,
            stdin=child_end,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": path, **env},
        ) as process:
            os.close(child_end)
            yield process, terminal
    finally:
        os.close(terminal)
