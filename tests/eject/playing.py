"""Plays a program on crewgraph, ejects what it kicks off, and plays that, each in a process against the same model."""

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

__all__ = ["ROOT", "Played", "Player", "Requests", "difference", "done", "players", "process"]

ROOT = Path(__file__).parent.parent.parent
_HERE = Path(__file__).parent


@dataclass
class Requests:
    """What a model was asked, in order."""

    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def tools(self) -> list[Any]:
        """The calls of tools that were answered, with their arguments, each once."""
        seen: dict[str, Any] = {}
        for body in self.bodies:
            for message in body["messages"]:
                calls: list[dict[str, Any]] = message.get("tool_calls") or []
                for call in calls:
                    seen[json.dumps([call["id"], call["function"]["arguments"]])] = call["function"]
        return [[one["name"], json.loads(one["arguments"])] for one in seen.values()]


@dataclass
class Played:
    """What a program gave on crewgraph, and what its ejected form gave."""

    reference: dict[str, Any]
    source: str = ""
    outcome: dict[str, Any] = field(default_factory=dict[str, Any])
    reference_requests: Requests = field(default_factory=Requests)
    requests: Requests = field(default_factory=Requests)
    said: str = ""


class Player:
    """Plays programs.

    Args:
        reference: the process that plays them on crewgraph, and ejects.
        outcome: the one that plays what was ejected; it has neither crewgraph nor crewai on its path.
    """

    def __init__(self, reference: "subprocess.Popen[str]", outcome: "subprocess.Popen[str]") -> None:
        self._reference, self._outcome = reference, outcome

    def play(self, program: Path, place: Path) -> Played:
        """A program on crewgraph, and its ejected form."""
        for name in ("work", "work2"):
            (place / name).mkdir(exist_ok=True)
        typed = literal(program, "typed")
        with OpenAIServer(_model(program)) as server:
            said = done(
                self._reference,
                place / "work",
                place / "said",
                _storage(place, server.url),
                [str(program), str(place)],
                typed,
            )
            asked = _of_conversations(server)
        told, source = place / "reference.json", place / "ejected.py"
        reference = json.loads(told.read_text("utf-8")) if told.exists() else {"refused": ["broken", said[-600:]]}
        found = Played(reference, reference_requests=asked, said=said)
        if not source.exists():
            return found
        found.source = source.read_text("utf-8")
        given = {"inputs": reference.get("inputs") or {}, "typed": (typed or "").splitlines()}
        (place / "given.json").write_text(json.dumps(given), "utf-8")
        with OpenAIServer(_model(program)) as server:
            files = [str(place / name) for name in ("ejected.py", "given.json", "outcome.json")]
            said = done(self._outcome, place / "work2", place / "said2", _storage(place, server.url), files)
            found.requests = _of_conversations(server)
        outcome = place / "outcome.json"
        found.outcome = json.loads(outcome.read_text("utf-8")) if outcome.exists() else {"failed": said[-600:]}
        found.said += said
        return found


def _of_conversations(server: OpenAIServer) -> Requests:
    """The requests for answers, not those for embeddings."""
    return Requests([body for body in server.bodies if "messages" in body])


@contextmanager
def players() -> Generator[Player]:
    """A player, with its processes."""
    with (
        process("reference") as reference,
        process("outcome", path="") as outcome,
    ):
        yield Player(reference, outcome)


def difference(found: Played) -> str:
    """What came otherwise of an ejected program than of what it was made of; empty where nothing did."""
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
        # Those whose results are answers are in no request.
        if used not in (_named(before["tools"]), _named(found.reference_requests.tools)):
            return f"tools: {before['tools']} / {found.requests.tools}"
    else:
        if state.get("result") != before["result"]:
            return f"result: {before['result']} / {state.get('result')}"
        held = {key: _unordered(value) for key, value in before["state"].items() if key in state and key != "id"}
        if (got := {key: _unordered(state[key]) for key in held}) != held:
            return f"state: {held} / {got}"
    # The client asks again by itself.
    if len(found.requests.bodies) not in (before["requests"], len(found.reference_requests.bodies)):
        return f"requests: {before['requests']} / {len(found.requests.bodies)}"
    return ""


def _named(calls: list[Any]) -> list[str]:
    """Calls of tools, each once, by names and arguments."""
    return sorted({f"{plain_name(name)} {json.dumps(args, sort_keys=True)}" for name, args in calls})


def _unordered(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType]


def _model(program: Path) -> ScriptedModel:
    return ScriptedModel(literal(program, "script") or {}, set(), literal(program, "remembered"))


def _environment(path: str) -> dict[str, str]:
    passed = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV") if name in os.environ}
    return {**passed, "PYTHONPATH": path, "LANGSMITH_TRACING": "false", "NO_PROXY": "*"}


@contextmanager
def process(kind: str, path: str = f"{ROOT}{os.pathsep}{ROOT / 'compat'}") -> Generator["subprocess.Popen[str]"]:
    """A process that does jobs of a kind.

    Args:
        kind: the module that does them.
        path: its PYTHONPATH.
    """
    started = subprocess.Popen(
        [sys.executable, str(_HERE / "warm.py"), kind],
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


def done(
    process: "subprocess.Popen[str]",
    place: Path,
    said: Path,
    environment: Mapping[str, str],
    arguments: Sequence[str],
    typed: str | None = None,
) -> str:
    """Have a job done; what it said.

    Args:
        process: what does it.
        place: where it is done.
        said: the file for what it says.
        environment: what it is told besides.
        arguments: what it is given.
        typed: what somebody types for it at a terminal; without it nobody is there.
    """
    job = {
        "place": str(place),
        "said": str(said),
        "environment": {**_environment(""), "HOME": str(said.parent), **environment},
        "arguments": list(arguments),
        "typed": typed,
    }
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{json.dumps(job)}\n")
    process.stdin.flush()
    ended = process.stdout.readline().strip()
    return f"{said.read_text('utf-8')}\n{ended}"


def _storage(place: Path, url: str) -> dict[str, str]:
    address = dict.fromkeys(("OPENAI_API_BASE", "OPENAI_BASE_URL"), url)
    return {"CREWGRAPH_STORAGE_DIR": str(place / "storage"), "OPENAI_API_KEY": "key", **address}
