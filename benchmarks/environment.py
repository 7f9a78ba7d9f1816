"""The Python environments that peers run in."""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["CREWAI_115", "CREWAI_121", "OWN", "Environment"]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A virtual environment with a package, created on first use."""

    name: str
    package: str
    requirement: str | None = None
    """The requirement for pip; None for the environment of this process."""

    variable: str = ""
    """The environment variable that may name a Python with the requirement installed."""

    @cache  # noqa: B019 - there are three of them
    def python(self, folder: Path) -> str:
        """Return the path of its Python; the environment is created below the folder if it is missing.

        Raises:
            subprocess.CalledProcessError: the requirement cannot be installed.
        """
        if self.requirement is None:
            return sys.executable
        if given := os.environ.get(self.variable):
            return given
        home = folder / self.name.replace(" ", "-")
        python = str(home / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        if not (home / "installed").exists():
            print(f"installing {self.requirement} (set {self.variable} to a Python that has it, to save the time)")
            venv.create(home, with_pip=True, clear=True)
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, self.requirement], check=True)
            (home / "installed").touch()
        return python


OWN = Environment(name="langgraph", package="langgraph")
CREWAI_121 = Environment(
    name="crewai 1.2.1", package="crewai", requirement="crewai==1.2.1", variable="BENCH_CREWAI_121"
)
CREWAI_115 = Environment(
    name="crewai 1.15", package="crewai", requirement="crewai>=1.15,<1.16", variable="BENCH_CREWAI_115"
)
