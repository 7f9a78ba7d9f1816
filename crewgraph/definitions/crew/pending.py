"""What a crew's run waits to be told.

A run that is kept, as the index of runs tells of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from crewgraph.definitions.task.output import CrewOutput
from crewgraph.text import shorten

if TYPE_CHECKING:
    from crewgraph.definitions.flow.feedback import Question

__all__ = ["CrewQuestion", "PendingCrew", "QuestionKind", "RunFilter", "RunInfo", "RunStatus", "format_questions"]


QuestionKind = Literal["feedback", "approval", "question"]
"""What may be answered depends on it.

`feedback`: what is to be changed in an answer (`human_input`); an empty text or True accepts it.
`approval`: whether a tool may be called (`require_approval`): yes or True, no and why not, or `{"args": {...}}`.
`question`: what a tool asks with LangGraph's `interrupt`, which is given the answer as it is.
"""

_MAX_CHARS = 200


@dataclass(frozen=True, kw_only=True)
class CrewQuestion:
    """Something that a crew's run waits to be told."""

    id: str
    """Its name within the run."""

    kind: QuestionKind
    text: str
    """What is asked."""

    task: str | None = None
    """The task whose agent asks, by the name of its node; None where that is not known."""

    agent: str | None = None
    """The role of that agent."""

    tool: str | None = None
    """The tool that is to be allowed."""

    args: Mapping[str, Any] | None = None
    """What exactly it is to be called with."""

    answer: str | None = None
    """The agent's answer so far."""

    refused: str | None = None
    """Why the last answer could not be taken."""

    value: Any = None
    """Of a `question`: what `interrupt` was given."""

    def told(self) -> str:
        """The question in a line."""
        who = f"agent `{self.agent}`" + (f" in task `{self.task}`" if self.task else "")
        again = " (again, for the last answer could not be taken)" if self.refused else ""
        if self.kind == "approval":
            shown = ", ".join(f"{name}={value!r}" for name, value in (self.args or {}).items())
            return f"{who} asks whether it may call `{self.tool}({shorten(shown, _MAX_CHARS)})`{again}"
        if self.kind == "feedback":
            answer = " ".join((self.answer or "").split())
            return f"{who} asks whether its answer will do{again}: {shorten(answer, _MAX_CHARS)!r}"
        return shorten(" ".join(self.text.split()), _MAX_CHARS)

    @classmethod
    def from_plain(cls, id: str, value: Any) -> "CrewQuestion":
        """The question that was put to LangGraph's `interrupt`."""
        if isinstance(value, Mapping):
            told = cast("Mapping[str, Any]", value)
            if told.get("kind") in ("feedback", "approval") and isinstance(told.get("text"), str):
                names = ("kind", "text", "task", "agent", "tool", "args", "answer", "refused")
                return cls(id=id, **{name: told[name] for name in names if name in told})
        text = value if isinstance(value, str) else repr(cast("object", value))
        return cls(id=id, kind="question", text=text, value=value)


class PendingCrew(CrewOutput):
    """What a kickoff returns whose run waits for answers: it is kept, and goes on with `crew.resume(thread_id, answer)`.

    `raw` is empty; `tasks_output` holds what is done so far.
    """

    crew: str | None = None
    """The crew's name."""

    questions: tuple[CrewQuestion, ...] = ()
    """What it waits for."""

    def __str__(self) -> str:
        asked = "; ".join(one.told() for one in self.questions)
        example = "..." if len(self.questions) == 1 else f"{{{self.questions[0].id!r}: ..., ...}}"
        return f"crew `{self.crew}` waits for an answer: {asked}. Answer with `resume({self.thread_id!r}, {example})`."


def format_questions(questions: Sequence[CrewQuestion]) -> str:
    """Questions with their ids, for messages."""
    return "; ".join(f"`{one.id}`: {one.told()}" for one in questions)


RunStatus = Literal["finished", "pending", "open"]
"""`finished`: it is done. `pending`: it waits for somebody's answer. `open`: it goes on in some process, or it failed or was
killed and can be resumed."""


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """A run that is kept; `resume` goes on with it."""

    thread_id: str
    """What it is kept under; `resume` takes it."""

    kind: Literal["crew", "flow"]
    name: str
    """What the crew or the flow is called."""

    status: RunStatus
    last: str | None
    """The method or the task that completed last; None where none has."""

    created_at: datetime | None
    """When it began, and the first run where several were kept under the same name; None where that is not known."""

    updated_at: datetime
    """When it was written last, in UTC: when the latest checkpoint was made, or to the minute what was written after it."""

    questions: "tuple[Question, ...] | tuple[CrewQuestion, ...]" = ()
    """What it waits for."""

    inside: str | None = None
    """The thread of the flow in whose method it ran; None for a run of its own."""

    @property
    def flow_id(self) -> str:
        """What flows call `thread_id`."""
        return self.thread_id


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which of the stored runs are asked for; the keywords that the verbs `runs` share."""

    status: RunStatus | None = None
    """Only those with it."""

    inside: bool = False
    """Whether those inside the methods of flows are included."""

    limit: int | None = None
    """At most so many."""
