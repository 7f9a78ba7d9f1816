"""What a training adds to the work on a task: a person is asked, and the agent improves its answer.

A round of a training, known to the code of its run.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.structured_answer import request_structured
from crewgraph.core.effects import Body, Call
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import BaseAgent
from crewgraph.definitions.crew.crew import Crew
from crewgraph.definitions.crew.training import Feedback, TrainedAgent
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.errors import OutputInvalid
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.schema import described
from crewgraph.text import shorten

__all__ = ["TRAINING", "TrainingRound", "apply_feedback", "round_of", "summarize_feedback", "training_notes"]


@dataclass(frozen=True, kw_only=True)
class TrainingRound:
    """A run of a crew in which a person says what is to be better."""

    crew: Crew
    iteration: int
    """Which round it is, from 1."""

    ask: Callable[[TaskOutput], Any]
    """Asks for feedback on an answer; gives a text, empty where the answer is good. May be async."""

    said: Mapping[str, Sequence[str]]
    """What was said in earlier rounds, by the roles of agents as they are written."""

    keep: Callable[[Feedback], None]
    """Keeps what was said in this one."""


TRAINING: ContextVar[TrainingRound | None] = ContextVar("crewgraph_training", default=None)
"""The round around the running code."""


def round_of(assignment: TaskBinding) -> TrainingRound | None:
    """The round that a task is a part of; None where nobody is trained, or another crew is."""
    found = TRAINING.get()
    return found if found is not None and found.crew is assignment.crew else None


def apply_feedback(
    assignment: TaskBinding, briefing: Briefing, answer: str, improved: Callable[[str, str], Body[str]]
) -> Body[str]:
    """The answer to a task, in a training as it is after a person has said what is to be better.

    Args:
        assignment: the task.
        briefing: the texts of the run.
        answer: the agent's answer.
        improved: what the agent makes of it, from the answer and what was said.
    """
    training = round_of(assignment)
    if training is None:
        return answer
    said = yield from _asked(training, assignment, briefing, answer)
    better = (yield from improved(answer, said)) if said else answer
    feedback = Feedback(
        iteration=training.iteration,
        task=assignment.slug,
        agent=assignment.agent.template("role") or "",
        initial_output=answer,
        human_feedback=said,
        improved_output=better,
    )
    yield Call(function=partial(training.keep, feedback), name="training", kind="record", about=feedback.model_dump())
    return better


def _asked(training: TrainingRound, assignment: TaskBinding, briefing: Briefing, answer: str) -> Body[str]:
    """What a person says of an answer; it is kept as soon as it is said."""
    output = TaskOutput(
        name=assignment.task.name or briefing.description,
        description=briefing.description,
        expected_output=briefing.expected_output,
        raw=answer,
        agent=briefing.role,
        output_format=assignment.task.output_format,
    )
    return (
        yield Call(
            function=training.ask,
            args=(output,),
            name="feedback",
            kind="question",
            about=[training.iteration, answer],
            encode=partial(_text, where=assignment.where),
        )
    )


def training_notes(assignment: TaskBinding, briefing: Briefing, book: Book) -> tuple[str, ...]:
    """What the agent is told of what it was taught; in a training, of what was said in earlier rounds."""
    role, training = assignment.agent.template("role") or "", round_of(assignment)
    lessons = assignment.lessons.of(role, briefing.role) if training is None else training.said.get(role, ())
    return (book.slice("lessons", lessons="\n".join(f"- {one}" for one in lessons)),) if lessons else ()


def summarize_feedback(agent: BaseAgent, said: Sequence[Feedback], model: Model, book: Book) -> Body[TrainedAgent]:
    """What a model draws for an agent from what people said of its answers.

    Raises:
        OutputInvalid: the model wrote nothing that can be read.
    """
    rounds = [
        book.slice(
            "training_of_answer",
            number=str(one.iteration),
            task=one.task,
            answer=one.initial_output,
            human_feedback=one.human_feedback,
            improved=one.improved_output,
        )
        for one in said
    ]
    text = book.slice(
        "training_text", role=agent.written("role"), goal=agent.written("goal"), rounds="\n\n".join(rounds)
    )
    messages: list[Message] = [
        {"role": "system", "content": book.slice("training_system", schema=described(TrainedAgent))},
        {"role": "user", "content": text},
    ]
    asked = yield from request_structured(messages, TrainedAgent, model, book, UsageLedger())
    if asked.found is not None:
        return asked.found
    raise OutputInvalid(
        f"the model `{model.name}` drew no lessons for agent `{agent.role}` that can be read, also when it was asked again: "
        f"{asked.problem}. Its last reply: {shorten(asked.text, 200)!r}. What people said is kept: give the agent a model that "
        "writes JSON and train on with the same file, which asks nobody again."
    )


def _text(said: Any, *, where: str) -> str:
    if said is None:
        return ""
    if not isinstance(said, str):
        raise TypeError(f"{where}: `feedback` returned {said!r:.80}; let it return a text, empty to accept the answer")
    return said.strip()
