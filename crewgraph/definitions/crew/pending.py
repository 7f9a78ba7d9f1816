"""Runs that wait for an answer, with their questions, and what the index of runs reports of a stored run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from crewgraph.definitions.html import html_section
from crewgraph.definitions.task.output import CrewOutput
from crewgraph.errors import RunError
from crewgraph.schema import is_list, is_mapping
from crewgraph.text import shorten

if TYPE_CHECKING:
    from crewgraph.definitions.flow.feedback import Question


QuestionKind = Literal["feedback", "approval", "question"]
"""The kind of question, which determines the possible answers.

`feedback`: what to change in an answer (`human_input`); an empty string or True accepts it.
`approval`: whether a tool may be called (`require_approval`): "yes" or True; "no" with a reason; or `{"args": {...}}`.
`question`: a call of LangGraph's `interrupt` in a tool, which returns the answer unchanged, or a question of LangChain's
human-in-the-loop middleware, which may be answered as an `approval` is.
"""

_MAX_CHARS = 200


@dataclass(frozen=True, kw_only=True)
class CrewQuestion:
    """A question that a crew's run waits for."""

    id: str
    """The id of the question within the run."""

    kind: QuestionKind
    """What is asked for: "feedback" on an output, "approval" of a tool call, or the answer to a "question" of a tool."""

    text: str
    """The text of the question."""

    task: str | None = None
    """The node name of the task whose agent asks; None if unknown."""

    agent: str | None = None
    """The role of the agent that asks."""

    tool: str | None = None
    """The tool to approve."""

    args: Mapping[str, Any] | None = None
    """The arguments of the tool call."""

    answer: str | None = None
    """The agent's answer to review."""

    refused: str | None = None
    """Why the previous answer was rejected."""

    value: Any = None
    """The value passed to `interrupt`, for a `question`."""

    def summary(self) -> str:
        """Return the question in one line."""
        who = f"agent `{self.agent}`" + (f" in task `{self.task}`" if self.task else "")
        again = " (again, because the last answer could not be used)" if self.refused else ""
        if self.kind == "approval":
            arguments = ", ".join(f"{name}={value!r}" for name, value in (self.args or {}).items())
            return f"{who} asks whether it may call `{self.tool}({shorten(arguments, _MAX_CHARS)})`{again}"
        if self.kind == "feedback":
            answer = " ".join((self.answer or "").split())
            return f"{who} asks whether its answer will do{again}: {shorten(answer, _MAX_CHARS)!r}"
        return shorten(" ".join(self.text.split()), _MAX_CHARS)

    @classmethod
    def from_plain(cls, id: str, value: Any) -> "CrewQuestion":
        """Create the question from the value passed to LangGraph's `interrupt`."""
        if is_mapping(value):
            if value.get("kind") in ("feedback", "approval") and isinstance(value.get("text"), str):
                names = ("kind", "text", "task", "agent", "tool", "args", "answer", "refused")
                return cls(id=id, **{name: value[name] for name in names if name in value})
            if text := _text_of_actions(value.get("action_requests")):
                return cls(id=id, kind="question", text=text, value=value)
        text = value if isinstance(value, str) else repr(value)
        return cls(id=id, kind="question", text=text, value=value)


def _text_of_actions(requests: Any) -> str:
    """Return what LangChain's human-in-the-loop middleware asks, as a text; empty if it is something else."""
    listed = requests if is_list(requests) else ()
    return "\n\n".join(str(request.get("description") or request) for request in listed if is_mapping(request))


class PendingCrew(CrewOutput):
    """Returned by `kickoff` if the run waits for answers; `crew.resume(thread_id, answer)` continues it.

    `str` says what is asked and how to answer; `tasks_output` holds the outputs so far. There is no `raw` yet: reading it raises
    a `RunError`, so that no program takes the question for a result.
    """

    crew: str | None = None
    """The crew's name."""

    questions: tuple[CrewQuestion, ...] = ()
    """The questions to answer."""

    def __getattribute__(self, name: str) -> Any:
        if name == "raw":
            raise RunError(f"there is no `raw` yet: {self}")
        return super().__getattribute__(name)

    def __str__(self) -> str:
        questions = "; ".join(question.summary() for question in self.questions)
        return f"crew `{self.crew}` waits for an answer: {questions}. {self._how_to_answer()}"

    @property
    def json(self) -> str | None:
        """Not available while the run waits.

        Raises:
            ValueError: Always; it says what is asked.
        """
        raise ValueError(f"there is no JSON yet: {self}")

    def _missing_field(self, key: object) -> str:
        return f"there is no `{key}` yet: {self}"

    def _how_to_answer(self) -> str:
        example = "..." if len(self.questions) == 1 else f"{{{self.questions[0].id!r}: ..., ...}}"
        return f"Answer with `resume({self.thread_id!r}, {example})`."

    def _repr_html_(self) -> str:
        lines = [*(question.summary() for question in self.questions), self._how_to_answer()]
        table = self._tasks_table() if self.tasks_output else ""
        return html_section(f"Crew {self.crew} waits for an answer", "\n".join(lines), table)


def format_questions(questions: Sequence[CrewQuestion]) -> str:
    """Return questions with their ids in one line, for messages."""
    return "; ".join(f"`{question.id}`: {question.summary()}" for question in questions)


RunStatus = Literal["working", "waiting", "failed", "abandoned", "done"]
"""- `working`: some process runs it now, as far as can be seen from here.
- `waiting`: it waits for a person's answer.
- `failed`: an error ended it; `resume` tries again what failed.
- `abandoned`: it stopped without an error before its end: its process was stopped or killed, or its caller abandoned it. `resume`
  continues it.
- `done`: it has its output.
"""


StatusFilter = RunStatus | Literal["open"]
"""What the `runs` methods filter by; "open" is for those that `resume` continues, failed or abandoned."""


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """A stored run, which `resume` continues."""

    thread_id: str
    """The name that the run is stored under; pass it to `resume`."""

    kind: Literal["crew", "flow"]
    """What ran."""

    name: str
    """The name of the crew or flow."""

    status: RunStatus
    """Whether it is "working", "waiting" (for an answer), "failed", "abandoned" (its process ended first) or "done"."""

    last: str | None
    """The method or task that completed last; None if none has."""

    created_at: datetime | None
    """When the run started (the first one, if several were stored under the same name); None if unknown."""

    updated_at: datetime
    """When the run was last written, in UTC: the time of its latest checkpoint, or of later writes to the minute."""

    questions: "tuple[Question, ...] | tuple[CrewQuestion, ...]" = ()
    """The pending questions."""

    inside: str | None = None
    """The thread id of the flow whose method started the run; None if there is none."""

    @property
    def flow_id(self) -> str:
        """The same as `thread_id`, as flows call it."""
        return self.thread_id


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """The filter keywords of the `runs` methods."""

    status: StatusFilter | None = None
    """Only runs with this status; "open" for those that `resume` continues, failed or abandoned."""

    inside: bool = False
    """Whether to include runs inside methods of flows."""

    limit: int | None = None
    """Maximum number of runs."""
