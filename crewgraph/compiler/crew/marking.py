"""Marks for the outputs of tasks, given by a model in parallel; a failure does not affect the other marks."""

from collections.abc import Sequence
from functools import partial

from crewgraph.compiler.task.structure import request_structured
from crewgraph.core.effects import Body, EffectFailed, Scope, Together
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.crew.evaluation import Mark
from crewgraph.definitions.task.output import TaskOutput
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.schema import model_outline
from crewgraph.text import shorten

__all__ = ["mark_outputs"]


def mark_outputs(outputs: Sequence[tuple[TaskOutput, Model]], book: Book) -> Body[list[dict[str, object]]]:
    """Return the mark of each output, or the `error` that prevented it, with the `usage` of the judge.

    Args:
        outputs: the outputs, each with the model that judges it.
        book: the prompts.
    """
    scopes = [
        Scope(
            name=f"Evaluation: {shorten(output.name or output.description, 60)}",
            body=partial(_mark_output, output, model, book),
        )
        for output, model in outputs
    ]
    return (yield Together(scopes))


def _mark_output(output: TaskOutput, model: Model, book: Book) -> Body[dict[str, object]]:
    usage = UsageLedger()
    text = book.slice(
        "evaluation_text",
        task=output.description,
        expected_output=output.expected_output or "",
        output=output.raw,
    )
    messages: list[Message] = [
        {"role": "system", "content": book.slice("evaluation_system", schema=model_outline(Mark))},
        {"role": "user", "content": text},
    ]
    try:
        reply = yield from request_structured(messages, Mark, model, book, usage)
    except EffectFailed as failure:
        return {"error": str(failure), "usage": usage.to_plain()}
    if reply.value is None:
        problem = (
            f"no mark that can be parsed, even after retries: {reply.problem}; last reply: {shorten(reply.text, 120)!r}"
        )
        return {"error": problem, "usage": usage.to_plain()}
    return {**reply.value.model_dump(), "usage": usage.to_plain()}
