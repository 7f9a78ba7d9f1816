"""The answer of a remote agent, assembled from the results that its server sends."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from crewgraph.errors import RemoteAgentError
from crewgraph.schema import PlainMapping
from crewgraph.text import shorten

__all__ = ["SETTLED", "RemoteAnswer", "TaskProgress", "message_text", "parts_of"]

_MAX_SHOWN = 100  # characters of a result that cannot be read

SETTLED = frozenset({"auth-required", "canceled", "completed", "failed", "input-required", "rejected"})
"""Task states after which a remote agent does nothing more unprompted."""


class RemoteAnswer(TypedDict):
    """The answer to a message to a remote agent, as plain data."""

    state: str
    """The task's state as the protocol names it; "lost" if there is no answer."""

    text: str
    """The text of its message or artifacts; the error if it is lost."""

    context_id: str | None
    """Id of the conversation."""

    task_id: str | None
    """Id of the task."""

    message_id: NotRequired[str]
    """Id of the message that this answers."""


class TaskProgress:
    """The progress of one task, updated with each result."""

    def __init__(self) -> None:
        self.state = "working"
        self.context_id: str | None = None
        self.task_id: str | None = None
        self._artifacts: dict[str, list[Mapping[str, object]]] = {}
        self._last_parts: list[Mapping[str, object]] = []
        self._status: list[Mapping[str, object]] = []

    def take(self, result: Any) -> None:
        """Apply one result: a message, a task, or an update of one.

        Raises:
            RemoteAgentError: If it is none of them.
        """
        try:
            self._take(result)
        except (AttributeError, TypeError, ValueError):
            self.state = "working"
            shown = shorten(str(result), _MAX_SHOWN)
            raise RemoteAgentError(f"the remote agent sent `{shown}`, which is neither a message nor a task.") from None

    def _take(self, result: PlainMapping) -> None:
        kind = result.get("kind") or ("task" if "status" in result else "message")
        self.context_id = result.get("contextId") or self.context_id
        if kind == "message":
            self.task_id = result.get("taskId") or self.task_id
            self.state, self._last_parts = "completed", parts_of(result)
            return
        self.task_id = result.get("id" if kind == "task" else "taskId") or self.task_id
        if kind == "artifact-update":
            self._add(cast("PlainMapping", result.get("artifact") or {}), bool(result.get("append")))
            return
        status = cast("PlainMapping", result.get("status") or {})
        self.state = str(status.get("state") or self.state)
        self._status = parts_of(status.get("message"))
        for artifact in cast("Sequence[PlainMapping]", result.get("artifacts") or ()):
            self._add(artifact, append=False)
        history = cast("Sequence[PlainMapping]", result.get("history") or ())
        replies = [message for message in history if message.get("role") == "agent"]
        self._last_parts = parts_of(replies[-1]) if replies else self._last_parts

    def _add(self, artifact: Mapping[str, object], append: bool) -> None:
        name = str(artifact.get("artifactId") or "")
        parts = self._artifacts[name] = list(self._artifacts.get(name, ())) if append else []
        for part in parts_of(artifact):
            if append and parts and "text" in part and "text" in parts[-1]:
                parts[-1] = {**parts[-1], "text": f"{parts[-1]['text']}{part['text']}"}
            else:
                parts.append(part)

    @property
    def is_settled(self) -> bool:
        """Whether no more results will arrive unprompted."""
        return self.state in SETTLED

    @property
    def answer(self) -> RemoteAnswer:
        """The answer so far: the artifacts, else the last status message, else the last message."""
        artifacts = [part for parts in self._artifacts.values() for part in parts] if self.state == "completed" else []
        parts = artifacts or self._status or self._last_parts
        return RemoteAnswer(
            state=self.state, text=message_text(parts), context_id=self.context_id, task_id=self.task_id
        )


def parts_of(holder: object) -> list[Mapping[str, object]]:
    """Return the parts of a message or an artifact."""
    if not isinstance(holder, Mapping):
        return []
    parts = cast("Iterable[object]", cast("PlainMapping", holder).get("parts") or ())
    return [cast("PlainMapping", part) for part in parts if isinstance(part, Mapping)]


def message_text(parts: Sequence[PlainMapping]) -> str:
    """Return message parts as text: data as JSON, files by URI or name."""
    return "\n".join(filter(None, map(_text, parts)))


def _text(part: Mapping[str, object]) -> str:
    if "text" in part:
        return str(part["text"])
    if "data" in part:
        return json.dumps(part["data"], ensure_ascii=False)
    file = part.get("file")
    if isinstance(file, Mapping):
        fields = cast("PlainMapping", file)
        return f"[file {fields.get('uri') or fields.get('name') or fields.get('mimeType') or 'without a name'}]"
    return ""
