"""Questions to people, and the answers filed for them.

An answer is one `put_writes` of the checkpointer at the checkpoint that the question was asked from, under the question's id.
Savers ignore a second write with the same id, so the first answer counts. The node finds it when it runs again.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from crewgraph.core.digests import digest
from crewgraph.core.operations import Program, Saving
from crewgraph.core.pregel import interrupts_in
from crewgraph.schema import is_mapping

ANSWER = "__answer__"
"""The channel name of an answer's write."""

_OWN = {"kind", "text", "task", "agent", "id"}
"""The keys of the questions that bodies ask; user code may interrupt with any dict."""

_TASK = "answer#"
_LENGTH = 8

_Writes = Iterable[tuple[str, str, Any]]


class EffectAsked(GraphInterrupt):
    """Questions of one node, each with an id of its own."""


def interrupt_id(task: str, here: str, key: str, answered: int = 0) -> str:
    """Return the id of an interrupt that is one of several of a node, `answered` others of its effect; see `question_id`."""
    # 32 digits: LangGraph takes a dict with other keys for a single answer.
    return question_id(task, here, key) + digest(task, here, key, answered)


def question_id(task: str, here: str, key: str) -> str:
    """Return the id of the question that a body asks at a path, unique within its run.

    Args:
        task: LangGraph's id of the node's execution.
        here: the path.
        key: the digest of the question.
    """
    return digest(task, here, key)[:_LENGTH]


def own_id(asked: Interrupt) -> str | None:
    """Return the id of a question that a body asked; None for an `interrupt` of user code."""
    question = asked.value
    return str(question["id"]) if is_mapping(question) and set(question) >= _OWN else None


def questions_in(writes: _Writes) -> list[Interrupt]:
    """Return the unanswered questions among the writes since a checkpoint."""
    pending = list(writes)
    return [
        question
        for question in interrupts_in(pending)
        if (name := own_id(question)) is None or filed_in(pending, name) is None
    ]


def filed_in(writes: _Writes, name: str) -> Mapping[str, object] | None:
    """Return the filed answer to a question, as a dict with `value`; None without one."""
    return next((value for task, channel, value in writes if channel == ANSWER and task == f"{_TASK}{name}"), None)


def file_answer(saver: object, address: RunnableConfig, name: str, answer: object) -> Program[bool]:
    """File the answer to a question; False if it was answered before.

    Args:
        saver: the checkpointer of the run.
        address: the run's latest checkpoint.
        name: the question's id.
        answer: plain data.
    """
    author = uuid4().hex
    yield Saving(saver, "put_writes", address, [(ANSWER, {"value": answer, "by": author})], f"{_TASK}{name}")
    saved = yield Saving(saver, "get_tuple", address)
    stored = filed_in((saved.pending_writes or ()) if saved else (), name)
    return stored is not None and stored["by"] == author
