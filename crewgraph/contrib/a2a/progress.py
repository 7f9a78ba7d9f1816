"""The progress of a remote agent's task, assembled from the updates that its server sends."""

import json
from collections.abc import Iterable

from a2a.types import Part, Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState
from google.protobuf.json_format import MessageToJson

from crewgraph.contrib.a2a.answer import SETTLED, RemoteAnswer


class TaskProgress:
    """One task, updated with each result.

    Args:
        task: Its state so far, if it is known.
    """

    def __init__(self, task: Task | None = None) -> None:
        self._task = task or Task()

    def take(self, update: StreamResponse) -> None:
        """Apply one result: a message, a task, or an update of one."""
        task = self._task
        match update.WhichOneof("payload"):
            case "task":
                task.CopyFrom(update.task)
            case "message":
                task.id, task.context_id = update.message.task_id or task.id, update.message.context_id
                task.status.state = TaskState.TASK_STATE_COMPLETED
                task.status.message.CopyFrom(update.message)
            case "status_update":
                task.id, task.context_id = update.status_update.task_id, update.status_update.context_id
                task.status.CopyFrom(update.status_update.status)
            case "artifact_update":
                task.id, task.context_id = update.artifact_update.task_id, update.artifact_update.context_id
                self._add(update.artifact_update)
            case _:
                pass

    def _add(self, update: TaskArtifactUpdateEvent) -> None:
        known = next((one for one in self._task.artifacts if one.artifact_id == update.artifact.artifact_id), None)
        if known is None:
            self._task.artifacts.append(update.artifact)
        elif not update.append:
            known.CopyFrom(update.artifact)
        else:
            for part in update.artifact.parts:
                if part.HasField("text") and known.parts and known.parts[-1].HasField("text"):
                    known.parts[-1].text += part.text
                else:
                    known.parts.append(part)

    @property
    def task_id(self) -> str | None:
        """The task's id; None if the remote agent has not named one."""
        return self._task.id or None

    @property
    def context_id(self) -> str | None:
        """The conversation's id; None if the remote agent has not named one."""
        return self._task.context_id or None

    @property
    def state(self) -> str:
        """The task's state, such as "working" or "input-required"."""
        state = self._task.status.state or TaskState.TASK_STATE_WORKING
        return TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", "-")

    @property
    def is_settled(self) -> bool:
        """Whether no more results will arrive unprompted."""
        return self.state in SETTLED

    @property
    def answer(self) -> RemoteAnswer:
        """The answer so far: the artifacts, else the status message, else the last message."""
        artifacts = self._task.artifacts if self.state == "completed" else ()
        parts = [part for artifact in artifacts for part in artifact.parts] or [*self._task.status.message.parts]
        if not parts:
            parts = next(
                (message.parts for message in reversed(self._task.history) if message.role == Role.ROLE_AGENT), ()
            )
        return RemoteAnswer(state=self.state, text=parts_text(parts), context_id=self.context_id, task_id=self.task_id)


def parts_text(parts: Iterable[Part]) -> str:
    """Return the parts of a message or an artifact as text: data as JSON, files by URL or name."""
    return "\n".join(filter(None, map(_text, parts)))


def _text(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text
        case "data":
            data = json.loads(MessageToJson(part.data), parse_float=_number)
            return json.dumps(data, ensure_ascii=False)
        case None:
            return ""
        case _:
            return f"[file {part.url or part.filename or part.media_type or 'without a name'}]"


def _number(text: str) -> int | float:
    number = float(text)  # the protocol's data has no integers of its own
    return int(number) if number.is_integer() else number
