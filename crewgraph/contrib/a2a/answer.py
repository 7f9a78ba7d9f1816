"""What a remote agent has said so far, put together from what its server sends."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

__all__ = ["SETTLED", "Heard", "RemoteAnswer", "message_text"]

SETTLED = frozenset({"auth-required", "canceled", "completed", "failed", "input-required", "rejected"})
"""States in which a remote agent does nothing more by itself."""


class RemoteAnswer(TypedDict):
    """How a message to a remote agent was answered, as plain data."""

    state: str
    """How its task stands, in the protocol's words; "lost" where there is none."""

    text: str
    """What it said or made; what went wrong where it is lost."""

    context_id: str | None
    """The conversation."""

    task_id: str | None
    """Its task."""

    message_id: NotRequired[str]
    """The message that this is the answer to."""


class Heard:
    """What was heard of one task."""

    def __init__(self) -> None:
        self.state = "working"
        self.context_id: str | None = None
        self.task_id: str | None = None
        self._artifacts: dict[str, list[Mapping[str, Any]]] = {}
        self._said: list[Mapping[str, Any]] = []
        self._status: list[Mapping[str, Any]] = []

    def take(self, result: Mapping[str, Any]) -> None:
        """One result of a request: a message, a task, or news of one."""
        kind = result.get("kind") or ("task" if "status" in result else "message")
        self.context_id = result.get("contextId") or self.context_id
        if kind == "message":
            self.task_id = result.get("taskId") or self.task_id
            self.state, self._said = "completed", _parts(result)
            return
        self.task_id = result.get("id" if kind == "task" else "taskId") or self.task_id
        if kind == "artifact-update":
            self._add(cast("Mapping[str, Any]", result.get("artifact") or {}), bool(result.get("append")))
            return
        status = cast("Mapping[str, Any]", result.get("status") or {})
        self.state = str(status.get("state") or self.state)
        self._status = _parts(status.get("message"))
        for artifact in cast("Sequence[Mapping[str, Any]]", result.get("artifacts") or ()):
            self._add(artifact, append=False)
        history = cast("Sequence[Mapping[str, Any]]", result.get("history") or ())
        said = [message for message in history if message.get("role") == "agent"]
        self._said = _parts(said[-1]) if said else self._said

    def _add(self, artifact: Mapping[str, Any], append: bool) -> None:
        name = str(artifact.get("artifactId") or "")
        made = self._artifacts[name] = list(self._artifacts.get(name, ())) if append else []
        for part in _parts(artifact):
            if append and made and "text" in part and "text" in made[-1]:
                made[-1] = {**made[-1], "text": f"{made[-1]['text']}{part['text']}"}
            else:
                made.append(part)

    @property
    def is_settled(self) -> bool:
        """Whether nothing more comes by itself."""
        return self.state in SETTLED

    @property
    def answer(self) -> RemoteAnswer:
        """It, as an answer: what was made; else what was said at the end; else what was said before."""
        made = [part for parts in self._artifacts.values() for part in parts] if self.state == "completed" else []
        parts = made or self._status or self._said
        return RemoteAnswer(
            state=self.state, text=message_text(parts), context_id=self.context_id, task_id=self.task_id
        )


def _parts(holder: Any) -> list[Mapping[str, Any]]:
    return list(cast("Mapping[str, Any]", holder).get("parts") or ()) if isinstance(holder, Mapping) else []


def message_text(parts: Sequence[Mapping[str, Any]]) -> str:
    """Parts of a message as a text: data as JSON, files by their addresses or names."""
    return "\n".join(filter(None, map(_text, parts)))


def _text(part: Mapping[str, Any]) -> str:
    if "text" in part:
        return str(part["text"])
    if "data" in part:
        return json.dumps(part["data"], ensure_ascii=False)
    file = part.get("file")
    if isinstance(file, Mapping):
        known = cast("Mapping[str, Any]", file)
        return f"[file {known.get('uri') or known.get('name') or known.get('mimeType') or 'without a name'}]"
    return ""
