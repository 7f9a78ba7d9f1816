"""Processes of `crewgraph worker`, and what their runs have done."""

import itertools
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import processes

from .sample_crew import TASKS, Effect, effects

__all__ = ["TESTS", "Workers", "made_once"]

TESTS = Path(__file__).parent.parent


class Workers:
    """Processes of `crewgraph worker`."""

    def __init__(self, database: str, folder: Path) -> None:
        self.log = folder / "effects"
        self._environment = {
            **os.environ,
            "CREWGRAPH_QUEUE": database,
            "OFFICE_LOG": str(self.log),
            "PYTHONPATH": str(TESTS),
        }
        self._folder, self.running = folder, list[subprocess.Popen[str]]()

    def start(
        self, *options: str, target: str = "queues.sample_crew:office", seconds: float = 0.2
    ) -> "subprocess.Popen[str]":
        """Start a worker, and wait until it has registered itself."""
        command = [sys.executable, "-m", "crewgraph", "worker", "--target", target, *options]
        environment = {**self._environment, "OFFICE_SECONDS": str(seconds)}
        with open(self._folder / f"worker-{len(self.running)}", "w") as errors:
            started = processes.Popen(command, cwd=self._folder, env=environment, stderr=errors, text=True)
        self.running.append(started)
        return started

    @contextmanager
    def held(self) -> Generator[None]:
        """Block all tool calls inside the block."""
        held = Path(f"{self.log}.held")
        held.touch()
        yield
        held.unlink()

    def output(self, number: int = 0) -> str:
        return (self._folder / f"worker-{number}").read_text()

    def reported(self) -> list[Effect]:
        """The calls of tools, in order."""
        return effects(self.log)

    def effects(self) -> dict[str, list[str]]:
        """The tasks of each thread, in the order of their calls."""
        found: dict[str, list[str]] = {}
        for effect in self.reported():
            found.setdefault(effect.key, []).append(effect.task)
        return found

    def pids(self, key: str) -> list[int]:
        """The processes that have called a tool for a thread, in order."""
        return [effect.pid for effect in self.reported() if effect.key == key]

    def end(self) -> None:
        for one in self.running:
            one.kill()
        for one in self.running:
            one.wait(60)


def made_once(calls: list[str], tasks: tuple[str, ...] = TASKS) -> bool:
    """Whether each effect was made once, but for those that were under way when their worker was lost."""
    return tuple(name for name, _ in itertools.groupby(calls)) == tasks
