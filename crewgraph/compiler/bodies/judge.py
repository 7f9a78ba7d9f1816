"""A model judges an output: asked for a verdict as JSON, once more where it cannot be read."""

from typing import TypeVar

from pydantic import BaseModel

from crewgraph.compiler.bodies.formed import formed
from crewgraph.compiler.bodies.guard import Judged
from crewgraph.core.effects import Body
from crewgraph.core.messages import Message
from crewgraph.core.protocols import Model
from crewgraph.definitions.model_guardrail import (
    Faithfulness,
    HallucinationGuardrail,
    LLMGuardrailResult,
    ModelGuardrail,
)
from crewgraph.errors import OutputInvalid
from crewgraph.llm.usage import UsageLedger
from crewgraph.prompts.book import Book
from crewgraph.schema import described
from crewgraph.text import shorten

__all__ = ["judged"]

_M = TypeVar("_M", bound=BaseModel)
_ATTEMPTS = 2


def judged(
    guardrail: ModelGuardrail, output: str, task: str, context: str, model: Model, book: Book, usage: UsageLedger
) -> Body[Judged]:
    """The verdict of a model about an output.

    Args:
        guardrail: what it is asked.
        output: the text that is judged.
        task: what was to be done.
        context: what was known to whoever wrote it, where the guardrail does not say.
        model: who judges.
        book: the wording.
        usage: where requests are counted.

    Raises:
        OutputInvalid: the model gave no verdict that can be read.
    """
    if isinstance(guardrail, HallucinationGuardrail):
        reason = yield from _unfaithful(guardrail, output, context, model, book, usage)
    else:
        reason = yield from _against(guardrail, output, task, model, book, usage)
    return {
        "accepted": reason is None,
        "error": reason,
        "output": None,
        "text": output if reason is None else None,
    }


def _against(
    guardrail: ModelGuardrail, output: str, task: str, model: Model, book: Book, usage: UsageLedger
) -> Body[str | None]:
    """Why an output does not keep to a rule; None where it does."""
    schema = described(LLMGuardrailResult)
    messages: list[Message] = [
        {"role": "system", "content": book.slice("guardrail_system", rule=guardrail.description, schema=schema)},
        {"role": "user", "content": book.slice("guardrail_text", task=task, output=output)},
    ]
    said = yield from _asked(messages, LLMGuardrailResult, guardrail, model, book, usage)
    return None if said.valid else said.feedback or "refused without a reason"


def _unfaithful(
    guardrail: HallucinationGuardrail, output: str, context: str, model: Model, book: Book, usage: UsageLedger
) -> Body[str | None]:
    """What an output says without grounds; None where the context backs it."""
    known = [guardrail.context if guardrail.context is not None else context, guardrail.tool_response]
    grounds = "\n\n".join(one for one in known if one)
    messages: list[Message] = [
        {"role": "system", "content": book.slice("faithfulness_system", schema=described(Faithfulness))},
        {"role": "user", "content": book.slice("faithfulness_text", context=grounds, output=output)},
    ]
    said = yield from _asked(messages, Faithfulness, guardrail, model, book, usage)
    threshold = guardrail.threshold
    if said.verdict == "FAITHFUL" if threshold is None else said.score >= threshold:
        return None
    wanted = "" if threshold is None else f", at least {threshold:g} are asked for"
    return f"{said.verdict}, {said.score:g} of 10{wanted}: {said.reasons or 'no reasons were given'}"


def _asked(
    messages: list[Message],
    schema: type[_M],
    guardrail: ModelGuardrail,
    model: Model,
    book: Book,
    usage: UsageLedger,
) -> Body[_M]:
    asked = yield from formed(messages, schema, model, book, usage, attempts=_ATTEMPTS, stage="guardrail")
    if asked.found is not None:
        return asked.found
    raise OutputInvalid(
        f"the guardrail `{shorten(guardrail.description, 60)}` got no verdict from the model `{model.name}`, also when it was "
        f"asked again: {asked.problem}. Its last reply: {shorten(asked.text, 200)!r}. Give the judging to a model that writes "
        f"JSON: `{type(guardrail).__name__}(..., llm=...)`."
    )
