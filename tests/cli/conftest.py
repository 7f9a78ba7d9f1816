import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
