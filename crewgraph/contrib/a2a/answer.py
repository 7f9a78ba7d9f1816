"""The answer of a remote agent as plain data, which runs record."""

from typing import TypedDict

from crewgraph.schema import PlainDict

ASKS_BACK = frozenset({"auth-required", "input-required"})
"""Task states in which a remote agent waits for a message."""

SETTLED = ASKS_BACK | {"canceled", "completed", "failed", "rejected"}
"""Task states after which a remote agent does nothing more unprompted."""


class RemoteAnswer(TypedDict):
    """The answer to a message to a remote agent."""

    state: str
    """The task's state as the protocol names it; "lost" if there is no answer."""

    text: str
    """The text of its message or artifacts; the error if it is lost."""

    context_id: str | None
    """Id of the conversation."""

    task_id: str | None
    """Id of the task."""


def is_final(answer: RemoteAnswer) -> bool:
    """Return whether an answer is final, so that there is nothing to wait for."""
    return answer["state"] in SETTLED or answer["state"] == "lost" or answer["task_id"] is None


def reply_message(answer: RemoteAnswer) -> PlainDict:
    """Return an answer as a message in the protocol's JSON form."""
    parts = [{"kind": "text", "text": answer["text"]}]
    ids = {"taskId": answer["task_id"], "contextId": answer["context_id"]}
    return {"kind": "message", "role": "agent", "parts": parts} | {key: value for key, value in ids.items() if value}
