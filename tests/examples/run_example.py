"""Runs examples as their READMEs say: each command in a copy of the folder, without an API key.

A block of kind `sh` followed by a block of kind `text` is run; its lines are commands of `python` or `crewgraph`.
Blocks of other kinds, and those without an output, are not.
"""

import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import processes
from docs.pages import ROOT, environment
from servers.openai_api import Answer, Request, calls, text

from crewgraph import ToolUse
from crewgraph.llm.scripted import Entry

__all__ = ["EXAMPLES", "NAMES", "copy_example", "run_command", "runnable_blocks", "stand_in"]

EXAMPLES = ROOT / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name not in ("data", "__pycache__"))
"""The examples: the folders of examples/, but for the data of demo.py."""

_PLAYED = re.compile(r"^```sh\n((?:(?!```).*\n)+)```\n\n```text\n((?:(?!```).*\n)+)```$", re.MULTILINE)


def copy_example(name: str, folder: Path) -> Path:
    """Copy an example to a folder outside of the repository."""
    left_out = shutil.ignore_patterns("__pycache__", "*.db*", "outbox")
    return Path(shutil.copytree(EXAMPLES / name, folder / name, ignore=left_out))


def run_command(
    folder: Path, *command: str, input: str | None = None, fails: int = 0, env: Mapping[str, str] | None = None
) -> str:
    """Run a command in a folder, and return what it prints.

    Args:
        folder: The working directory; its runs are stored in the folder `storage` next to it.
        command: `python` or `crewgraph`, and its arguments.
        input: What is typed; nothing without.
        fails: The exit code that is expected.
        env: Further variables of the environment.
    """
    start = {"python": [sys.executable], "crewgraph": [sys.executable, "-m", "crewgraph"]}[command[0]]
    done = processes.run(
        [*start, *command[1:]],
        cwd=folder,
        env=environment(folder.parent / "storage", **(env or {})),
        input=input,
        stdin=subprocess.DEVNULL if input is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=250,
    )
    assert done.returncode == fails, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout if fails == 0 else done.stderr


def runnable_blocks(readme: str) -> list[tuple[list[list[str]], str]]:
    """The commands of each block that is run, and what the README says that they print."""
    return [
        ([shlex.split(line.removesuffix("</dev/null"), comments=True) for line in commands.splitlines()], printed)
        for commands, printed in _PLAYED.findall(readme)
    ]


def stand_in(name: str) -> Callable[[Request], Answer]:
    """Return the stand-in model of an example as the model of an endpoint, for running it with a key."""
    reply = runpy.run_path(str(EXAMPLES / name / "stand_in.py"))["reply"]

    def answer(request: Request) -> Answer:
        entry: Entry = reply(request.body["messages"])
        if isinstance(entry, str):
            return text(entry)
        uses = [entry] if isinstance(entry, ToolUse) else cast("list[ToolUse]", entry)
        return calls(*((use.name, dict(use.args)) for use in uses))

    return answer
