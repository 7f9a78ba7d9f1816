"""Runs a program on crewgraph, ejects what it kicks off and runs that, each in a process against the same scripted model."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity.model import ScriptedModel, literal, plain_name
from servers.openai_api import OpenAIServer

__all__ = [
    "ROOT", "Comparison", "ComparisonRunner", "Requests", "comparison_runner", "difference", "job_process",
    "run_job",
]  # fmt: skip

ROOT = Path(__file__).parent.parent.parent
_HERE = Path(__file__).parent


@dataclass
class Requests:
    """The requests to a model, in order."""

    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def tools(self) -> list[Any]:
        """The completed tool calls with their arguments, without duplicates."""
        seen: dict[str, Any] = {}
        for body in self.bodies:
            for message in body["messages"]:
                calls: list[dict[str, Any]] = message.get("tool_calls") or []
                for call in calls:
                    seen[json.dumps([call["id"], call["function"]["arguments"]])] = call["function"]
        return [[one["name"], json.loads(one["arguments"])] for one in seen.values()]


@dataclass
class Comparison:
    """The results of a program on crewgraph and of its ejected form."""

    reference: dict[str, Any]
    source: str = ""
    outcome: dict[str, Any] = field(default_factory=dict[str, Any])
    reference_requests: Requests = field(default_factory=Requests)
    requests: Requests = field(default_factory=Requests)
    output: str = ""


class ComparisonRunner:
    """Runs programs and their ejected forms.

    Args:
        reference: the process that runs programs on crewgraph and ejects them.
        outcome: the process that runs ejected programs; it has neither crewgraph nor crewai on its path.
    """

    def __init__(self, reference: "subprocess.Popen[str]", outcome: "subprocess.Popen[str]") -> None:
        self._reference, self._outcome = reference, outcome

    def run(self, program: Path, place: Path) -> Comparison:
        """Run a program on crewgraph, then its ejected form."""
        for name in ("work", "work2"):
            (place / name).mkdir(exist_ok=True)
        typed = literal(program, "typed")
        with OpenAIServer(_model(program)) as server:
            output = run_job(
                self._reference,
                place / "work",
                place / "output",
                _storage(place, server.url),
                [str(program), str(place)],
                typed,
            )
            asked = _of_conversations(server)
        reported, source = place / "reference.json", place / "ejected.py"
        reference = (
            json.loads(reported.read_text("utf-8")) if reported.exists() else {"refused": ["broken", output[-600:]]}
        )
        found = Comparison(reference, reference_requests=asked, output=output)
        if not source.exists():
            return found
        found.source = source.read_text("utf-8")
        given = {"inputs": reference.get("inputs") or {}, "typed": (typed or "").splitlines()}
        (place / "given.json").write_text(json.dumps(given), "utf-8")
        with OpenAIServer(_model(program)) as server:
            files = [str(place / name) for name in ("ejected.py", "given.json", "outcome.json")]
            output = run_job(self._outcome, place / "work2", place / "output2", _storage(place, server.url), files)
            found.requests = _of_conversations(server)
        outcome = place / "outcome.json"
        found.outcome = json.loads(outcome.read_text("utf-8")) if outcome.exists() else {"failed": output[-600:]}
        found.output += output
        return found


def _of_conversations(server: OpenAIServer) -> Requests:
    """The requests for completions, without those for embeddings."""
    return Requests([body for body in server.bodies if "messages" in body])


@contextmanager
def comparison_runner() -> Generator[ComparisonRunner]:
    """Start a runner with its two processes."""
    with job_process("reference") as reference, job_process("outcome", path="") as outcome:
        yield ComparisonRunner(reference, outcome)


def difference(found: Comparison) -> str:
    """Describe how an ejected program differs from its original; empty if it does not."""
    before, after = found.reference, found.outcome
    if "refused" in before:
        return "\n".join(before["refused"])
    if "failed" in after or "failed" in before:
        return "" if "failed" in after and "failed" in before else f"{before.get('failed')} / {after.get('failed')}"
    if not before["done"]:
        return "" if after["waits"] else "it waits for somebody / it does not"
    state: dict[str, Any] = after["state"] or {}
    if before["kind"] == "crew":
        given = [
            text for key, text in state.items() if key not in (*before["inputs"], "result") and isinstance(text, str)
        ]
        if sorted(given) != sorted(text for text in before["tasks"] if text):
            return f"outputs: {before['tasks']} / {given}"
        used = _named(found.requests.tools)
        # A tool call whose result is the answer is in no request.
        if used not in (_named(before["tools"]), _named(found.reference_requests.tools)):
            return f"tools: {before['tools']} / {found.requests.tools}"
    else:
        if state.get("result") != before["result"]:
            return f"result: {before['result']} / {state.get('result')}"
        held = {key: _unordered(value) for key, value in before["state"].items() if key in state and key != "id"}
        if (got := {key: _unordered(state[key]) for key in held}) != held:
            return f"state: {held} / {got}"
    # The client retries by itself.
    if len(found.requests.bodies) not in (before["requests"], len(found.reference_requests.bodies)):
        return f"requests: {before['requests']} / {len(found.requests.bodies)}"
    return ""


def _named(calls: list[Any]) -> list[str]:
    """Tool calls by name and arguments, without duplicates."""
    return sorted({f"{plain_name(name)} {json.dumps(args, sort_keys=True)}" for name, args in calls})


def _unordered(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType]


def _model(program: Path) -> ScriptedModel:
    return ScriptedModel(literal(program, "script") or {}, set(), literal(program, "remembered"))


def _environment(path: str) -> dict[str, str]:
    passed = {
        name: os.environ[name]
        for name in ("PATH", "LANG", "LC_ALL", "SSL_CERT_FILE", "VIRTUAL_ENV")
        if name in os.environ
    }
    return {**passed, "PYTHONPATH": path, "LANGSMITH_TRACING": "false", "NO_PROXY": "*"}


@contextmanager
def job_process(kind: str, path: str = f"{ROOT}{os.pathsep}{ROOT / 'compat'}") -> Generator["subprocess.Popen[str]"]:
    """Start a process that runs jobs of one kind.

    Args:
        kind: the module that runs them.
        path: its PYTHONPATH.
    """
    started = subprocess.Popen(
        [sys.executable, str(_HERE / "fork_server.py"), kind],
        env=_environment(path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with started:
        try:
            yield started
        finally:
            started.kill()


def run_job(
    process: "subprocess.Popen[str]",
    place: Path,
    output: Path,
    environment: Mapping[str, str],
    arguments: Sequence[str],
    typed: str | None = None,
) -> str:
    """Run a job in the process and return its output.

    Args:
        process: where the job runs.
        place: its working directory.
        output: the file for its output.
        environment: further environment variables.
        arguments: its arguments.
        typed: what is typed at its terminal; None for no terminal.
    """
    job = {
        "place": str(place),
        "output": str(output),
        "environment": {**_environment(""), "HOME": str(output.parent), **environment},
        "arguments": list(arguments),
        "typed": typed,
    }
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{json.dumps(job)}\n")
    process.stdin.flush()
    ended = process.stdout.readline().strip()
    return f"{output.read_text('utf-8')}\n{ended}"


def _storage(place: Path, url: str) -> dict[str, str]:
    address = dict.fromkeys(("OPENAI_API_BASE", "OPENAI_BASE_URL"), url)
    return {"CREWGRAPH_STORAGE_DIR": str(place / "storage"), "OPENAI_API_KEY": "key", **address}
