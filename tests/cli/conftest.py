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
    """Runs Python in the test's folder: `python("-m", "crewgraph", "run", "x.py", given="stdin")`.

    `anew`: not as a fork of a process that has imported everything.
    """

    def run(
        *arguments: str, given: str = "", flags: tuple[str, ...] = (), anew: bool = False, **env: str
    ) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(ROOT), str(ROOT / "compat"), *filter(None, [env.pop("PYTHONPATH", "")])])
        start = subprocess.run if anew else processes.run
        return start(
            [sys.executable, *flags, *arguments],
            cwd=tmp_path,
            input=given,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path, **env},
            check=False,
            timeout=250,
        )

    return run
