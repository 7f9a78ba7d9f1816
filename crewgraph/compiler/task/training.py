"""Training: a person gives feedback on each answer, the agent improves it, and a model draws lessons from the feedback."""

from collections.abc import Callable, Sequence
from functools import partial

from crewgraph.compiler.surroundings import AROUND, TrainingRound
from crewgraph.compiler.task.binding import TaskBinding
from crewgraph.compiler.task.briefing import Briefing
from crewgraph.compiler.task.structure import request_structured
from crewgraph.core.effects import Body, Call
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.agent.agent import BaseAgentDefinition
from crewgraph.definitions.crew.training import Feedback, TrainedAgent
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.errors import OutputInvalid
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.i18n import Book
from crewgraph.schema import model_outline
from crewgraph.text import shorten


def round_of(assignment: TaskBinding) -> TrainingRound | None:
    """Return the round a task is part of; None where no agent is trained, or another crew's."""
    training = AROUND.get().training
    return training if training is not None and training.crew is assignment.crew else None


def apply_feedback(
    assignment: TaskBinding, briefing: Briefing, answer: str, improve: Callable[[str, str], Body[str]]
) -> Body[str]:
    """Return the answer to a task; in a training, as the agent improved it after feedback.

    Args:
        assignment: the task.
        briefing: the texts of the run.
        answer: the agent's answer.
        improve: lets the agent improve an answer, given that and the feedback.
    """
    training = round_of(assignment)
    if training is None:
        return answer
    human_feedback = yield from _request_feedback(training, assignment, briefing, answer)
    improved_answer = (yield from improve(answer, human_feedback)) if human_feedback else answer
    feedback = Feedback(
        iteration=training.iteration,
        task=assignment.slug,
        agent=assignment.agent.template("role") or "",
        initial_output=answer,
        human_feedback=human_feedback,
        improved_output=improved_answer,
    )
    yield Call(function=partial(training.save, feedback), name="training", kind="record", about=feedback.model_dump())
    return improved_answer


def _request_feedback(training: TrainingRound, assignment: TaskBinding, briefing: Briefing, answer: str) -> Body[str]:
    """Ask a person for feedback, which is recorded at once."""
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
            encode=partial(_encode_feedback, where=assignment.where),
        )
    )


def training_notes(assignment: TaskBinding, briefing: Briefing, book: Book) -> tuple[str, ...]:
    """Return the lessons for the agent's prompt; in a training, the feedback of earlier rounds."""
    role, training = assignment.agent.template("role") or "", round_of(assignment)
    lessons = (
        assignment.lessons.of(role, briefing.role) if training is None else training.earlier_feedback.get(role, ())
    )
    return (book.slice("lessons", lessons="\n".join(f"- {lesson}" for lesson in lessons)),) if lessons else ()


def summarize_feedback(
    agent: BaseAgentDefinition, feedback: Sequence[Feedback], model: Model, book: Book
) -> Body[TrainedAgent]:
    """Let a model draw lessons for an agent from the feedback on its answers.

    Raises:
        OutputInvalid: the model wrote nothing that can be parsed.
    """
    rounds = [
        book.slice(
            "training_of_answer",
            number=str(item.iteration),
            task=item.task,
            answer=item.initial_output,
            human_feedback=item.human_feedback,
            improved=item.improved_output,
        )
        for item in feedback
    ]
    text = book.slice(
        "training_text", role=agent.written("role"), goal=agent.written("goal"), rounds="\n\n".join(rounds)
    )
    messages: list[Message] = [
        {"role": "system", "content": book.slice("training_system", schema=model_outline(TrainedAgent))},
        {"role": "user", "content": text},
    ]
    reply = yield from request_structured(messages, TrainedAgent, model, book, UsageLedger())
    if reply.value is not None:
        return reply.value
    raise OutputInvalid(
        f"the model `{model.name}` drew no lessons for {agent.called} that can be parsed, even after retries: "
        f"{reply.problem}. Its last reply: {shorten(reply.text, 200)!r}. The feedback is saved: give the agent a model that "
        "writes JSON and continue the training with the same file, which repeats no question."
    )


def _encode_feedback(feedback: object, *, where: str) -> str:
    if feedback is None:
        return ""
    if not isinstance(feedback, str):
        raise TypeError(
            f"{where}: `feedback` returned {feedback!r:.80}; it must return a text, empty to accept the answer"
        )
    return feedback.strip()
