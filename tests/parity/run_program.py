"""Runs a program on an implementation, in a separate process, and returns its trace."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import processes
from servers.openai_api import OpenAIServer

from parity.model import ScriptedModel, literal, marks
from parity.trace import trace_of

__all__ = ["CREWGRAPH", "PROGRAMS", "Implementation", "programs", "source"]

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
ROOT = HERE.parent.parent
_PATIENCE = 150
"""Seconds after which a program counts as hanging."""

_GONE = "\x04"
"""End-of-file at a terminal; each read consumes one."""

_QUESTIONS = 20
"""The number of reads that get an end-of-file after the typed text."""

_PASSED = ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Implementation:
    """An implementation of `import crewai`."""

    name: str
    command: tuple[str, ...]
    path: str = ""
    """Its PYTHONPATH."""

    harness: Path = HERE / "harness.py"
    """The harness that runs a program under it."""

    asks_at_terminals: bool = False
    """Whether it asks people only at terminals. CrewAI reads what stdin holds, and asks more where that is a terminal."""


CREWGRAPH = Implementation(
    "crewgraph",
    (sys.executable, "-m", "crewgraph", "run"),
    os.pathsep.join([str(ROOT), str(ROOT / "compat")]),
    asks_at_terminals=True,
)


def programs() -> list[str]:
    """Return the names of all programs: files, and folders with a `main.py`."""
    files = [path.stem for path in PROGRAMS.glob("*.py")]
    return sorted([*files, *(path.parent.name for path in PROGRAMS.glob("*/main.py"))])


def source(name: str) -> Path:
    """Return the main file of a program."""
    single = PROGRAMS / f"{name}.py"
    return single if single.exists() else PROGRAMS / name / "main.py"


def trace_program(name: str, implementation: Implementation, program: Path | None = None) -> dict[str, Any]:
    """Return the trace of a program on an implementation; `program` overrides its file."""
    program = program or source(name)
    known = marks(program.read_text("utf-8"))
    model = ScriptedModel(literal(program, "script") or {}, known, literal(program, "remembered"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, OpenAIServer(model) as server:
        place = Path(folder)
        (place / "work").mkdir()
        command = [*implementation.command, str(implementation.harness), str(program), str(place / "trace.json")]
        with _standard_input(literal(program, "typed"), at_terminal=implementation.asks_at_terminals) as given:
            reported = _ran(command, place, _environment(place, server.url, implementation.path), given)
        trace = place / "trace.json"
        found = json.loads(trace.read_text("utf-8")) if trace.exists() else {"broken": reported}
        return trace_of(found, list(model.asked), program, parallel=bool(literal(program, "parallel")))


@contextmanager
def _standard_input(typed: str | None, *, at_terminal: bool) -> Generator[int]:
    """Open the standard input of a program: a terminal or a file with typed text, or an empty one."""
    if typed is None:
        yield subprocess.DEVNULL
    elif at_terminal:
        keys, terminal = os.openpty()
        try:
            os.write(keys, (typed + _GONE * _QUESTIONS).encode())
            yield terminal
        finally:
            os.close(terminal)
            os.close(keys)
    else:
        with tempfile.TemporaryFile() as file:
            file.write(typed.encode())
            file.seek(0)
            yield file.fileno()


def _ran(command: Sequence[str], place: Path, environment: dict[str, str], given: int) -> str:
    """Run a command with a standard input; return its output, or "hangs"."""
    with (place / "out").open("w+", encoding="utf-8") as out:
        process = processes.Popen(command, cwd=place / "work", env=environment, stdin=given, stdout=out, stderr=out)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return "hangs"
        out.seek(0)
        output = out.read()
    if os.environ.get("PARITY_SHOW"):
        sys.stderr.write(output)
    return "ended without a trace"


def _environment(place: Path, url: str, path: str) -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return {
        **passed,
        "PYTHONPATH": path,
        "HOME": str(place / "home"),
        "XDG_DATA_HOME": str(place / "data"),
        "CREWAI_STORAGE_DIR": str(place / "storage"),
        "CREWGRAPH_STORAGE_DIR": str(place / "storage"),
        "OPENAI_API_KEY": "key",
        "OPENAI_API_BASE": url,
        "OPENAI_BASE_URL": url,
        "CREWAI_DISABLE_TELEMETRY": "true",
        "CREWAI_DISABLE_TRACKING": "true",
        "CREWAI_DISABLE_VERSION_CHECK": "true",
        "OTEL_SDK_DISABLED": "true",
        "CREWAI_TRACING_ENABLED": "false",
        "LANGSMITH_TRACING": "false",
        "CI": "true",
        "NO_PROXY": "*",
    }
