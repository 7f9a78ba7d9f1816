"""Questions to people, and the answers that are filed for them.

An answer is one write of the checkpointer's own `put_writes`, at the checkpoint of the run that the question was asked from, and
under the question's id: savers ignore a second write to the same id, so the first answer counts. Whoever asks finds it there
when its node runs again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt

from crewgraph.core.digests import digest
from crewgraph.core.operations import Program, Saving
from crewgraph.core.pregel import asked_in

__all__ = ["ANSWER", "file_answer", "filed_in", "own_id", "question_id", "questions_in"]

ANSWER = "__answer__"
"""The channel name of an answer's write."""

_OWN = {"kind", "text", "task", "agent", "id"}
"""What every question of ours tells; what user code asks may be any dict."""

_TASK = "answer#"
_LENGTH = 8

_Writes = Iterable[tuple[str, str, Any]]


def question_id(task: str, here: str, key: str) -> str:
    """The name of the question that a body asks at a path: it is the question's alone, in its run.

    Args:
        task: LangGraph's id of the node's execution.
        here: the path.
        key: the digest of the question.
    """
    return digest(task, here, key)[:_LENGTH]


def own_id(asked: Interrupt) -> str | None:
    """The id of a question that a body asks; None for what user code asks with `interrupt`."""
    value: Any = asked.value
    told: Mapping[str, object] = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
    return str(told["id"]) if set(told) >= _OWN else None


def questions_in(writes: _Writes) -> list[Interrupt]:
    """The questions that wait, among what was written since a checkpoint."""
    told = list(writes)
    return [one for one in asked_in(told) if (name := own_id(one)) is None or filed_in(told, name) is None]


def filed_in(writes: _Writes, name: str) -> Mapping[str, object] | None:
    """The answer to a question, as a dict with `value`; None where there is none."""
    return next((value for task, channel, value in writes if channel == ANSWER and task == f"{_TASK}{name}"), None)


def file_answer(saver: object, address: RunnableConfig, name: str, answer: object) -> Program[bool]:
    """Keep the answer to a question; False where somebody has answered it before.

    Args:
        saver: where the run is kept.
        address: the run's latest checkpoint.
        name: the question's id.
        answer: plain data.
    """
    ours = uuid4().hex
    yield Saving(saver, "put_writes", address, [(ANSWER, {"value": answer, "by": ours})], f"{_TASK}{name}")
    kept = yield Saving(saver, "get_tuple", address)
    found = filed_in((kept.pending_writes or ()) if kept else (), name)
    return found is not None and found["by"] == ours
